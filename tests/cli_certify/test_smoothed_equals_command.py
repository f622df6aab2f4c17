"""`SmoothedClassifier` and the command line are two doors to one certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cli_certify.small_run import Certify
from cli_certify.tiny_classifier import bright
from dsrs import GeneralizedGaussian, SmoothedClassifier
from dsrs.classifiers import from_callable
from dsrs.datasets import load_dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.store import open_run


def smoothing(method: str) -> SmoothedClassifier:
    return SmoothedClassifier(
        from_callable(bright, (1, 4, 4)),
        GeneralizedGaussian(16, 0.5, 4),
        method=method,
        n=400,
        seed=7,
        batch=64,
        workers=1,
    )


@pytest.fixture
def smoothed() -> SmoothedClassifier:
    return smoothing("truncated:heuristic")


@pytest.mark.parametrize("method", ["truncated:heuristic", "rescaled:0.8x", "tailored"])
def test_the_same_input_and_seed_give_the_same_certificate(certify: Certify, method: str) -> None:
    smoothed = smoothing(method)
    assert certify("--seed", "7", "--quiet", "--indices", "2,7", "--q", method) == 0
    data = load_dataset("data.npz")
    with open_run("run") as run:
        results = list(run.results())
    for result in results:
        x, label = data.input(result.index), data.label(result.index)
        expected = result.certificates[method.partition(":")[0]]
        made = smoothed.certify(x, label, index=result.index)
        assert made.subject is not None
        assert expected.subject is not None
        # The command knows the file of the model, and fingerprints that.
        subject = replace(made.subject, model=expected.subject.model)
        assert replace(made, subject=subject) == expected
    assert any(result.certificates[method.partition(":")[0]].radius > 0 for result in results)
    x = data.input(7)
    assert smoothed.sample(x, 1, index=7).votes != smoothed.sample(x, 1, index=2).votes
    assert smoothed.sample(x, 1).votes == smoothed.sample(x, 1).votes


@pytest.mark.parametrize("outside", [-0.01, 1.01, 255.0])
def test_inputs_outside_the_bounds_are_refused(
    smoothed: SmoothedClassifier, outside: float
) -> None:
    x = np.full((1, 4, 4), 0.5, np.float32)
    x[0, 1, 2] = outside
    for ask in (smoothed.certify, smoothed.predict):
        with pytest.raises(DataError, match=r"must lie in the classifier's bounds \[0, 1\]"):
            ask(x)


@pytest.mark.parametrize("label", [1.0, 0.5, True, "1", 2, -1, np.float32(1)])
def test_labels_are_whole_numbers_of_classes(smoothed: SmoothedClassifier, label: object) -> None:
    x = np.full((1, 4, 4), 0.5, np.float32)
    with pytest.raises(DataError, match="must be a class from 0 to 1, a whole number, got"):
        smoothed.certify(x, label)


def test_numpy_labels_are_taken(smoothed: SmoothedClassifier) -> None:
    x = np.full((1, 4, 4), 0.9, np.float32)
    assert smoothed.certify(x, np.int64(1)) == smoothed.certify(x, 1)


@pytest.mark.parametrize("index", [-1, 1.0, True, 2**56])
def test_an_index_is_a_place_in_a_dataset(smoothed: SmoothedClassifier, index: object) -> None:
    with pytest.raises(InvalidInput, match="`index` must be a whole number"):
        smoothed.certify(np.full((1, 4, 4), 0.9, np.float32), index=index)  # type: ignore[call-overload]

"""A model that is no function of its row is refused before its votes count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs import GeneralizedGaussian, SmoothedClassifier
from dsrs.certifying import certify_run
from dsrs.classifiers import Classifier, from_callable, refuse_unless_function
from dsrs.datasets import Dataset
from dsrs.errors import NotAFunction
from dsrs.methods import Plan

D = 8
X = np.full(D, 0.5, np.float32)
LAW = GeneralizedGaussian(D, 0.5)
Batch = NDArray[np.float32]


def mean(batch: Batch) -> NDArray[np.int64]:
    return np.asarray(batch.mean(axis=1) > 0.5, dtype=np.int64)


def dropout() -> Callable[[Batch], NDArray[np.int64]]:
    draws = np.random.default_rng(1)
    return lambda batch: mean(2 * batch * (draws.random(batch.shape) < 0.5))


def batch_statistics(batch: Batch) -> NDArray[np.int64]:
    """Order does not matter to it, only which rows there are."""
    return np.asarray(batch.mean(axis=1) > batch.mean(), dtype=np.int64)


def by_place(batch: Batch) -> NDArray[np.int64]:
    return (np.arange(len(batch)) % 2).astype(np.int64)


def wrapped(function: Callable[[Batch], NDArray[np.int64]]) -> Classifier:
    return from_callable(function, (D,), 2, fingerprint="tried")


@pytest.mark.parametrize("batch", [1, 2, 16, 256])
@pytest.mark.parametrize("no_function", [dropout(), batch_statistics, by_place])
def test_what_is_no_function_is_refused_with_what_to_do(
    no_function: Callable[[Batch], NDArray[np.int64]], batch: int
) -> None:
    if batch == 1 and no_function in (batch_statistics, by_place):
        pytest.skip("one row has one place, and no others beside it")
    with pytest.raises(NotAFunction, match=r"rows got another one .*`model\.eval\(\)`"):
        refuse_unless_function(wrapped(no_function), X, 0.5, batch)


@pytest.mark.parametrize("batch", [1, 2, 16, 256])
def test_a_function_is_accepted(batch: int) -> None:
    refuse_unless_function(wrapped(mean), X, 0.5, batch)


def test_every_door_is_closed_to_it(tmp_path: Path) -> None:
    smoothed = SmoothedClassifier(wrapped(batch_statistics), LAW, n=100)
    for ask in (smoothed.predict, smoothed.certify, smoothed.predict):
        with pytest.raises(NotAFunction):
            ask(X)
    data = Dataset.from_arrays(X[None], [1], name="one")
    with pytest.raises(NotAFunction):
        certify_run(wrapped(batch_statistics), data, Plan(LAW, n=100), [0], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_torch_module_in_training_mode_is_refused() -> None:
    torch = pytest.importorskip("torch")
    from dsrs.classifiers import from_torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(D, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    net.train()
    function = wrapped(lambda batch: net(torch.from_numpy(batch)).detach().numpy())
    with pytest.raises(NotAFunction):
        SmoothedClassifier(function, LAW, n=100).predict(X)
    answer = SmoothedClassifier(from_torch(net.eval(), (D,), 2), LAW, n=100).predict(X)
    assert answer.status in ("predicted", "abstained")

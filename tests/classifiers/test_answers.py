"""Plain functions are told apart by what they answer, also when their source is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable, varied_batch
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan

SHAPE = (1, 3, 3)


class Network:
    """A linear model that keeps its weights where no source shows them."""

    def __init__(self, seed: int) -> None:
        self.weights = np.random.default_rng(seed).normal(size=(9, 3)).astype(np.float32)

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        return batch.reshape(len(batch), -1) @ self.weights


def test_other_weights_are_another_model() -> None:
    first, again, other = (from_callable(Network(seed), SHAPE) for seed in (0, 0, 1))
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_changed_weights_are_seen_after_loading() -> None:
    network = Network(0)
    classifier = from_callable(network, SHAPE)
    before = classifier.fingerprint
    network.weights *= np.float32(1 + 1e-7)  # as another order of summation may do
    assert classifier.fingerprint == before
    network.weights[0, 0] *= 1.05
    assert classifier.fingerprint != before


def test_class_ids_and_impossible_classes_have_fingerprints_too() -> None:
    def ids(shift: int) -> Callable[[NDArray[np.float32]], NDArray[np.int64]]:
        def forward(batch: NDArray[np.float32]) -> NDArray[np.int64]:
            return np.asarray(batch.mean(axis=(1, 2, 3)) * 5, dtype=np.int64) + shift

        return forward

    def impossible(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tile(np.array([0, -np.inf], np.float32), (len(batch), 1))

    one, two = (from_callable(ids(s), SHAPE, 7, name="ids").fingerprint for s in (0, 1))
    assert one != two
    assert "answers:" in from_callable(impossible, SHAPE).fingerprint


def test_a_known_fingerprint_is_taken_as_it_is() -> None:
    assert from_callable(Network(0), SHAPE, fingerprint="mine").fingerprint == "mine"


def test_the_inputs_fill_the_bounds() -> None:
    batch = varied_batch(SHAPE, (-1.0, 3.0))
    assert batch.dtype == np.float32
    assert -1 <= batch.min() < -0.5
    assert 2.5 < batch.max() <= 3


def test_a_run_is_not_continued_with_other_weights(tmp_path: Path) -> None:
    network = Network(0)
    classifier = from_callable(network, SHAPE)
    dataset = Dataset.from_arrays(np.full((2, *SHAPE), 0.5, np.float32))
    plan = Plan(GeneralizedGaussian(9, 0.5), ("np",), n=64, n0=16)
    certify_run(classifier, dataset, plan, [0], tmp_path / "run", workers=1)
    network.weights[:] = Network(1).weights
    with pytest.raises(StoreMismatch, match=r"model\.fingerprint"):
        certify_run(classifier, dataset, plan, [1], tmp_path / "run", workers=1)

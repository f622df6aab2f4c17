"""Classifiers whose worst shift is known, and data for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, from_callable
from dsrs.datasets import Dataset

BOUNDS = (-50.0, 50.0)


def half_space(d: int = 2) -> Classifier:
    """Two classes; the first loses the more belief the larger the first coordinate is.

    Every set that holds class 0 is a half-space, so that a shift along the first coordinate is the
    worst that there is, and attains the bound of Neyman and Pearson.
    """

    def logits(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        first = batch[:, 0].astype(np.float64)
        return np.stack([-first, first], axis=1)

    return from_callable(logits, (d,), 2, bounds=BOUNDS, name="half-space")


def linear(weights: NDArray[np.float64]) -> Classifier:
    """As many classes as rows of weights; the logit of a class is linear in the input."""

    def logits(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        return batch.astype(np.float64) @ weights.T

    return from_callable(logits, (weights.shape[1],), len(weights), bounds=BOUNDS, name="linear")


def at_origin(count: int, d: int = 2) -> Dataset:
    """So many inputs at 0, all of class 0."""
    return Dataset.from_arrays(np.zeros((count, d), np.float32), [0] * count, bounds=BOUNDS)

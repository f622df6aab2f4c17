"""Classifiers that `--model linear_model:NAME` names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def first_pixel(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Class 1 where the first value is above 0.2."""
    score = batch.reshape(len(batch), -1)[:, 0] - np.float32(0.2)
    return np.stack([-score, score], axis=1)


def other(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Another classifier."""
    return first_pixel(batch + np.float32(0.1))

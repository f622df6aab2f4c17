"""Classifiers that `--model tiny_classifier:NAME` names: a step on the mean pixel."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import from_callable


def bright(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Class 1 if the mean pixel is above one half."""
    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)
    return np.stack([-score, score], axis=1)


named = replace(from_callable(bright, (16,), 2), class_names=("dark", "bright"))


def dark(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """The other way round."""
    return -bright(batch)


def slow(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """`bright`, slowly enough to be stopped on the way."""
    time.sleep(0.004)
    return bright(batch)


def hungry(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """`bright`, with memory for 16 rows."""
    if len(batch) > 16:
        raise MemoryError("out of tiny memory")
    return bright(batch)


def broken(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """NaN logits."""
    return np.full((len(batch), 2), np.nan, np.float32)

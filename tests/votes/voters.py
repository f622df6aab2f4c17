"""Classifiers for `voters:NAME` on the nodes of a cluster; the environment of a node changes them.

Nodes of a simulated cluster share their files, but not their environment.
"""

from __future__ import annotations

import os
import time

import numpy as np
from numpy.typing import NDArray

SLOW, OTHER = "VOTERS_SLOW", "VOTERS_OTHER"  # seconds a batch; another model
ROWS = "VOTERS_ROWS"  # that there is memory for


def bright(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Class 1 if the mean pixel is above 0.4."""
    level = np.float32(0.4 + float(os.environ.get(OTHER, "0")))
    time.sleep(float(os.environ.get(SLOW, "0")))
    if len(batch) > int(os.environ.get(ROWS, "1024")):
        raise MemoryError
    score = batch.reshape(len(batch), -1).mean(axis=1) - level
    return np.stack([-score, score], axis=1)


def leisurely(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """`bright`, slowly enough for a node to be killed in the middle."""
    time.sleep(0.01)
    return bright(batch)

"""A part of the training inputs that no model is trained on, for what is chosen after training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput

HELD_OUT_SEED = 20220615  # fixed: the part depends on the data alone


def held_out(size: int, share: float) -> NDArray[np.int64]:
    """The inputs that are kept out of training, in rising order.

    They depend on the size of the data and the share alone, not on the seed of a run, so that
    models of different runs on the same data keep out the same inputs; a smaller share is a part
    of a larger one.

    Args:
        size: Number of training inputs.
        share: Share to keep out, in [0, 1).
    """
    if not 0 <= share < 1:
        raise InvalidInput(f"`hold_out` must be a share in [0, 1), got {share}")
    order = np.random.default_rng(HELD_OUT_SEED).permutation(size)
    return np.sort(order[: round(share * size)])


def trained_on(size: int, share: float) -> NDArray[np.int64]:
    """The other inputs, in rising order."""
    kept = np.setdiff1d(np.arange(size), held_out(size, share))
    if not len(kept):
        raise InvalidInput(f"`hold_out` = {share} leaves none of {size} inputs to train on")
    return kept

"""At which noise norms to look: two stages of votes, equally spread over ln norm.

The accuracy of an input is 1 at norm 0 (if it is right at all) and falls somewhere; only norms
around the fall say anything. A first stage spreads a small part of the votes over all norms that
could matter and finds it; the second spreads the others over the useful range: where laws of the
right size have their noise. The norm of a vote depends on its number alone, so votes can be
stopped and continued, and all of a stage may be taken in any order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.landscape.prediction import reach_by_norm
from dsrs.landscape.profile import Profile

Floats = NDArray[np.float64]

FIRST_SHARE = 0.125
# Norms of the first stage, in units of sqrt(d): sizes sigma of noise for inputs from 0 to 1.
SMALLEST_SIZE, LARGEST_SIZE = 0.02, 8.0
# Norms are useful that reach this share of the limit of all laws, and those within a factor of
# them: a law has its noise within 3 standard deviations of ln norm, a factor of 1.5 at m = 14.
USEFUL_REACH, WIDENING = 0.5, 1.5
# Votes say where accuracy falls as a certificate of so many votes would see it.
REFERENCE_VOTES, REFERENCE_ALPHA = 100_000, 0.001

_GOLDEN = (math.sqrt(5) - 1) / 2


def first_stage(votes: int) -> int:
    """How many of all votes of an input belong to the first stage."""
    _checked(votes)
    return max(1, math.floor(FIRST_SHARE * votes))


def first_norms(d: int, count: int, start: int = 0) -> Floats:
    """Norms of the votes number `start` to `start + count - 1` of the first stage."""
    unit = math.sqrt(d)
    return spread_norms(SMALLEST_SIZE * unit, LARGEST_SIZE * unit, count, start)


def useful_range(profile: Profile, d: int) -> tuple[float, float]:
    """From the profile of the first stage, the norms over which the second is spread.

    All norms of the first stage, where the class is never right.
    """
    norms, reach = reach_by_norm(profile, d, REFERENCE_VOTES, REFERENCE_ALPHA)
    if not reach.max() > 0:
        return float(norms[0]), float(norms[-1])
    useful = norms[reach >= USEFUL_REACH * reach.max()]
    return float(useful[0]) / WIDENING, float(useful[-1]) * WIDENING


def spread_norms(low: float, high: float, count: int, start: int = 0) -> Floats:
    """Norms that fill [low, high] evenly in ln norm, however many are taken.

    Multiples of the golden ratio, modulo 1: any run of them is nearly equally spaced.
    """
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"norms must lie between two positive numbers, got {low!r}, {high!r}")
    if start < 0 or count < 0:
        raise InvalidInput(f"votes are numbered from 0 on, got {start!r} and {count!r} of them")
    share = np.mod((np.arange(start, start + count) + 0.5) * _GOLDEN, 1.0)
    return np.asarray(low * (high / low) ** share)


def _checked(votes: int) -> None:
    if votes < 2:
        raise InvalidInput(f"a landscape needs at least 2 votes an input, got {votes!r}")

"""What n votes are expected to prove: lower bounds at expected counts (docs/math.md 9).

With x misses in n votes the Clopper-Pearson bound L has 1 - L = the upper alpha-quantile of
Beta(x + 1, n - x). It makes sense for every real x: that curve is used where laws are compared
and chosen. Predictions round the count of hits down and ask `dsrs.confidence`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]

MISS_RATES = 48
LARGEST_MISS_RATE = 0.7
# Profiles tell no smaller rate from 0 (`profile.LARGEST_SCORE`).
NO_MISSES = 1e-9


class BoundCurve(NamedTuple):
    """1 - q, 1 - L(q) and L'(q) at miss rates from 0 to `LARGEST_MISS_RATE`."""

    misses: Floats
    unproved: Floats
    slope: Floats


@functools.lru_cache(maxsize=256)
def bound_curve(n: int, alpha: float) -> BoundCurve:
    """The curve L(q) that n votes give at level alpha, at rates that grow geometrically."""
    rates = np.append(0.0, np.geomspace(0.1 / n, LARGEST_MISS_RATE, MISS_RATES - 1))
    step = np.maximum(1e-3 * rates, 1e-3 / n)
    slope = (unproved_at(rates + step, n, alpha) - unproved_at(rates, n, alpha)) / step
    return BoundCurve(rates, unproved_at(rates, n, alpha), slope)


def unproved_at(miss_rate: Floats, n: int, alpha: float) -> Floats:
    """1 - L where a share `miss_rate` of n votes misses."""
    misses = n * miss_rate
    return np.asarray(special.betainccinv(misses + 1, np.maximum(n - misses, 1e-9), alpha))


def expected_hits(miss_rate: Floats, n: int) -> Floats:
    """The expected number of hits among n votes, rounded down to a whole one."""
    misses = n * np.maximum(np.asarray(miss_rate) - NO_MISSES, 0.0)
    return np.asarray(np.maximum(n - np.ceil(misses - 1e-6), 0.0))


def expected_lower(probability: float, n: int, alpha: float) -> float:
    """The Clopper-Pearson bound at the expected count of hits, rounded down."""
    hits = expected_hits(np.array(1 - probability), n)
    return clopper_pearson_lower(int(hits), n, alpha)


def checked_budget(n: int, alpha: float) -> None:
    """Refuse what is no number of votes, or no failure probability."""
    if not (n >= 1 and n == int(n)):
        raise InvalidInput(f"`n` must be a number of votes, at least 1, got {n!r}")
    if not 0 < alpha < 1:
        raise InvalidInput(f"`alpha` must be in (0, 1), got {alpha!r}")

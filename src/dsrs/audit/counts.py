"""Bounds of a probability from counts, checked by enclosures of binomial tails (docs/math.md 11).

A lower bound L after x hits of n holds at level a if Pr_L[X >= x] <= a, and the tail is the
regularised incomplete beta function I_L(x, n - x + 1). An upper bound is 1 minus the lower
one of the misses.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Literal

from dsrs.audit.balls import arb, exact

Answer = Literal["yes", "no", "unknown"]
STANDARD_NORMAL = NormalDist()


def tail(hits: int, trials: int, p: arb) -> arb:
    """Pr[X >= hits] for X ~ Binomial(trials, p)."""
    if hits <= 0:
        return arb(1)
    if hits > trials:
        return arb(0)
    return p.beta_lower(hits, trials - hits + 1, 1)


def lower_holds(
    lower: float | arb,
    hits: int,
    trials: int,
    alpha: Fraction,
    charge: arb | None = None,
) -> Answer:
    """Whether `lower` + `charge` is a lower bound at level alpha after these counts."""
    if lower <= 0:
        return "yes"
    p = lower if isinstance(lower, arb) else exact(lower)
    return _holds(p + (charge or arb(0)), hits, trials, alpha)


def upper_holds(
    upper: float,
    hits: int,
    trials: int,
    alpha: Fraction,
    charge: arb | None = None,
) -> Answer:
    """Whether `upper` - `charge` is an upper bound at level alpha after these counts."""
    misses = 1 - exact(upper)
    return lower_holds(misses, trials - hits, trials, alpha, charge)


def fallback_holds(
    lower: float, first: int, hits: int, trials: int, alpha: Fraction, charge: arb | None = None
) -> Answer:
    """Return whether p^first Pr[X >= hits] <= alpha at p = lower + charge, where X is binomial with
    `trials` votes: all of the first votes hit, and `hits` of the others (docs/math.md 11)."""
    if lower == 0:
        return "yes"
    p = exact(lower) + (charge or arb(0))
    return _compared(p**first * tail(hits, trials, p), alpha)


def _holds(p: arb, hits: int, trials: int, alpha: Fraction) -> Answer:
    if p >= 1:
        return "no"
    return _compared(tail(hits, trials, p), alpha)


def _compared(probability: arb, alpha: Fraction) -> Answer:
    level = exact(alpha)
    return "yes" if probability <= level else "no" if probability > level else "unknown"


@functools.lru_cache(maxsize=4096)
def rough_lower(hits: int, trials: int, alpha: float) -> float:
    """About the lower bound at level alpha, for decisions that cost no alpha: the secant method in
    normal scores, in which the tail is nearly straight."""
    if hits == 0:
        return 0.0
    share, target = hits / trials, STANDARD_NORMAL.inv_cdf(alpha)
    spread = math.sqrt(share * (1 - share) / trials) + 1 / trials
    low, high = 0.0, 1.0
    p, slope = max(share + target * spread, share / 2), 1 / spread
    for _ in range(60):
        probability = float(tail(hits, trials, arb(p)))
        miss = STANDARD_NORMAL.inv_cdf(min(max(probability, 1e-300), 1 - 1e-16)) - target
        if abs(miss) < 1e-11:
            break
        low, high = (p, high) if miss < 0 else (low, p)
        ahead = p - miss / slope
        if not low < ahead < high:
            ahead = 0.5 * (low + high)
        further = float(tail(hits, trials, arb(ahead)))
        rise = STANDARD_NORMAL.inv_cdf(min(max(further, 1e-300), 1 - 1e-16)) - target - miss
        if ahead != p and rise / (ahead - p) > 0:
            slope = rise / (ahead - p)
        p = ahead
    return p


def rough_upper(hits: int, trials: int, alpha: float) -> float:
    """About the upper bound at level alpha, for decisions that cost no alpha."""
    return 1 - rough_lower(trials - hits, trials, alpha)

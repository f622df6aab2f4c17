"""The randomized Clopper-Pearson bound: one uniform number more, and the coverage is exact.

After x hits of n the plain lower bound solves Pr[X >= x] = alpha. That counts the outcome x itself
in full, so it fails less often than alpha. With U uniform on (0, 1), drawn before the votes,

    Pr[X > x] + U Pr[X = x] = alpha

counts a part of it. For a true p the left side is uniform over (x, U), so the bound exceeds p with
probability alpha exactly (docs/math.md 11). It is never below the plain bound.
"""

from __future__ import annotations

import math

from dsrs.confidence.binomial_tail import log_upper_tail
from dsrs.confidence.clopper_pearson import clopper_pearson_lower, clopper_pearson_upper
from dsrs.errors import InvalidInput


def randomized_lower(successes: int, trials: int, alpha: float, uniform: float) -> float:
    """The lower bound with this uniform number, rounded down.

    Where every vote hit, U < alpha would make it 1. It is cut at 1 - 1/n: a cut only lowers it, and
    one miss in n is no more than the votes could have shown.
    """
    if not 0 <= uniform <= 1:
        raise InvalidInput(f"`uniform` must be in [0, 1], got {uniform!r}")
    plain = clopper_pearson_lower(successes, trials, alpha)
    if successes == 0:
        return plain
    # Bisection on the miss rate s, which keeps its digits where p is close to 1; s is rounded up.
    # The left side is at least Pr[X > x], so the plain bound of one hit more is not below it.
    next_plain = clopper_pearson_lower(successes + 1, trials, alpha) if successes < trials else 1.0
    inside, outside = max(1 / trials, 1 - next_plain), 1 - plain
    if not inside < outside:
        return plain
    if _tail(successes, trials, inside, uniform) <= alpha:
        return max(plain, math.nextafter(1 - inside, 0.0))
    while math.nextafter(inside, 1.0) < outside and outside - inside > 1e-13 * outside:
        s = math.sqrt(inside * outside)
        if not inside < s < outside:
            break
        if _tail(successes, trials, s, uniform) <= alpha:
            outside = s
        else:
            inside = s
    return max(plain, math.nextafter(1 - outside, 0.0))


def randomized_upper(successes: int, trials: int, alpha: float, uniform: float) -> float:
    """The upper bound: one minus the lower bound of the misses, rounded up."""
    plain = clopper_pearson_upper(successes, trials, alpha)
    if successes == trials:
        return plain
    lower = randomized_lower(trials - successes, trials, alpha, uniform)
    return min(plain, math.nextafter(1 - lower, 1.0))


def _tail(successes: int, trials: int, miss: float, uniform: float) -> float:
    """Pr[X > x] + U Pr[X = x] for p = 1 - miss, rounded up by its proved error."""
    at_least = _upper(successes, trials, miss)
    more = _upper(successes + 1, trials, miss) if successes < trials else 0.0
    return uniform * at_least + (1 - uniform) * more


def _upper(hits: int, trials: int, miss: float) -> float:
    tail, _, error = log_upper_tail(hits, trials - hits, 1 - miss, miss)
    return math.exp(min(0.0, tail + error)) * (1 + 1e-15)

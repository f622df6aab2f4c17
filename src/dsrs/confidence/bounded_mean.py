"""An upper bound of the mean of a variable in [0, 1] that is tight when its variance is small."""

from __future__ import annotations

import math

from dsrs.errors import InvalidInput


def empirical_bernstein_upper(mean: float, variance: float, count: int, alpha: float) -> float:
    """The empirical Bernstein bound (Maurer and Pontil, 2009, Theorem 4).

    `mean` and `variance` (the unbiased one) are those of `count` independent draws of a variable
    in [0, 1]; the result lies below the true mean with probability at most alpha.
    """
    if count < 2:
        raise InvalidInput(f"`count` must be at least 2, got {count!r}")
    if not 0 < alpha < 1:
        raise InvalidInput(f"`alpha` must be in (0, 1), got {alpha!r}")
    if not (0 <= mean <= 1 and variance >= 0):
        raise InvalidInput(
            f"`mean` must be in [0, 1] and `variance` at least 0, got {mean!r} and {variance!r}"
        )
    log_term = math.log(2) - math.log(alpha)
    slack = math.sqrt(2 * variance * log_term / count) + 7 * log_term / (3 * (count - 1))
    return min(mean + slack, 1.0)

"""A lower bound of the mean of a variable that is never negative, for any number of draws."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.errors import InvalidInput

# The shares that are bet, fixed before the draws: the best one is near (mean - bound) * mean /
# variance, so small ones serve many draws and large ones few.
BETS = 2.0 ** np.linspace(-10, 0, 21)
BISECTION_STEPS = 60  # of the bisection; what they leave of the interval is given away
CAPITAL_ROUNDING = 1e-9  # more than the rounding of a sum of a million logarithms


def nonnegative_mean_lower(values: ArrayLike, alpha: float) -> float:
    """A number that exceeds the mean of the draws' law with probability at most alpha.

    Independent draws x_i >= 0 with mean mu; nothing else is assumed. For m > 0 and a bet c in
    [0, 1] the factor 1 - c + c x_i / m is not negative and has the mean 1 + c (mu / m - 1), at
    most 1 if mu <= m. So has the product over i, and the average K(m) of the products over the
    fixed BETS. By Markov's inequality K(mu) >= 1 / alpha with probability at most alpha. K falls
    with m, so that is the event that mu lies below the largest m with K(m) >= 1 / alpha, which is
    returned (a mixture of the bets of Waudby-Smith and Ramdas, 2024). The order of the draws does
    not matter.
    """
    draws = np.asarray(values, dtype=np.float64).ravel()
    if not draws.size:
        raise InvalidInput("`values` must hold at least one number")
    if not (np.isfinite(draws).all() and draws.min() >= 0):
        raise InvalidInput(f"`values` must be finite and not negative, got {draws.min()!r}")
    if not 0 < alpha < 1:
        raise InvalidInput(f"`alpha` must be in (0, 1), got {alpha!r}")
    low, high = 0.0, float(draws.mean())  # where the factors average 1, and no product exceeds 1
    if high == 0:
        return 0.0
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        if _log_capital(draws, middle) >= CAPITAL_ROUNDING - math.log(alpha):
            low = middle
        else:
            high = middle
    return low


def _log_capital(draws: np.ndarray[tuple[int, ...], np.dtype[np.float64]], m: float) -> float:
    """Return log K(m), the logarithm of the capital of the bet against mean m."""
    with np.errstate(divide="ignore"):
        products = [np.log1p(bet * (draws / m - 1)).sum() for bet in BETS]
    return float(special.logsumexp(products)) - math.log(len(BETS))

"""Confidence bounds of means: by resampling inputs, and of draws that are never negative."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]

# ---- Bootstrap confidence intervals over the test subset
#
# Inputs are drawn again with replacement (Efron's nonparametric bootstrap) and the percentiles of
# the recomputed statistic give the interval. One draw of inputs serves every method and radius at
# once, so the interval of a difference is a paired one: what two methods share on an input cancels.

# The means of all resamples are kept, and more of them change no digit that is shown.
FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 100_000
RESAMPLES_PER_BLOCK = 250  # bounds the memory to so many numbers for each input


@dataclass(frozen=True, slots=True)
class Resampling:
    """The number of resamples, the confidence level and the seed of a bootstrap."""

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            raise InvalidInput(
                f"`resamples` must be from {FEWEST_RESAMPLES} to {MOST_RESAMPLES}, "
                f"got {self.resamples}"
            )
        if not 0 < self.confidence < 1:
            raise InvalidInput(f"`confidence` must be in (0, 1), got {self.confidence}")
        if self.seed < 0:
            raise InvalidInput(f"`seed` must not be negative, got {self.seed}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number computed from the test inputs, with its bootstrap interval."""

    value: Fraction
    low: Fraction
    high: Fraction

    @property
    def sign(self) -> int:
        """Return +1 or -1 when the interval lies on one side of zero, and else 0."""
        return (self.low > 0) - (self.high < 0)


def draw_counts(size: int, resampling: Resampling) -> Iterator[Floats]:
    """Yield blocks of resamples: one row each, with how often each of `size` inputs is drawn."""
    generator = np.random.default_rng(resampling.seed)
    for start in range(0, resampling.resamples, RESAMPLES_PER_BLOCK):
        rows = min(RESAMPLES_PER_BLOCK, resampling.resamples - start)
        drawn = generator.integers(size, size=(rows, size))
        drawn += size * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * size)
        yield counts.reshape(rows, size).astype(np.float64)


def resampled_means(values: Floats, resampling: Resampling) -> Floats:
    """Return the mean of each column in each resample; `values` has one row per input."""
    size = len(values)
    return np.concatenate([counts @ values for counts in draw_counts(size, resampling)]) / size


def interval(samples: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The central percentile interval of each column, with ends that were really drawn."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low, high


# ---- A lower bound of the mean of a variable that is never negative, for any number of draws

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

"""From some inputs to the population that they were drawn from: exact one-sided bounds.

They hold for any number of inputs, also where all of them agree: 20 of 20 certified shows 86% with
95% confidence, where the bootstrap would say 100%. The inputs must be a random sample of the
population, such as every k-th image of a shuffled test set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper, nonnegative_mean_lower

MOST_ADVISED_INPUTS = 1_000_000  # further advice helps nobody


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number of these inputs, and bounds of the same number of the population.

    Each bound is on its side of the truth with the confidence it was asked for; `high` is None
    where nothing bounds the number from above.
    """

    value: Fraction
    low: Fraction
    high: Fraction | None


def share_of(count: int, inputs: int, alpha: float) -> Bounded:
    """A share of inputs: Clopper-Pearson on either side."""
    return Bounded(
        Fraction(count, inputs),
        Fraction(clopper_pearson_lower(count, inputs, alpha)),
        Fraction(clopper_pearson_upper(count, inputs, alpha)),
    )


def robust_share(certified: int, inputs: int, alpha: float, false: float) -> Bounded:
    """The share of inputs that are robust, where a certificate is false with probability `false`.

    For the population: an input is certified with probability at most P(robust) + `false`, so
    `false` is taken off the bound of the certified share. For these inputs: the number of false
    certificates is at most a binomial one of `inputs` draws (each input's votes are its own), so
    its quantile at confidence 1 - alpha is taken off their count.
    """
    low = Fraction(clopper_pearson_lower(certified, inputs, alpha)) - Fraction(false)
    most_false = int(stats.binom.isf(alpha, inputs, false))
    while stats.binom.sf(most_false, inputs, false) > alpha:
        most_false += 1
    value = Fraction(max(certified - most_false, 0), inputs)
    return Bounded(value, max(low, Fraction(0)), None)


def mean_of(values: Sequence[float], alpha: float) -> Bounded:
    """The mean of numbers that are not negative."""
    mean = sum(map(Fraction, values), Fraction()) / len(values)
    return Bounded(mean, Fraction(nonnegative_mean_lower(values, alpha)), None)


def inputs_needed(share: Fraction, threshold: Fraction, alpha: float) -> int | None:
    """About how many inputs with this share would show that the population's is above."""
    if share <= threshold:
        return None
    low, high = 1, MOST_ADVISED_INPUTS
    if _shown(share, high, alpha) < threshold:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _shown(share, middle, alpha) >= threshold:
            high = middle
        else:
            low = middle
    return high


def _shown(share: Fraction, inputs: int, alpha: float) -> float:
    return clopper_pearson_lower(math.floor(share * inputs), inputs, alpha)

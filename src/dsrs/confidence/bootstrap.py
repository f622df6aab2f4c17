"""Bootstrap confidence intervals over the test subset.

Inputs are drawn again with replacement (Efron's nonparametric bootstrap) and the percentiles of
the recomputed statistic give the interval. One draw of inputs serves every method and radius at
once, so the interval of a difference is a paired one: what two methods share on an input cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]

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

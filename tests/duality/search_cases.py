"""Problems that the tests of the search share, and B as the search sees it."""

from __future__ import annotations

import numpy as np

from dsrs.duality import Floats, Problem, Search, chosen_ends, measure
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import SEARCH_WORK, Interval, Observation, constraints_of, problem_of

MNIST = GeneralizedGaussian(784, 1.0, 380.0)
SMALL = GeneralizedGaussian(10, 1.0, 2.0, 1.0)
GAUSSIAN = GeneralizedGaussian(784, 1.0)
WEIGHTED = Weighted(MNIST, (6.0, 12.0, 24.0), (0.0, 1.0, -1.0))


def problem(
    law: GeneralizedGaussian,
    p: tuple[float, float],
    *seen: tuple[AdditionalLaw, float, float],
    work: float = SEARCH_WORK,
) -> Problem:
    observed = [Observation(each, Interval(lower, upper)) for each, lower, upper in seen]
    return problem_of(law, constraints_of(law, Interval(*p), observed), work)


def general_cases() -> dict[str, tuple[Problem, Floats]]:
    """Problems for the general search, and multipliers that are not yet the best."""
    return {
        "rescaled": (
            problem(MNIST, (0.93, 0.95), (Rescaled(MNIST, 0.8), 0.97, 0.98)),
            np.array([1.2, 2.5]),
        ),
        "a negative multiplier": (
            problem(MNIST, (0.97, 0.98), (Rescaled(MNIST, 0.8), 0.95, 0.96)),
            np.array([6.0, -2.0]),
        ),
        "three laws": (
            problem(
                MNIST,
                (0.93, 0.95),
                (Truncated(MNIST, 0.4), 0.99, 1.0),
                (Rescaled(MNIST, 1.2), 0.87, 0.89),
                (WEIGHTED, 0.94, 0.96),
            ),
            np.array([1.0, 1.5, 0.7, 0.8]),
        ),
        "few dimensions": (
            problem(SMALL, (0.9, 0.95), (Rescaled(SMALL, 0.8), 0.95, 0.97)),
            np.array([1.5, 0.8]),
        ),
    }


class Measured:
    """What `measure` finds at given multipliers."""

    def __init__(self, search: Search, rho: float, multipliers: Floats) -> None:
        count = len(multipliers)
        self.hits, self.sweeps = np.empty(count), np.empty(count)
        self.curvature = np.empty((count, count))
        self.overlap, self.slope = measure(
            search, rho, multipliers, self.hits, self.sweeps, self.curvature
        )
        ends = chosen_ends(search.problem, multipliers)
        self.bound = self.overlap - float(multipliers @ (1 - ends))
        self.gradient = ends - self.hits

"""The solver, as proofs call it: search for a radius, evaluate a bound, round toward less."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.duality import (
    LONGEST_CHAIN,
    Floats,
    Problem,
    Proved,
    affordable_work,
    compile_kernels,
    dual_bound,
    largest_radius,
)
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.base import Step
from dsrs.proofs.constraints import SEARCH_WORK_OF_SEVERAL, constraints_of, problem_of
from dsrs.proofs.interval import Interval, Observation


def searched(problem: Problem, level: float, floor: float, guess: float, steps: Floats) -> Proved:
    """`largest_radius`, compiled where interpreting would take too long. The answer is the same."""
    start, work = np.zeros(len(problem.lowers)), problem.work[1]
    problem.work[1] = min(work, affordable_work())
    proved = largest_radius(problem, level, floor, guess, start, steps)
    if not proved.complete and problem.work[1] < work:
        compile_kernels()
        problem.work[:] = 0.0, work
        proved = largest_radius(problem, level, floor, guess, start, steps)
    return proved


def bound_at(
    law: GeneralizedGaussian, problem: Problem, multipliers: NDArray[np.float64], radius: float
) -> float:
    """What these multipliers prove at a shift of length `radius`."""
    if law.is_gaussian and not np.any(multipliers[1:]) and 0 < multipliers[0] < math.inf:
        lower = float(problem.lowers[0])
        return gaussian_bound(lower, float(multipliers[0]), radius / law.sigma)
    return float(dual_bound(problem, multipliers, radius / law.scale))


def rounded_radius(law: GeneralizedGaussian, rho: float) -> float:
    """A radius from units of the law's scale, rounded down."""
    return math.nextafter(rho * law.scale * (1 - 1e-15), 0.0)


def gaussian_bound(p_lower: float, multiplier: float, ratio: float) -> float:
    """B for Gaussian P alone, in closed form and rounded down; `ratio` is r / sigma.

    The relative rounding of a normal tail grows with the square of its argument. That of z moves
    the edge of R only, on which g = p: it does not count.
    """
    z = math.log(multiplier) / ratio + ratio / 2
    tail, missing = float(special.ndtr(-z)), 1 - p_lower
    value = multiplier * (tail - missing) + float(special.ndtr(z - ratio))
    return value - 4e-15 * (1 + multiplier * missing) - 1e-15 * z * z * multiplier * tail


def neyman_pearson(
    law: GeneralizedGaussian, p_lower: float, zeros: int = 0, place: int = 0
) -> tuple[Step, ...]:
    """The Neyman-Pearson radius and its proof, empty when P_A may be 1/2 or less.

    The multiplier stands at `place` among `zeros` others that the proof does not use.
    """
    if p_lower <= 0.5:
        return ()
    radius, multiplier, bound = math.inf, math.inf, 1.0
    if p_lower < 1:
        ratio, multiplier, bound = unit_neyman_pearson(law.d, law.k, law.eta, p_lower)
        if ratio == 0:
            return ()
        radius = math.nextafter(ratio * law.sigma, 0.0)
    multipliers = (0.0,) * place + (multiplier,) + (0.0,) * (zeros - place)
    return (Step(radius, multipliers, bound),)


@functools.lru_cache(maxsize=200_000)
def unit_neyman_pearson(d: int, k: float, eta: float, p_lower: float) -> tuple[float, float, float]:
    """Radius in units of sigma, multiplier and dual bound. Zeros when nothing can be proved."""
    law = GeneralizedGaussian(d, 1.0, k, eta)
    z = float(special.ndtri(p_lower))
    if law.is_gaussian:
        # Closed form sigma z with lambda = exp(z^2/2), a little less so that the proof checks.
        radius = z * (1 - 1e-13) - 1e-13
        if radius <= 0:
            return 0.0, 0.0, 0.0
        multiplier = math.exp(radius * (z - radius / 2))
        return radius, multiplier, gaussian_bound(p_lower, multiplier, radius)
    steps = np.empty((1, 3))
    problem = problem_of(law, constraints_of(law, Interval(p_lower, 1.0), ()))
    proved = searched(problem, 0.5, 0.0, z / law.scale, steps)
    if not proved.steps:
        return 0.0, 0.0, 0.0
    return rounded_radius(law, proved.rho), float(steps[0, 2]), float(steps[0, 1])


def radius_above(
    law: GeneralizedGaussian, p: Interval, additional: Sequence[Observation], level: float
) -> float:
    """How far an event of these probabilities is provably likelier than `level`, or 0."""
    constraints = constraints_of(law, p, additional)
    problem = problem_of(law, constraints, SEARCH_WORK_OF_SEVERAL)
    steps = np.empty((LONGEST_CHAIN, len(constraints) + 2))
    proved = searched(problem, level, 0.0, 0.0, steps)
    return rounded_radius(law, proved.rho) if proved.steps else 0.0

"""The solver, as proofs call it: constraints, searches, bounds, the least probability."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.duality import (
    LONGEST_CHAIN,
    Floats,
    Problem,
    Proved,
    affordable_work,
    base_of,
    best_multipliers,
    compile_kernels,
    components_of,
    dual_bound,
    largest_radius,
    lay_nodes,
)
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import Component, GeneralizedGaussian, shown
from dsrs.proofs.base import LARGEST_BOUND, Interval, Observation, Step

# ---- What is known of one input, made ready for the solver: one constraint a law
#
# An observation of P itself, or of a law that was observed before, only narrows an interval; an
# interval of [0, 1] says nothing. Multipliers are given back to the observations they belong to.

# Room for rounding when a box touches the edge of what is feasible.
FEASIBILITY_SLACK = 1e-12
# Integrands that the searches of one certificate may evaluate, with one additional law and several.
SEARCH_WORK, SEARCH_WORK_OF_SEVERAL = 1.5e6, 8e6


class Constraint(NamedTuple):
    """One law and the interval of its probability; the ends come from observations (0 is P)."""

    components: tuple[Component, ...]
    falls: bool
    full_support: bool
    lower: float
    upper: float
    lower_from: int
    upper_from: int

    def narrowed(self, interval: Interval, source: int) -> Constraint:
        """The same law seen once more."""
        constraint = self
        if interval.lower > constraint.lower:
            constraint = constraint._replace(lower=interval.lower, lower_from=source)
        if interval.upper < constraint.upper:
            constraint = constraint._replace(upper=interval.upper, upper_from=source)
        if constraint.lower > constraint.upper + FEASIBILITY_SLACK:
            raise InfeasibleBox(
                "no classifier fits two intervals of one probability: one ends at "
                f"{constraint.upper:.6g}, the other begins at {constraint.lower:.6g}"
            )
        return constraint


def constraints_of(
    law: GeneralizedGaussian, p: Interval, additional: Sequence[Observation]
) -> list[Constraint]:
    """P's constraint first, then those of the other laws that say anything."""
    own: tuple[Component, ...] = (Component.gamma(law.m, law.m),)
    by_law = {own: Constraint(own, True, True, p.lower, p.upper, 0, 0)}
    for i, seen in enumerate(additional, start=1):
        if not isinstance(seen, Observation):
            raise InvalidInput(
                "each additional law must come as an Observation(law, interval) of its own, got "
                f"{shown(seen)}"
            )
        if seen.law.base != law:
            raise InvalidInput(
                f"the additional law ({seen.law.describe()}) was made for "
                f"{seen.law.base.describe()}, but P is {law.describe()}"
            )
        terms = seen.law.components()
        if terms in by_law:
            by_law[terms] = by_law[terms].narrowed(seen.interval, i)
        else:
            falls, full = seen.law.falls, seen.law.full_support
            ends = seen.interval.lower, seen.interval.upper
            by_law[terms] = Constraint(terms, falls, full, *ends, i, i)
    p_constraint = by_law.pop(own)
    return [p_constraint, *(each for each in by_law.values() if (each.lower, each.upper) != (0, 1))]


def problem_of(
    law: GeneralizedGaussian, constraints: Sequence[Constraint], work: float = SEARCH_WORK
) -> Problem:
    """The arrays that the kernels take; the first constraint is P's."""
    box = [(each.falls, each.lower, each.upper) for each in constraints]
    falls, lowers, uppers = np.array(list(zip(*box, strict=True)), dtype=np.float64)
    parts = components_of(law.m, tuple(each.components for each in constraints[1:]))
    return Problem(base_of(law), parts, falls, lowers, uppers, np.array([0.0, work]))


def spread(
    constraints: Sequence[Constraint], multipliers: NDArray[np.float64], count: int
) -> tuple[float, ...]:
    """The multipliers of P and of `count` observations from those of the constraints."""
    values = [0.0] * (count + 1)
    for each, multiplier in zip(constraints, multipliers.tolist(), strict=True):
        values[each.lower_from if multiplier > 0 else each.upper_from] = multiplier
    return tuple(values)


def gathered(
    constraints: Sequence[Constraint], multipliers: Sequence[float]
) -> NDArray[np.float64] | None:
    """The multipliers of the constraints from those of P and all observations.

    None where a multiplier sits on an end that some other observation narrows, or on nothing: no
    proof of this package does that.
    """
    left = {i: float(value) for i, value in enumerate(multipliers) if value != 0}
    values = np.zeros(len(constraints))
    for n, each in enumerate(constraints):
        if left.get(each.lower_from, 0.0) > 0:
            values[n] = left.pop(each.lower_from)
        elif left.get(each.upper_from, 0.0) < 0:
            values[n] = left.pop(each.upper_from)
    return None if left else values


# ---- Search for a radius, evaluate a bound, round toward less


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


# ---- C_delta(P_A, Q_A): the least probability of a class at a shift that what is known allows
#
# The paper's main section is about it: the class keeps its lead at a shift where it exceeds 1/2.

# Integrands that one maximisation may evaluate, many times what any is known to need.
MAXIMISATION_WORK = 1e9


def least_probability(
    law: GeneralizedGaussian, p: Interval, *additional: Observation, radius: float
) -> Step:
    """The least probability of the class at a shift of length `radius`, and its multipliers.

    The answer's `dual_bound` is what the multipliers prove, a lower bound of C. The maximum over
    multipliers is C itself (strong duality), so it lies below C by no more than the search and its
    rounding lose: 1e-9 or so.

    Args:
        law: the smoothing law P.
        p: an interval of the probability of the class under P.
        additional: intervals of its probability under other laws.
        radius: the l2 length of the shift.
    """
    if not 0 < radius < math.inf:
        raise InvalidInput(f"`radius` must be positive and finite, got {radius!r}")
    constraints = constraints_of(law, p, additional)
    for each in constraints:
        if each.full_support and each.lower == 1:
            # A class that is right almost everywhere under a law of full support is right.
            multipliers = spread([each], np.array([math.inf]), len(additional))
            return Step(radius, multipliers, 1.0)
    problem = problem_of(law, constraints, MAXIMISATION_WORK)
    best = np.zeros(len(constraints))
    with np.errstate(all="ignore"):  # overflow and 0 * inf are part of the computation
        best_multipliers(
            lay_nodes(problem), radius / law.scale, np.zeros((3, 3)), best, np.zeros(len(best))
        )
    value = bound_at(law, problem, best, radius)
    if value > LARGEST_BOUND:
        raise InfeasibleBox("no classifier has probabilities inside all the given intervals")
    if not value > 0:
        return Step(radius, (0.0,) * (1 + len(additional)), 0.0)
    return Step(radius, spread(constraints, best, len(additional)), min(value, 1.0))

"""Certificates from probability intervals: Neyman-Pearson and double sampling, one at a time.

`certify` finds the largest radius and its proof; `dsrs.check` verifies a proof without any search.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from dsrs.duality import radius as search
from dsrs.duality.base import Floats
from dsrs.duality.bound import Problem
from dsrs.duality.kernel import affordable_work, compile_kernels
from dsrs.errors import InfeasibleBox
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.certificate import (
    Certificate,
    Interval,
    Method,
    Observation,
    OnGrid,
    ProofStep,
    Status,
    radius_less,
)
from dsrs.proofs.constraints import (
    EDGE,
    WORK,
    WORK_OF_SEVERAL,
    Constraint,
    constraints_of,
    problem_of,
    spread,
)

# With so many laws every pair is tried on its own before all of them together.
MOST_IN_PAIRS = 4


class Found(NamedTuple):
    """The best proof so far, on constraints of its own."""

    steps: tuple[ProofStep, ...] = ()
    method: Method = "neyman-pearson"
    decided: bool = True  # whether more could not have been proved where there is no proof
    complete: bool = True  # whether every search was finished within its work
    work: float = WORK  # what is left for further searches

    @property
    def radius(self) -> float:
        return self.steps[0].radius if self.steps else 0.0


def certify(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> Certificate:
    """The largest l2 radius that can be proved from P_A in `p` and Q_A in each observation.

    Without observations this is the Neyman-Pearson certificate. With them it is never smaller,
    and with several never smaller than with any one of them.
    """
    constraints = constraints_of(law, p, additional)
    own = constraints[0]
    alone = neyman_pearson(law, p.lower, len(additional))
    best = Found(alone, work=WORK if len(constraints) <= 2 else WORK_OF_SEVERAL)
    if own.lower > p.lower:
        # P was observed again under another name.
        steps = neyman_pearson(law, own.lower, len(additional), own.lower_from)
        best = best._replace(steps=steps, method="double-sampling")
    for each in constraints[1:]:
        if each.full_support and each.lower == 1:
            # A class that is right almost everywhere under a law of full support is right.
            multipliers = spread([each], np.array([math.inf]), len(additional))
            steps = (ProofStep(math.inf, multipliers, 1.0),)
            best = best._replace(steps=steps, method="double-sampling")
    least = _least_probability(p, additional)
    for group in _groups(constraints):
        # Where P_A itself may be 1/2 or less not even a shift of length 0 can be certified.
        if best.radius < math.inf and (least > 0.5 or len(constraints) > 2):
            last = len(group) == len(constraints) - 1
            best = _double_sampling(law, [own, *group], len(additional), best, last)
    status: Status = "certified" if best.steps else "abstained" if best.decided else "undecided"
    return Certificate(
        law=law,
        p=p,
        additional=additional,
        radius=best.radius,
        np_radius=alone[0].radius if alone else 0.0,
        status=status,
        method=best.method,
        proof=best.steps,
        complete=best.complete,
    )


def radius_above(
    law: GeneralizedGaussian, p: Interval, additional: Sequence[Observation], level: float
) -> float:
    """How far an event of these probabilities is provably likelier than `level`, or 0."""
    constraints = constraints_of(law, p, additional)
    problem = problem_of(law, constraints, WORK_OF_SEVERAL)
    steps = np.empty((search.LONGEST_CHAIN, len(constraints) + 2))
    found = searched(problem, level, 0.0, 0.0, steps)
    return rounded_radius(law, found.rho) if found.steps else 0.0


def from_grid_point(found: Certificate, note: OnGrid) -> Certificate:
    """The certificate of an input from that of the grid point which stands for it.

    A ball around the grid point holds the ball around the input whose radius is less by their
    distance. Where nothing is left, it is an abstention.
    """
    radius, np_radius = (radius_less(r, note.moved) for r in (found.radius, found.np_radius))
    if radius > 0 or found.radius == 0:
        return replace(found, radius=radius, np_radius=np_radius, grid=note)
    nothing = Interval(0.0, 1.0)
    others = (Observation(seen.law, nothing) for seen in found.additional)
    return replace(certify(found.law, nothing, *others), grid=note)


def _groups(constraints: Sequence[Constraint]) -> Iterator[Sequence[Constraint]]:
    """Which additional laws are tried together: each alone, perhaps in pairs, and all."""
    others = constraints[1:]
    yield from ([each] for each in others)
    if 2 < len(others) <= MOST_IN_PAIRS:
        yield from itertools.combinations(others, 2)
    if len(others) > 1:
        yield others


def neyman_pearson(
    law: GeneralizedGaussian, p_lower: float, zeros: int = 0, place: int = 0
) -> tuple[ProofStep, ...]:
    """The Neyman-Pearson radius and its proof, empty when P_A may be 1/2 or less.

    The multiplier stands at `place` among `zeros` others that the proof does not use.
    """
    if p_lower <= 0.5:
        return ()
    radius, multiplier, bound = math.inf, math.inf, 1.0
    if p_lower < 1:
        ratio, multiplier, bound = _unit_neyman_pearson(law.d, law.k, law.eta, p_lower)
        if ratio == 0:
            return ()
        radius = math.nextafter(ratio * law.sigma, 0.0)
    multipliers = (0.0,) * place + (multiplier,) + (0.0,) * (zeros - place)
    return (ProofStep(radius, multipliers, bound),)


@functools.lru_cache(maxsize=200_000)
def _unit_neyman_pearson(
    d: int, k: float, eta: float, p_lower: float
) -> tuple[float, float, float]:
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
    found = searched(problem, 0.5, 0.0, z / law.scale, steps)
    if not found.steps:
        return 0.0, 0.0, 0.0
    return rounded_radius(law, found.rho), float(steps[0, 2]), float(steps[0, 1])


def rounded_radius(law: GeneralizedGaussian, rho: float) -> float:
    """A radius from units of the law's scale, rounded down."""
    return math.nextafter(rho * law.scale * (1 - 1e-15), 0.0)


def gaussian_bound(p_lower: float, multiplier: float, ratio: float) -> float:
    """B for Gaussian P alone, in closed form and rounded down; `ratio` is r / sigma."""
    z = math.log(multiplier) / ratio + ratio / 2
    tail, missing = float(special.ndtr(-z)), 1 - p_lower
    value = multiplier * (tail - missing) + float(special.ndtr(z - ratio))
    return value - 4e-15 * (1 + multiplier * missing)


def _double_sampling(
    law: GeneralizedGaussian, constraints: Sequence[Constraint], count: int, best: Found, last: bool
) -> Found:
    """What P and these laws prove beyond `best`, or `best`; `last` may use up the work."""
    # Where other searches follow, none may use up what the last one needs.
    problem = problem_of(law, constraints, best.work if last else 0.5 * best.work)
    floor = best.radius
    surest = max(each.lower for each in constraints)
    guess = 0.0 if floor else max(float(special.ndtri(surest)), 0.0) * law.sigma / law.scale
    steps = np.empty((search.LONGEST_CHAIN, len(constraints) + 2))
    found = searched(problem, 0.5, floor / law.scale, guess, steps)
    if found.outcome == search.INFEASIBLE:
        raise InfeasibleBox("no classifier has probabilities inside all the given intervals")
    best = best._replace(
        complete=best.complete and found.complete,
        work=best.work - float(problem.work[0]),
        decided=best.decided and found.outcome != search.UNDECIDED,
    )
    proof = tuple(
        ProofStep(
            rounded_radius(law, float(step[0])),
            spread(constraints, step[2:], count),
            float(step[1]),
        )
        for step in steps[: found.steps]
    )
    if not proof or proof[0].radius <= best.radius:
        return best
    if floor > 0 and not found.solid:
        # The chain of hollow steps ends where the proof of the floor takes over.
        proof += best.steps
    return best._replace(steps=proof, method="double-sampling")


def searched(
    problem: Problem, level: float, floor: float, guess: float, steps: Floats
) -> search.Proved:
    """`largest_radius`, compiled where interpreting would take too long. The answer is the same."""
    start, work = np.zeros(len(problem.lowers)), problem.work[1]
    problem.work[1] = min(work, affordable_work())
    found = search.largest_radius(problem, level, floor, guess, start, steps)
    if not found.complete and problem.work[1] < work:
        compile_kernels()
        problem.work[:] = 0.0, work
        found = search.largest_radius(problem, level, floor, guess, start, steps)
    return found


def _least_probability(p: Interval, additional: Sequence[Observation]) -> float:
    """The least P_A that the intervals allow, or 1 where a law knows no closed form for it.

    Raises where an interval of Q_A leaves no P_A in `p`.
    """
    least, known = p.lower, True
    for seen in additional:
        q = seen.interval
        p_least, p_most = seen.law.p_range(q.lower, q.upper)
        least, known = max(least, p_least), known and (p_least, p_most) != (0, 1)
        if p.upper < p_least - EDGE or p.lower > p_most + EDGE:
            raise InfeasibleBox(
                f"no classifier has P_A in [{p.lower:.6g}, {p.upper:.6g}] and Q_A in "
                f"[{q.lower:.6g}, {q.upper:.6g}] under Q {seen.law.describe()}: this Q_A allows "
                f"P_A in [{p_least:.6g}, {p_most:.6g}] only"
            )
    return least if known else 1.0

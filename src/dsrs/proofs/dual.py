"""Dual proofs: intervals of P_A and of Q_A under any number of laws, and multipliers that prove.

`find_dual` finds the largest radius; `Dual.flaw` evaluates the multipliers, without any search.
Without additional laws this is the Neyman-Pearson certificate, with them double sampling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special

from dsrs.duality import (
    HIDDEN,
    INFEASIBLE,
    LONGEST_CHAIN,
    UNDECIDED,
    loss_at_shorter_shifts,
    total_variation,
)
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.base import (
    CLAIM_ROUNDING,
    LARGEST_BOUND,
    Claim,
    Interval,
    Observation,
    Proof,
    Step,
    flaw_of_numbers,
)
from dsrs.proofs.evaluation import (
    FEASIBILITY_SLACK,
    SEARCH_WORK,
    SEARCH_WORK_OF_SEVERAL,
    Constraint,
    bound_at,
    constraints_of,
    gathered,
    neyman_pearson,
    problem_of,
    rounded_radius,
    searched,
    spread,
)

# By what shares the outermost step is shortened until its check confirms it, in few dimensions.
SHORTENINGS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
# With so many laws every pair is tried on its own before all of them together.
MOST_IN_PAIRS = 4


@dataclass(frozen=True, slots=True)
class Dual(Proof):
    """From P_A in `p` and Q_A in each additional interval, by weak duality (docs/math.md 5).

    A step proves that the class has more than 1/2 at its radius. A solid step does so for every
    shorter shift too; below a hollow one the next step takes over before the class could lose it.
    """

    p: Interval
    additional: tuple[Observation, ...] = ()
    steps: tuple[Step, ...] = ()

    kind: ClassVar[str] = "dual"
    claim: ClassVar[Claim] = "majority"

    @property
    def reach(self) -> float:
        return self.steps[0].radius if self.steps else 0.0

    @property
    def known_of_p(self) -> Interval:
        return self.p

    @property
    def observations(self) -> tuple[Observation, ...]:
        return self.additional

    @property
    def outermost(self) -> Step | None:
        return self.steps[0] if self.steps else None

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        flaw = flaw_of_numbers(self.steps, 1 + len(self.additional))
        if flaw is not None:
            return flaw
        try:
            constraints = constraints_of(law, self.p, self.additional)
        except InvalidInput as error:
            return str(error)
        if math.isinf(self.reach):
            return self._flaw_of_certainty(constraints)
        return self._flaw_of_steps(law, constraints)

    def _flaw_of_certainty(self, constraints: Sequence[Constraint]) -> str | None:
        """An infinite radius: a class that is right almost everywhere under a law of full support
        is right."""
        multipliers = gathered(constraints, self.steps[0].multipliers)
        sure = [each.full_support and each.lower == 1 for each in constraints]
        holds = multipliers is not None and bool(np.any(np.array(sure) & (multipliers == np.inf)))
        holds = holds and len(self.steps) == 1 and self.steps[0].dual_bound <= 1
        return None if holds else "an infinite radius needs a class that is never wrong"

    def _flaw_of_steps(
        self, law: GeneralizedGaussian, constraints: Sequence[Constraint]
    ) -> str | None:
        """What is wrong with the steps: a bound that does not hold, or a gap between them."""
        problem = problem_of(law, constraints)
        covered = False
        for n, step in enumerate(self.steps):
            at = f"the step at {step.radius!r}"
            multipliers = gathered(constraints, step.multipliers)
            if multipliers is None:
                return f"{at} has a multiplier for an interval that says nothing"
            if not 0 < step.radius < math.inf:
                return f"{at} has no length"
            value = bound_at(law, problem, multipliers, step.radius)
            if not value > 0.5:
                return f"{at} proves {value:.12g} only"
            if value > LARGEST_BOUND:
                return f"{at} proves more than 1: no classifier has these probabilities"
            # The radius was rounded after its bound had been evaluated.
            if not step.dual_bound <= value + HIDDEN:
                return f"{at} claims {step.dual_bound!r}, but proves {value!r}"
            # Steps below a solid one are not needed, but what they claim must hold.
            covered = covered or value - loss_at_shorter_shifts(problem, multipliers) > 0.5
            if covered:
                continue
            below = self.steps[n + 1].radius if n + 1 < len(self.steps) else 0.0
            gap = (step.radius - below) / law.scale * (1 + CLAIM_ROUNDING)
            if not total_variation(problem, gap) < value - 0.5:
                return f"{at} does not reach down to {below!r}"
        return None


class Search(NamedTuple):
    """What a search for a dual proof ended with."""

    proof: Dual
    decided: bool  # whether more could not have been proved where there is no proof
    complete: bool  # whether every search was finished within its work


class _Best(NamedTuple):
    """The best steps so far, on constraints of their own."""

    steps: tuple[Step, ...] = ()
    decided: bool = True
    complete: bool = True
    work: float = SEARCH_WORK  # what is left for further searches

    @property
    def radius(self) -> float:
        return self.steps[0].radius if self.steps else 0.0


def find_dual(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> Search:
    """The largest l2 radius that can be proved from P_A in `p` and Q_A in each observation.

    With observations it is never smaller than without, and with several never smaller than with
    any one of them.
    """
    constraints = constraints_of(law, p, additional)
    own = constraints[0]
    alone = neyman_pearson(law, p.lower, len(additional))
    best = _Best(alone, work=SEARCH_WORK if len(constraints) <= 2 else SEARCH_WORK_OF_SEVERAL)
    if own.lower > p.lower:
        # P was observed again under another name.
        steps = neyman_pearson(law, own.lower, len(additional), own.lower_from)
        best = best._replace(steps=steps)
    for each in constraints[1:]:
        if each.full_support and each.lower == 1:
            # A class that is right almost everywhere under a law of full support is right.
            multipliers = spread([each], np.array([math.inf]), len(additional))
            best = best._replace(steps=(Step(math.inf, multipliers, 1.0),))
    least = _least_probability(p, additional)
    for group in _groups(constraints):
        # Where P_A itself may be 1/2 or less not even a shift of length 0 can be certified.
        if best.radius < math.inf and (least > 0.5 or len(constraints) > 2):
            last = len(group) == len(constraints) - 1
            best = _double_sampling(law, [own, *group], len(additional), best, last)
    proof = Dual(p, additional, best.steps)
    if law.k == 0 and law.m < 1 and best.radius < math.inf:
        proof = _confirmed(law, constraints, proof, Dual(p, additional, alone))
    return Search(proof, best.decided, best.complete)


def _confirmed(
    law: GeneralizedGaussian, constraints: Sequence[Constraint], proof: Dual, alone: Dual
) -> Dual:
    """The proof with the bounds that its check will evaluate, a little shorter if it must be.

    In two or three dimensions, with eta above d, a bound may change by 1e-6 from one radius to the
    next float: where its curve ends in a point it is charged with what the quadrature shows there.
    """
    problem = problem_of(law, constraints)
    for shorter in SHORTENINGS:
        steps = []
        for n, step in enumerate(proof.steps):
            radius = step.radius if n else step.radius * (1 - shorter)
            multipliers = gathered(constraints, step.multipliers)
            assert multipliers is not None, "the search used these constraints"
            bound = bound_at(law, problem, multipliers, radius)
            steps.append(Step(radius, step.multipliers, min(step.dual_bound, bound)))
        shortened = replace(proof, steps=tuple(steps))
        if shortened.flaw(law) is None:
            return shortened
    return alone


def _groups(constraints: Sequence[Constraint]) -> Iterator[Sequence[Constraint]]:
    """Which additional laws are tried together: each alone, perhaps in pairs, and all."""
    others = constraints[1:]
    yield from ([each] for each in others)
    if 2 < len(others) <= MOST_IN_PAIRS:
        yield from itertools.combinations(others, 2)
    if len(others) > 1:
        yield others


def _double_sampling(
    law: GeneralizedGaussian, constraints: Sequence[Constraint], count: int, best: _Best, last: bool
) -> _Best:
    """What P and these laws prove beyond `best`, or `best`; `last` may use up the work."""
    # Where other searches follow, none may use up what the last one needs.
    problem = problem_of(law, constraints, best.work if last else 0.5 * best.work)
    floor = best.radius
    surest = max(each.lower for each in constraints)
    guess = 0.0 if floor else max(float(special.ndtri(surest)), 0.0) * law.sigma / law.scale
    steps = np.empty((LONGEST_CHAIN, len(constraints) + 2))
    proved = searched(problem, 0.5, floor / law.scale, guess, steps)
    if proved.outcome == INFEASIBLE:
        raise InfeasibleBox("no classifier has probabilities inside all the given intervals")
    best = best._replace(
        complete=best.complete and proved.complete,
        work=best.work - float(problem.work[0]),
        decided=best.decided and proved.outcome != UNDECIDED,
    )
    proof = tuple(
        Step(
            rounded_radius(law, float(step[0])),
            spread(constraints, step[2:], count),
            float(step[1]),
        )
        for step in steps[: proved.steps]
    )
    if not proof or proof[0].radius <= best.radius:
        return best
    if floor > 0 and not proved.solid:
        # The chain of hollow steps ends where the proof of the floor takes over.
        proof += best.steps
    return best._replace(steps=proof)


def _least_probability(p: Interval, additional: Sequence[Observation]) -> float:
    """The lower end of P_A that the intervals imply; 1 where it is not known: no closed form.

    Raises where an interval of Q_A leaves no P_A in `p`.
    """
    least, known = p.lower, True
    for seen in additional:
        q = seen.interval
        p_least, p_most = seen.law.p_range(q.lower, q.upper)
        least, known = max(least, p_least), known and (p_least, p_most) != (0, 1)
        if p.upper < p_least - FEASIBILITY_SLACK or p.lower > p_most + FEASIBILITY_SLACK:
            raise InfeasibleBox(
                f"no classifier has P_A in [{p.lower:.6g}, {p.upper:.6g}] and Q_A in "
                f"[{q.lower:.6g}, {q.upper:.6g}] under Q {seen.law.describe()}: this Q_A allows "
                f"P_A in [{p_least:.6g}, {p_most:.6g}] only"
            )
    return least if known else 1.0

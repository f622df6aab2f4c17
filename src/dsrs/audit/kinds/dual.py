"""The kind `dual`: intervals of P_A and of the class under additional laws, and dual bounds.

Weak duality (docs/math.md 2): at every step B > 1/2. Either the first step covers all shorter
shifts, or the next one begins where its total variation ends (docs/math.md 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dsrs.audit.balls import exact
from dsrs.audit.claims import Claim, Interval, Step
from dsrs.audit.kinds.steps import (
    Evaluation,
    Proof,
    demand_above,
    demand_multipliers,
    demand_reach,
)
from dsrs.audit.limits import Budget
from dsrs.audit.reading import Fields, field, only
from dsrs.audit.variation import total_variation
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import Law


@dataclass(frozen=True, slots=True)
class Observed:
    """The interval of the class's probability under an additional law, which is kept as JSON."""

    law: Mapping[str, Any]
    interval: Interval

    @classmethod
    def read(cls, fields: Any) -> Observed:
        """An observation from a JSON object."""
        law, interval = field(fields, "law", dict), field(fields, "q", list)
        only(fields, ("law", "q"), "an additional law")
        return cls(law, Interval.read(interval, "q"))


@dataclass(frozen=True, slots=True)
class Dual(Proof):
    """Intervals and steps; a step has a multiplier for P and for each additional law."""

    p: Interval
    additional: tuple[Observed, ...]
    steps: tuple[Step, ...]

    @classmethod
    def read(cls, fields: Fields) -> Dual:
        only(fields, ("kind", "p", "additional", "steps"), "a dual proof")
        return cls(
            Interval.read(field(fields, "p", list), "p"),
            tuple(map(Observed.read, field(fields, "additional", list))),
            tuple(map(Step.read, field(fields, "steps", list))),
        )

    @property
    def p_lower(self) -> float | None:
        return None if self.p.says_nothing else self.p.lower

    @property
    def lower_bounds(self) -> tuple[Fraction, ...]:
        ends = [(Fraction(each.lower), 1 - Fraction(each.upper)) for each in self.intervals]
        return tuple(bound for pair in ends for bound in pair)

    @property
    def uses_p_alone(self) -> bool:
        return not any(self.steps[0].multipliers[1:])

    @property
    def laws(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(observed.law for observed in self.additional)

    @property
    def intervals(self) -> list[Interval]:
        """The interval of P_A, then those of the additional laws."""
        return [self.p, *(observed.interval for observed in self.additional)]

    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        demand_multipliers(self.steps, 1 + len(self.additional))
        laws = evaluation.laws_of(self.laws)
        if math.isinf(claim.radius):
            self._never_wrong(laws)
            return
        demand_reach(claim, self.steps[0])
        covered = False
        for n, step in enumerate(self.steps):
            below = self.steps[n + 1].radius if n + 1 < len(self.steps) else 0.0
            if not below < step.radius < math.inf:
                raise Refuted("the steps of the proof do not descend")
            covered = self._step(step, below, laws, evaluation, covered)

    def _step(
        self, step: Step, below: float, laws: tuple[Law, ...], evaluation: Evaluation, covered: bool
    ) -> bool:
        """Check a step; whether it, or one before it, covers all shorter shifts."""
        bounded = evaluation.bound(step, laws, self.intervals, 0.5)
        value, at = bounded.value, f"the step at {step.radius!r}"
        demand_above(value, 0.5, at)
        if covered:
            return True
        shape = evaluation.shape(bounded.mixture, step)
        shorter = None if shape.rise is None else value - shape.rise - bounded.innermost
        if shorter is not None and shorter > 0.5:
            return True
        gap = exact(Fraction(step.radius) - Fraction(below))
        left = value - total_variation(evaluation.shells, gap, Budget())
        what = f"{at}, down to {below!r},"
        if not left > 0.5:
            if shorter is not None:
                demand_above(shorter, 0.5, f"{at}, for shorter shifts,")
            if not shape.hollow:
                raise Undecided(f"{what} is not shown to cover shorter shifts")
            demand_above(left, 0.5, what)
        return False

    def _never_wrong(self, laws: tuple[Law, ...]) -> None:
        """A class of probability 1 under a law of full support has it at every shift."""
        (step, *more) = self.steps
        sure = [
            interval.lower == 1 and law.full_support and value == math.inf
            for interval, law, value in zip(self.intervals, laws, step.multipliers, strict=True)
        ]
        if more or not any(sure) or not step.bound <= 1:
            raise Refuted("an infinite radius needs a class that is never wrong under a law")

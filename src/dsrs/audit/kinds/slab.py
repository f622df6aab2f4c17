"""The kind `slab`: bounds of P_A and of its gradient under Gaussian noise (docs/math.md 12)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dsrs.audit.balls import exact
from dsrs.audit.claims import Claim, Step
from dsrs.audit.kinds.steps import Evaluation, Proof, demand_above, demand_multipliers, demand_reach
from dsrs.audit.reading import Fields, number, only, optional
from dsrs.audit.slab_bound import slab_bound
from dsrs.audit.verdicts import Refuted


@dataclass(frozen=True, slots=True)
class Slab(Proof):
    """P_A is at least `lower`, and sigma |grad P_A| at most `gradient`."""

    lower: float
    gradient: float
    steps: tuple[Step, ...]

    @classmethod
    def read(cls, fields: Fields) -> Slab:
        only(fields, ("kind", "p_lower", "gradient", "step"), "a first-order proof")
        step = optional(fields, "step", dict)
        proof = cls(
            number(fields, "p_lower"),
            number(fields, "gradient"),
            () if step is None else (Step.read(step),),
        )
        if not (0 <= proof.lower <= 1 and proof.gradient >= 0):
            raise Refuted(f"{proof.lower!r} and {proof.gradient!r} are no such bounds")
        return proof

    @property
    def p_lower(self) -> float | None:
        return self.lower

    @property
    def lower_bounds(self) -> tuple[Fraction, ...]:
        return (Fraction(self.lower),)

    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        if not evaluation.shells.gaussian:
            raise Refuted("a first-order proof is for Gaussian noise alone")
        demand_multipliers(self.steps, 2)
        (step,) = self.steps
        demand_reach(claim, step)
        if not all(map(math.isfinite, step.multipliers)):
            raise Refuted("a multiplier of a first-order proof is infinite")
        ratio = exact(step.radius) / evaluation.shells.sigma
        value = slab_bound(self.lower, self.gradient, step.multipliers, ratio)
        evaluation.compare(step, value)
        demand_above(value, 0.5, f"the step at {step.radius!r}")

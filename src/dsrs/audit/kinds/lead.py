"""The kind `lead`: the class leads every rival, though it may have no majority (docs/math.md 11).

Let the class have probability at least `lower` and every other one at most `rival`, under one law.
One step bounds the class from below, the other the event that the answer is not some rival; where
the two add up to more than 1 the class leads. After double sampling both have bounds under P as
well, and a step uses both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dsrs.audit.balls import arb
from dsrs.audit.claims import Claim, Interval, Step
from dsrs.audit.kinds.steps import (
    Evaluation,
    Proof,
    demand_above,
    demand_multipliers,
    demand_reach,
)
from dsrs.audit.reading import Fields, field, number, numbers, only, optional
from dsrs.audit.verdicts import Refuted, Undecided


@dataclass(frozen=True, slots=True)
class Lead(Proof):
    """Both bounds hold under the additional law `q`, or under P where it is None; `p` has the two
    under P beside those under `q`."""

    lower: float
    rival: float
    q: Mapping[str, Any] | None
    steps: tuple[Step, ...]
    p: tuple[float, float] | None = None

    @classmethod
    def read(cls, fields: Fields) -> Lead:
        only(fields, ("kind", "lower", "rival", "q", "steps", "p"), "a lead")
        under_p = optional(fields, "p", list)
        if under_p is not None and len(numbers(under_p, "p")) != 2:
            raise Refuted("the bounds under P must be two numbers")
        proof = cls(
            number(fields, "lower"),
            number(fields, "rival"),
            optional(fields, "q", dict),
            tuple(map(Step.read, field(fields, "steps", list))),
            None if under_p is None else (float(under_p[0]), float(under_p[1])),
        )
        for lower, rival in ((proof.lower, proof.rival), proof.p or (0.0, 1.0)):
            if not (0 <= lower <= 1 and 0 <= rival <= 1):
                raise Refuted(f"{lower!r} and {rival!r} are no bounds of probabilities")
        if proof.p is not None and proof.q is None:
            raise Refuted("bounds under P beside those of another law need that law")
        return proof

    @property
    def p_lower(self) -> float | None:
        if self.p is not None:
            return self.p[0]
        return self.lower if self.q is None else None

    @property
    def lower_bounds(self) -> tuple[Fraction, ...]:
        pairs = ((self.lower, self.rival), self.p or (0.0, 1.0))
        return tuple(b for low, rival in pairs for b in (Fraction(low), 1 - Fraction(rival)))

    @property
    def laws(self) -> tuple[Mapping[str, Any], ...]:
        return () if self.q is None else (self.q,)

    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        if len(self.steps) != 2:
            raise Refuted("a lead is proved by two steps")
        demand_multipliers(self.steps, 1 if self.p is None else 2)
        laws = evaluation.laws_of(self.laws)
        together = arb(0)
        lowers = (self.lower, _complement(self.rival))
        under_p = (0.0, 0.0) if self.p is None else (self.p[0], _complement(self.p[1]))
        for own, lower, p_lower in zip(self.steps, lowers, under_p, strict=True):
            demand_reach(claim, own)
            # Under an additional law alone nothing is known of P, and its multiplier is 0.
            alone = self.q is not None and self.p is None
            step = replace(own, multipliers=(0.0, *own.multipliers)) if alone else own
            intervals = [*([Interval(p_lower, 1.0)] * len(self.laws)), Interval(lower, 1.0)]
            bounded = evaluation.bound(step, laws, intervals, 0.0)
            shape = evaluation.shape(bounded.mixture, step)
            if shape.rise is None:
                word = Refuted if shape.hollow else Undecided
                raise word("a step of a lead is not shown to cover shorter shifts")
            together += bounded.value - shape.rise - bounded.innermost
        demand_above(together, 1.0, "the two bounds together")


def _complement(rival: float) -> float:
    """Return 1 - rival, rounded down: a lower bound of Pr[some class but the rival]."""
    left = 1 - rival
    return left if Fraction(left) + Fraction(rival) <= 1 else math.nextafter(left, 0.0)

"""The kind `norm-dual`: lower bounds of P_A and of the class under other laws, for noise that is
round in l1 or l-infinity, and one step (the proof is in `audit/overlap.py`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dsrs.audit.claims import Claim
from dsrs.audit.kinds.dual import Dual
from dsrs.audit.kinds.steps import Evaluation, demand_above, demand_multipliers, demand_reach
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import Law


@dataclass(frozen=True, slots=True)
class NormDual(Dual):
    """Upper ends of the intervals have no part in it: no multiplier is negative."""

    norms: ClassVar[tuple[str, ...]] = ("l1", "linf")

    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        demand_multipliers(self.steps, 1 + len(self.additional))
        if len(self.steps) != 1:
            raise Refuted(f"a proof of this kind has one step, got {len(self.steps)}")
        (step,) = self.steps
        demand_reach(claim, step)
        if not all(0 <= value < math.inf for value in step.multipliers):
            raise Refuted("a multiplier of this kind of proof is negative or infinite")
        laws = evaluation.laws_of(self.laws)
        for value, law in zip(step.multipliers, laws, strict=True):
            if value > 0:
                _demand_falling(law, evaluation.shells)
        # The step covers all shorter shifts: the worst one grows with its length.
        bounded = evaluation.bound(step, laws, self.intervals, 0.5)
        demand_above(bounded.value, 0.5, f"the step at {step.radius!r}")


def _demand_falling(law: Law, shells: Shells) -> None:
    """Raise unless the density of a law is shown not to rise with the norm.

    It is t^(-kappa) e^(-t) times the weight of its one piece: its slope in ln t is
    slope - kappa - t (1 + excess).
    """
    first, *more = law.pieces
    if more or first.start is not None:
        raise Undecided("in this norm this check knows truncated and rescaled laws only")
    if not (first.slope <= shells.kappa and 1 + first.excess >= 0):
        raise Undecided("the density of an additional law is not shown to fall with the norm")

"""What proofs from intervals of P_A and Q_A hold, in whatever norm they prove a radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dsrs.proofs.base import Claim, Proof, Step
from dsrs.proofs.interval import Interval, Observation


@dataclass(frozen=True, slots=True)
class OfIntervals(Proof):
    """P_A lies in `p`, Q_A in each additional interval; the steps prove a majority."""

    p: Interval
    additional: tuple[Observation, ...] = ()
    steps: tuple[Step, ...] = ()

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

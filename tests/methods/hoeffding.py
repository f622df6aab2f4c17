"""A method in a file of its own, to walk through the door for new ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dsrs.methods import Entry, Method, Want, certify_or_abstain
from dsrs.noise import Stream
from dsrs.proofs import Certificate, Interval
from dsrs.votes import ESTIMATION, SampledInput


@dataclass(frozen=True, slots=True)
class Hoeffding(Method):
    """n votes under P; Pr[P_A < share - sqrt(ln(1/alpha) / 2n)] <= alpha (Hoeffding 1963)."""

    def want(self, seen: SampledInput) -> Want | None:
        lacking = seen.taken(Stream(ESTIMATION, self.plan.law)) < self.plan.n
        return Want(Stream(ESTIMATION, self.plan.law), self.plan.n) if lacking else None

    def certificate(self, seen: SampledInput) -> Certificate:
        votes = seen.first(Stream(ESTIMATION, self.plan.law), self.plan.n)
        slack = math.sqrt(-math.log(self.plan.alpha) / (2 * votes.total))
        lower = max(0.0, votes.successes / votes.total - slack)
        return certify_or_abstain(self.plan.law, Interval(lower, 1.0))


ENTRY = Entry("hoeffding", "Hoeffding", "all votes under P, Hoeffding's lower bound", Hoeffding)

"""Landscape: all votes choose a law for later runs, and certify nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dsrs.methods.base import Method, Want
from dsrs.proofs import Certificate, abstention
from dsrs.votes import SELECTION, SampledInput


@dataclass(frozen=True, slots=True)
class LandscapeVotes(Method):
    """n votes under P that `dsrs tune` chooses from; an abstention.

    The votes have the purpose `selection`, which is part of the key of their noise. Every bound
    rests on votes of another purpose, so no law is ever certified by the votes that chose it,
    whichever law and seed are used later.
    """

    def want(self, seen: SampledInput) -> Want | None:
        stream, votes = self.under_p(SELECTION), max(self.plan.n, self.plan.n0)
        return None if seen.taken(stream) >= votes else Want(stream, votes)

    def certificate(self, seen: SampledInput) -> Certificate:
        return self.on_grid(abstention(self.plan.law), seen)

"""Neyman-Pearson: all votes under P, one lower bound of P_A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dsrs.methods.base import Want
from dsrs.methods.one_bound import Estimation, OneBound
from dsrs.votes.records import ESTIMATION, SELECTION, SampledInput

NEYMAN_PEARSON = "np"


@dataclass(frozen=True, slots=True)
class NeymanPearson(OneBound):
    """n votes under P; see one_bound.py for alpha."""

    help: ClassVar[str] = "all votes under P, one lower bound: the usual certificate"

    def estimation(self, seen: SampledInput) -> Estimation | Want:
        # Whether to compare the class with every other one is decided by selection votes.
        selection = self.under_p(SELECTION)
        if self.plan.classes == "all" and not seen.taken(selection):
            return Want(selection, self.plan.n0)
        return Estimation(self.under_p(ESTIMATION), self.plan.n)

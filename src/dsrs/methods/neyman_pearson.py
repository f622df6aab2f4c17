"""Neyman-Pearson: all votes under P, one lower bound of P_A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dsrs.confidence import clopper_pearson_lower
from dsrs.landscape import Profile, expected_hits, misses_by_shell, neyman_pearson_radius, shells_of
from dsrs.laws import GeneralizedGaussian
from dsrs.methods.base import Floats, Want
from dsrs.methods.one_bound import Estimation, OneBound
from dsrs.votes import ESTIMATION, SELECTION, SampledInput


@dataclass(frozen=True, slots=True)
class NeymanPearson(OneBound):
    """n votes under P; see one_bound.py for alpha."""

    quick_forecast: ClassVar[bool] = True

    def estimation(self, seen: SampledInput) -> Estimation | Want:
        # Whether to compare the class with every other one is decided by selection votes.
        selection = self.under_p(SELECTION)
        if self.plan.classes == "all" and not seen.taken(selection):
            return Want(selection, self.plan.n0)
        return Estimation(self.under_p(ESTIMATION), self.plan.n)

    def forecast(self, profiles: Sequence[Profile]) -> Floats:
        plan = self.plan
        return expected_radii(misses_by_shell(profiles, plan.law), plan.law, plan.n, plan.alpha)


def expected_radii(misses: Floats, law: GeneralizedGaussian, n: int, alpha: float) -> Floats:
    """The radii that n votes are expected to prove, for each row of misses by shell of P."""
    hits = expected_hits(misses @ shells_of(law).mass, n)
    unproved = 1 - np.asarray(clopper_pearson_lower(hits, n, alpha))
    return neyman_pearson_radius(law, unproved)

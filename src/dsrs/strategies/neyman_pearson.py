"""Neyman-Pearson: all votes under P, one lower bound of P_A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dsrs.confidence import clopper_pearson_lower
from dsrs.records import Certificate, Interval
from dsrs.strategies.base import Strategy, Want, abstention, certify_or_abstain
from dsrs.strategies.futility import given_up, looks
from dsrs.votes import ESTIMATION, SampledInput

NEYMAN_PEARSON = "np"


def neyman_pearson_interval(successes: int, trials: int, alpha: float) -> Interval:
    """One lower bound that takes all of alpha.

    The certificate is wrong only if P_A < lower, which has probability at most alpha by Clopper
    and Pearson.
    """
    return Interval(clopper_pearson_lower(successes, trials, alpha), 1.0)


@dataclass(frozen=True, slots=True)
class NeymanPearson(Strategy):
    """n votes under P; see `neyman_pearson_interval` for alpha."""

    help: ClassVar[str] = "all votes under P, one lower bound: the usual certificate"

    def want(self, seen: SampledInput) -> Want | None:
        plan = self.plan
        taken = seen.taken(ESTIMATION, None)
        if taken >= plan.n or (plan.early_stop and given_up(seen, None, plan.n)):
            return None
        ends = looks(plan.n) if plan.early_stop else [plan.n]
        return Want(ESTIMATION, None, next(end for end in ends if end > taken))

    def certificate(self, seen: SampledInput) -> Certificate:
        plan = self.plan
        if plan.early_stop and given_up(seen, None, plan.n):
            return abstention(plan.law)
        votes = seen.first(ESTIMATION, None, plan.n)
        p = neyman_pearson_interval(votes.successes, votes.total, plan.alpha)
        return certify_or_abstain(plan.law, p)

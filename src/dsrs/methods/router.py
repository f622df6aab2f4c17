"""The router of a routed model: which share of alpha it has against each rival, and its bounds.

Why alpha holds, and what may depend on what, stands in routed.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods.comparing import rivals_left
from dsrs.methods.experts import router_stream
from dsrs.methods.looks import schedule
from dsrs.methods.plan import Plan
from dsrs.proofs.lead import Rivalry
from dsrs.votes.records import ESTIMATION, SampledInput

# The looks before the last are looked at again with each new one.
_lower = lru_cache(maxsize=4096)(clopper_pearson_lower)
_upper = lru_cache(maxsize=4096)(clopper_pearson_upper)


@dataclass(frozen=True, slots=True)
class Rival:
    """How a rival of the named expert is dealt with.

    Args:
        router_alpha: the share of alpha of the router's bound.
        alpha: the share of the rival's own certificate; 0 for a plain model.
        leads: whether the router is compared with this rival alone, or needs a majority.
    """

    router_alpha: float
    alpha: float
    leads: bool


def rivals_of(plan: Plan, expert: int) -> dict[int, Rival]:
    """How each rival of an expert is dealt with: fixed by the plan, before all votes.

    Router and rival have half of alpha each; the router has all of it against a plain model, of
    which nothing can be proved. Between two experts a majority is as good as a lead, and has one
    bound instead of two.
    """
    leads = len(plan.experts) > 2 and plan.law.measured_in == "l2"
    half = plan.alpha / 2
    return {
        j: Rival(plan.alpha, 0.0, leads) if law is None else Rival(half, half, leads)
        for j, law in enumerate(plan.experts)
        if j != expert
    }


def preference(seen: SampledInput, plan: Plan, expert: int, j: int, rival: Rival) -> Rivalry:
    """What the router's votes say of the named expert and of its rival j, at all looks so far."""
    stream = router_stream(plan, ESTIMATION)
    ends, lower, upper = set(seen.ends(stream)), 0.0, 1.0
    for look in schedule(plan.n, rival.router_alpha, plan.batch):
        if look.votes not in ends:
            continue
        votes = seen.first(stream, look.votes)
        share = look.alpha / 2 if rival.leads else look.alpha
        lower = max(lower, _lower(votes.counts[expert], votes.total, share))
        if rival.leads:
            upper = min(upper, _upper(votes.counts[j], votes.total, share))
    return Rivalry(lower, rivals_left(lower, upper))

"""Whether a class is to be compared with every other one, decided by selection votes.

The votes that decide are independent of those that bounds rest on, so the decision costs no alpha.
"""

from __future__ import annotations

from scipy import special

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods.bounds import most_of_others
from dsrs.methods.plan import Plan
from dsrs.noise import Stream
from dsrs.votes import SELECTION, SampledInput, Votes

RIVAL_DOUBT = 0.1  # how the share of a rival among selection votes is rounded up


def comparing_advised(seen: SampledInput, plan: Plan) -> bool:
    """Whether the selection votes advise to compare the class with every other one.

    The first n0 of them decide (to the end of a unit): other methods may ask for more later,
    and what was decided once must stay.
    """
    selection = Stream(SELECTION, plan.law)
    ends = [end for end in seen.ends(selection) if end >= plan.n0]
    if plan.classes == "top" or not ends:
        return False
    votes = seen.first(selection, min(ends))
    return comparing_pays(votes, most_of_others(votes, seen), plan)


def comparing_pays(votes: Votes, rivals: int, plan: Plan) -> bool:
    """Whether bounds on the rivals promise more than a majority, by the Gaussian's radii."""
    share = votes.successes / votes.total
    rival = clopper_pearson_upper(rivals, votes.total, RIVAL_DOUBT)
    hits, rivals = int(share * plan.n), min(plan.n, int(rival * plan.n) + 1)
    half = plan.alpha / 2
    alone = special.ndtri(clopper_pearson_lower(hits, plan.n, plan.alpha))
    lower = special.ndtri(clopper_pearson_lower(hits, plan.n, half))
    upper = special.ndtri(clopper_pearson_upper(rivals, plan.n, half))
    return bool(0.5 * (lower - upper) > alone)

"""When to stop taking votes of an input, and whether to compare its class with every other one.

None of this costs alpha: votes that choose are independent of those that bounds rest on, bounds
hold at every look, and an input that is given up is abstained on, which is never wrong.
"""

from __future__ import annotations

import functools
import math

from scipy import special, stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods.base import Look, most_of_others
from dsrs.methods.plan import Plan
from dsrs.noise import Stream
from dsrs.proofs import Interval, Observation, certify
from dsrs.votes import SELECTION, SampledInput, Votes

# ---- Whether to compare the class with every other one, decided by selection votes

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


# ---- Giving up on inputs that cannot be certified any more

# An input is given up when, at this confidence, its class has no majority. It decides how often a
# certifiable input is lost, and has no part in alpha.
FUTILITY = 1e-3
FIRST_LOOK = 1024


def hopeless(successes: int, trials: int) -> bool:
    """True when the class is, at confidence 1 - FUTILITY, below one half.

    Stopping costs no alpha, at any number of looks and by any rule. Couple the run with the one
    that takes the same votes and never stops: it issues the same certificate whenever this run
    issues one, and where this run stops it abstains, which is never wrong. So
    {wrong certificate} is part of the failure of the run that never stops. The rule only decides
    how often an input with P_A > 1/2 is given up: at most FUTILITY at each look.
    """
    return trials > 0 and clopper_pearson_upper(successes, trials, FUTILITY) <= 0.5


def numbers_of_looks(n: int) -> list[int]:
    """Numbers of votes after which an early stop is considered, ending with n: 1024, 2048, ..."""
    ends = []
    end = FIRST_LOOK
    while end < n:
        ends.append(end)
        end *= 2
    return [*ends, n]


def given_up(seen: SampledInput, stream: Stream, n: int) -> bool:
    """Whether the votes of a stream showed at some look before n that it is hopeless."""
    for end in set(numbers_of_looks(n)).intersection(seen.ends(stream)):
        votes = seen.first(stream, end)
        if hopeless(votes.successes, votes.total):
            return True
    return False


# ---- When the answer is known: which radius is still worth votes, and whether it can be reached
#
# Stopping early never costs alpha: bounds hold at every look. Giving up a radius that could have
# been reached costs a part of the answer, with probability at most GIVING_UP at each look.

# Chosen by measurement: `benchmarks/fewest_votes.py`.
GIVING_UP = 0.01


def out_of_reach(hits: int, votes: int, last: Look, needed: float) -> bool:
    """Whether the last look will hardly show a lower bound of `needed`.

    The class is given its benefit of doubt: the upper bound at GIVING_UP of its probability.
    """
    most = clopper_pearson_upper(hits, votes, GIVING_UP)
    missing = hits_needed(last.votes, last.alpha, needed) - hits
    left = last.votes - votes
    if missing > left:
        return True
    return missing > 0 and float(stats.binom.sf(missing - 1, left, most)) <= GIVING_UP


def no_lead(hits: int, rivals: int, votes: int, scores: float) -> bool:
    """Whether the class hardly leads its most frequent rival by so many normal scores.

    Both have their benefit of doubt: the upper and the lower bound at GIVING_UP.
    """
    most = special.ndtri(clopper_pearson_upper(hits, votes, GIVING_UP))
    least = special.ndtri(clopper_pearson_lower(rivals, votes, GIVING_UP))
    return bool(most - least <= scores)


@functools.lru_cache(maxsize=4096)
def hits_needed(votes: int, alpha: float, needed: float) -> int:
    """The least number of hits whose lower bound reaches `needed`; votes + 1 if none does."""
    low, high = 0, votes + 1
    while high - low > 1:
        middle = (low + high) // 2
        if clopper_pearson_lower(middle, votes, alpha) >= needed:
            high = middle
        else:
            low = middle
    return high


@functools.lru_cache(maxsize=4096)
def bound_needed(stream: Stream, radius: float) -> float:
    """About the lower bound of the class's probability in a stream that proves `radius`.

    It decides when to stop, never what is claimed: radii come from `certify`. Radii are nearly
    straight in the normal score of the bound, so false position finds it in a few certificates.
    """
    law = stream.base
    if stream.additional is None and law.is_gaussian:
        return float(special.ndtr(radius / law.sigma))
    low, high = 0.0, 12.0
    low_miss, high_miss = -radius, math.inf
    score = min(radius / law.sigma, 6.0)
    for _ in range(25):
        proved = _proved(stream, float(special.ndtr(score)))
        if abs(proved - radius) < 1e-4 * radius:
            break
        if proved < radius:
            low, low_miss = score, proved - radius
        else:
            high, high_miss = score, proved - radius
        straight = math.isfinite(high_miss) and high_miss > low_miss
        step = (
            low + (high - low) * (-low_miss) / (high_miss - low_miss) if straight else score * 1.5
        )
        # Kept off the ends, or false position creeps.
        score = min(max(step, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        if high - low < 1e-5:
            break
    return float(special.ndtr(score))


def _proved(stream: Stream, lower: float) -> float:
    known = Interval(lower, 1.0)
    if stream.additional is None:
        return certify(stream.base, known).radius
    return certify(stream.base, Interval(0.0, 1.0), Observation(stream.additional, known)).radius

"""One lower bound from one stream of votes, perhaps at looks on the way, perhaps with a bound of
every rival: what the methods `np` and `tailored` share (docs/votes.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dsrs.audit.counts import STANDARD_NORMAL, rough_lower, rough_upper
from dsrs.audit.kinds import Lead
from dsrs.audit.methods.ballots import ESTIMATION, SELECTION, Ballots, Count
from dsrs.audit.methods.context import VoteContext, demand_bounds
from dsrs.audit.methods.plan import Plan
from dsrs.audit.reading import Fields
from dsrs.audit.verdicts import Refuted, Undecided

# The looks of adaptive runs, fixed before the votes.
LOOK_GROWTH, LAST_LOOK_SHARE = 1.15, 0.6
RIVAL_DOUBT = 0.1  # at which the share of a rival among selection votes is rounded up
NEARLY_WHOLE = 1e-6  # numbers of votes this close to a whole one may be rounded either way
NEARLY_EQUAL = 1e-9  # normal scores this close decide nothing


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a stream: the number of votes, and the part of alpha that its bound has."""

    votes: int
    alpha: Fraction


def looks_of(plan: Plan, votes: int) -> list[Look]:
    """The looks at a stream of at most `votes` votes; their parts add up to alpha."""
    batch, end = plan.batch, plan.batch
    ends: list[int] = []
    while plan.adaptive and end < votes:
        ends.append(end)
        end = max(end + batch, math.ceil(end * LOOK_GROWTH / batch) * batch)
    if not ends:
        return [Look(votes, plan.exact_alpha)]
    last = Fraction(LAST_LOOK_SHARE * plan.alpha)
    early = (plan.exact_alpha - last) / len(ends)
    return [*(Look(end, early) for end in ends), Look(votes, last)]


def counted_at(
    looks: list[Look], ballots: Ballots, law: Fields | None
) -> list[tuple[Count, Fraction]]:
    """What the estimation votes of a stream came to at the looks that it has, and their parts of
    alpha."""
    ends = ballots.ends(ESTIMATION, law)
    return [
        (ballots.first(ESTIMATION, law, look.votes), look.alpha)
        for look in looks
        if look.votes in ends
    ]


def check_one_bound(seen: VoteContext, law: Fields | None, votes: int) -> None:
    """Raise unless the bounds follow from at most `votes` estimation votes under `law`."""
    proof = seen.proof
    if isinstance(proof, Lead) != (law is None and comparing_pays(seen)):
        raise Refuted("the selection votes chose the other form of certificate")
    if isinstance(proof, Lead):
        lower, rival = proof.lower, proof.rival
        if proof.q is not None or proof.p is not None:
            raise Refuted("the additional law is not the one that was sampled")
    else:
        lower, rival = seen.only_interval(law).lower, None
    reached = counted_at(looks_of(seen.plan, votes), seen.ballots, law)
    if not reached:
        raise Refuted("the votes do not reach any look")
    counted = [(count, count.rivals, alpha) for count, alpha in reached]
    demand_bounds(lower, rival, counted, seen.charge(law))


def comparing_pays(seen: VoteContext) -> bool:
    """Whether the selection votes promise more from bounds of the rivals, by the Gaussian's
    radii. Undecided where rounding decides."""
    plan, ballots = seen.plan, seen.ballots
    ends = [end for end in ballots.ends(SELECTION, None) if end >= plan.n0]
    if plan.classes == "top" or not ends:
        return False
    count = ballots.first(SELECTION, None, min(ends))
    expected = rough_upper(count.rivals, count.total, RIVAL_DOUBT) * plan.n
    hits = int(count.hits / count.total * plan.n)
    gains = [
        _gain(hits, min(plan.n, int(rivals) + 1), plan)
        for rivals in (expected - NEARLY_WHOLE, expected + NEARLY_WHOLE)
    ]
    if any(abs(gain) < NEARLY_EQUAL for gain in gains) or (gains[0] > 0) != (gains[1] > 0):
        raise Undecided("the selection votes hardly decide between two forms of certificate")
    return gains[0] > 0


def _gain(hits: int, rivals: int, plan: Plan) -> float:
    """By how many normal scores a comparison promises more than a majority."""
    n, half = plan.n, plan.alpha / 2
    if hits == 0 or rivals == n:
        return -math.inf  # nothing is known of the class, or of its rivals
    alone = _score(rough_lower(hits, n, plan.alpha))
    lower, upper = _score(rough_lower(hits, n, half)), _score(rough_upper(rivals, n, half))
    return 0.5 * (lower - upper) - alone


def _score(probability: float) -> float:
    return STANDARD_NORMAL.inv_cdf(min(max(probability, 1e-300), 1 - 1e-16))

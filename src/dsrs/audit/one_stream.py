"""Methods that estimate under one law: Neyman-Pearson, tailored, and first order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from dsrs.audit.ballots import ESTIMATION, SELECTION
from dsrs.audit.balls import exact
from dsrs.audit.counts import Answer, lower_holds, rough_lower, rough_upper, upper_holds
from dsrs.audit.findings import Refuted, Undecided
from dsrs.audit.gradient import gradient_bound, held_by
from dsrs.audit.law_text import canonical
from dsrs.audit.vote_context import VoteContext, demand

# The looks of adaptive runs, fixed before the votes (docs/votes.md).
GROWTH, LAST_SHARE = 1.15, 0.6
DOUBT = 0.1
NORMAL_UNITS = 2**24  # sums of noise are whole numbers of this part of 1
SEARCHED = 1e-6  # how well the best deviation of a gradient is found, of its size


@dataclass(frozen=True, slots=True)
class Look:
    """After so many votes there is a bound at this part of alpha."""

    votes: int
    alpha: Fraction


def looks_of(plan: Mapping[str, Any], votes: int) -> list[Look]:
    """The looks at a stream of at most `votes` votes; their parts add up to alpha."""
    alpha = Fraction(plan["alpha"])
    asked = plan["radius"] is not None or plan["radii"] or plan["precision"] is not None
    batch, end, ends = plan["batch"], plan["batch"], []
    while asked and end < votes:
        ends.append(end)
        end = max(end + batch, math.ceil(end * GROWTH / batch) * batch)
    if not ends:
        return [Look(votes, alpha)]
    last = Fraction(LAST_SHARE * plan["alpha"])
    early = (alpha - last) / len(ends)
    return [*(Look(each, early) for each in ends), Look(votes, last)]


def check_one_bound(seen: VoteContext) -> None:
    """One lower bound, perhaps looked at early; perhaps an upper one of every rival."""
    claim, ballots = seen.claim, seen.ballots
    law, votes = None, seen.plan["n"]
    if seen.text == "tailored":
        pilot = ballots.taken(SELECTION, None)
        if seen.text not in ballots.choices or not pilot:
            raise Refuted("no pilot votes chose a law")
        law, votes = ballots.choices[seen.text], votes - pilot
        if canonical(law) == ("truncated", 1.0):
            law = None  # P itself
    interval = seen.only_interval(law)
    looks = looks_of(seen.plan, votes)
    if sum(look.alpha for look in looks) > Fraction(seen.plan["alpha"]):
        raise Refuted("the parts of alpha add up to more than alpha")
    reached = [look for look in looks if look.votes in ballots.ends(ESTIMATION, law)]
    if not reached:
        raise Refuted("the votes do not reach any look")
    leads = claim.rival is not None
    if leads != (law is None and _comparing_pays(seen)):
        raise Refuted("the selection votes chose the other form of certificate")
    charge, parts = seen.charge(law), 2 if leads else 1
    lowers: list[Answer] = []
    rivals: list[Answer] = []
    for look in reached:
        count = ballots.first(ESTIMATION, law, look.votes)
        rest = (look.alpha / parts, claim.uniform, charge)
        lowers.append(lower_holds(interval.lower, count.hits, count.total, *rest))
        if claim.rival is not None:
            rivals.append(upper_holds(claim.rival, count.rivals, count.total, *rest))
            # What the class leaves bounds its rivals too.
            left = 1 - exact(claim.rival)
            rivals.append(lower_holds(left, count.hits, count.total, *rest))
    demand(lowers, f"the lower bound {interval.lower!r}")
    if claim.rival is not None:
        demand(rivals, f"the bound {claim.rival!r} of the rivals")


def _comparing_pays(seen: VoteContext) -> bool:
    """Whether the selection votes promise more from bounds of the rivals, by the Gaussian's
    radii."""
    plan, ballots = seen.plan, seen.ballots
    ends = [end for end in ballots.ends(SELECTION, None) if end >= plan["n0"]]
    if plan["classes"] == "top" or not ends:
        return False
    count, n, half = ballots.first(SELECTION, None, min(ends)), plan["n"], plan["alpha"] / 2
    hits = int(count.hits / count.total * n)
    rivals = min(n, int(rough_upper(count.rivals, count.total, DOUBT) * n) + 1)
    alone = _score(rough_lower(hits, n, plan["alpha"]))
    lower, upper = _score(rough_lower(hits, n, half)), _score(rough_upper(rivals, n, half))
    gain = 0.5 * (lower - upper) - alone
    if abs(gain) < 1e-9:
        raise Undecided("the selection votes hardly decide between two forms of certificate")
    return gain > 0


def check_first_order(seen: VoteContext) -> None:
    """Half of alpha for P_A, a quarter for each deviation of the gradient."""
    claim, n, alpha = seen.claim, seen.plan["n"], Fraction(seen.plan["alpha"])
    interval, charge = seen.only_interval(None), seen.charge(None)
    count = seen.ballots.first(ESTIMATION, None, n)
    answer = lower_holds(interval.lower, count.hits, count.total, alpha / 2, None, charge)
    demand([answer], f"the lower bound {interval.lower!r}")
    if claim.gradient is None:
        return
    slope = count.slope
    if slope is None or slope["split"] != n // 2:
        raise Refuted("the noise of the votes was not added up in halves")
    needed = gradient_bound(
        slope["first_norm"],
        slope["product"],
        (slope["split"], n - slope["split"]),
        1 - exact(interval.lower),
        exact(alpha / 2),
        exact(claim.d).sqrt() / NORMAL_UNITS,
    )
    needed += held_by(charge)
    if exact(claim.gradient) < needed * (1 - exact(SEARCHED)):
        raise Refuted(f"the gradient {claim.gradient!r} does not follow from the votes")
    if not exact(claim.gradient) >= needed:
        raise Undecided(f"the gradient may be {float(needed)!r}, not {claim.gradient!r}")


def _score(probability: float) -> float:
    return NormalDist().inv_cdf(min(max(probability, 1e-300), 1 - 1e-16))

"""The methods that are laws Q: intervals of P_A and Q_A, the fall-back to P, and a ball of P's own
votes (docs/votes.md)."""

from __future__ import annotations

from fractions import Fraction

from dsrs.audit.balls import exact
from dsrs.audit.counts import fallback_holds
from dsrs.audit.kinds import Lead
from dsrs.audit.law_text import alike, canonical, law_of_text
from dsrs.audit.methods.ballots import ESTIMATION
from dsrs.audit.methods.context import VoteContext, demand, demand_both, demand_bounds
from dsrs.audit.methods.one_bound import comparing_pays
from dsrs.audit.reading import Fields
from dsrs.audit.verdicts import Refuted

BINS = 64  # of the norms of votes, each with as much of P


def check_double_sampling(seen: VoteContext) -> None:
    """Raise unless two-sided intervals hold, `alpha_share` of alpha for P's, the rest for Q's; or,
    where the selection votes say so, bounds of the class and of its rivals."""
    plan, ballots = seen.plan, seen.ballots
    p_alpha = Fraction(plan.alpha * plan.alpha_share)
    q_alpha = plan.exact_alpha - p_alpha
    if not (p_alpha > 0 and q_alpha > 0):
        raise Refuted("the parts of alpha add up to more than alpha")
    share = _ball_of(seen)
    if share is not None:
        _check_ball(seen, share, p_alpha, q_alpha)
        return
    if isinstance(seen.proof, Lead) != comparing_pays(seen):
        raise Refuted("the selection votes chose the other form of certificate")
    if isinstance(seen.proof, Lead):
        _check_lead(seen, seen.proof, p_alpha, q_alpha)
        return
    proof = seen.dual()
    first = ballots.first(ESTIMATION, None, plan.first_votes)
    charge = seen.charge(None)
    if plan.fallback and first.hits == first.total:
        lower = seen.only_interval(None).lower
        both = ballots.first(ESTIMATION, None, plan.n)
        more = (both.hits - first.hits, both.total - first.total)
        answer = fallback_holds(lower, first.total, *more, p_alpha / 2, charge)
        demand([answer], f"the lower bound {lower!r} after the fall-back")
        return
    demand_both(proof.p, first.hits, first.total, p_alpha, charge, "P_A")
    if len(proof.additional) > 1:
        raise Refuted("a method has one additional law")
    for observed in proof.additional:
        _check_law(seen, observed.law)
        votes = ballots.first(ESTIMATION, observed.law, plan.n - plan.first_votes)
        charge = seen.charge(observed.law)
        demand_both(observed.interval, votes.hits, votes.total, q_alpha, charge, "Q_A")


def _check_lead(seen: VoteContext, proof: Lead, p_alpha: Fraction, q_alpha: Fraction) -> None:
    """Raise unless the bounds of the class and of every rival hold, at half of each part of alpha.

    A wrong lead needs a miss of the class's bounds or of those of one fixed rival (docs/math.md
    11)."""
    if proof.q is None or proof.p is None:
        raise Refuted("a lead of double sampling has bounds under P and under its law")
    _check_law(seen, proof.q)
    plan = seen.plan
    for law, (lower, rival), votes, alpha in (
        (None, proof.p, plan.first_votes, p_alpha),
        (proof.q, (proof.lower, proof.rival), plan.n - plan.first_votes, q_alpha),
    ):
        count = seen.ballots.first(ESTIMATION, law, votes)
        demand_bounds(lower, rival, [(count, count.rivals, alpha)], seen.charge(law))


def _check_law(seen: VoteContext, law: Fields) -> None:
    """Raise unless the law is the one that the plan names, or that was chosen before its votes."""
    chosen = seen.ballots.choice(seen.text)
    if chosen is not None:
        if canonical(chosen) != canonical(law):
            raise Refuted("the additional law is not the one that was chosen")
        if seen.plan != seen.sampled:
            return  # it was chosen at the alpha of the run that took the votes
    named = law_of_text(seen.text, seen.shells, seen.proof.p_lower or 0.0)
    if not alike(named, law):
        raise Refuted(f"the additional law is not {seen.text}")


def _ball_of(seen: VoteContext) -> float | None:
    """The share of P in the ball whose votes are taken, where the law has no votes of its own."""
    kind, _, value = seen.text.partition(":")
    if seen.text in seen.sampled.methods or kind != "truncated":
        return None
    try:
        share = float(value)
    except ValueError:
        return None
    law = {"kind": "truncated", "percentile": share}
    own = seen.ballots.ends(ESTIMATION, law)
    return share if not own and (share * BINS).is_integer() else None


def _check_ball(seen: VoteContext, share: float, p_alpha: Fraction, q_alpha: Fraction) -> None:
    """Check votes of a ball: those under P that fell into it are votes under P truncated to it."""
    proof, sampled = seen.dual(), seen.sampled
    if [canonical(law) for law in proof.laws] != [("truncated", share)]:
        raise Refuted(f"the additional law is not {seen.text}")
    under_p = sampled.n if "np" in sampled.methods else sampled.first_votes
    votes, charge = seen.ballots.first(ESTIMATION, None, under_p), seen.charge(None)
    demand_both(proof.p, votes.hits, votes.total, p_alpha, charge, "P_A")
    if len(votes.trials_by_bin) != BINS:
        raise Refuted(f"the norms of votes are in {len(votes.trials_by_bin)} bins, not {BINS}")
    bins = round(share * BINS)
    inside, hits = sum(votes.trials_by_bin[:bins]), sum(votes.hits_by_bin[:bins])
    interval = proof.additional[0].interval
    if inside == 0 and not interval.says_nothing:
        raise Refuted("no votes fell into the ball")
    if inside:
        # A share: of the ball's mass, which is off by as much as that of the hits in it.
        charge = charge * 2 / exact(share)
        demand_both(interval, hits, inside, q_alpha, charge, "Q_A")

"""The bounds of a certificate from the votes of a run: which votes, at which part of alpha.

docs/votes.md and docs/math.md 11 say why each rule keeps its alpha. Here it is shown that the
bounds of a certificate are the ones that its rule gives, or weaker.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from dsrs.audit.ballots import Ballots, Count
from dsrs.audit.balls import precision
from dsrs.audit.claims import Claim, Interval
from dsrs.audit.counts import (
    Answer,
    fallback_holds,
    lower_holds,
    rough_lower,
    rough_upper,
    upper_holds,
)
from dsrs.audit.findings import Refuted, Undecided
from dsrs.audit.law_text import alike, canonical, law_of_text
from dsrs.audit.shells import Shells

ESTIMATION, SELECTION = "estimation", "selection"
# The looks of adaptive runs, fixed before the votes (docs/votes.md).
GROWTH, LAST_SHARE = 1.15, 0.6
DOUBT = 0.1
BINS = 64


@dataclass(frozen=True, slots=True)
class Look:
    """After so many votes there is a bound at this part of alpha."""

    votes: int
    alpha: Fraction


def looks_of(plan: Mapping[str, Any], votes: int) -> list[Look]:
    """The looks at a stream of at most `votes` votes; their parts add up to alpha at most."""
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


class BoundsAudit:
    """Checks the bounds of one certificate of a run; raises Refuted or Undecided."""

    def __init__(
        self,
        plan: Mapping[str, Any],
        sampled: Mapping[str, Any],
        method: str,
        votes: Mapping[str, Any],
    ) -> None:
        self.plan, self.sampled = plan, sampled
        self.method, self.votes = method, votes

    def __call__(self, claim: Claim) -> None:
        self.text = _text_of(self.method, self.plan["methods"])
        with precision():
            self._check(claim)

    def _check(self, claim: Claim) -> None:
        plan, law = self.plan, self.plan["law"]
        own = (claim.d, claim.sigma, claim.k, claim.eta)
        if own != (law["d"], law["sigma"], law["k"], law.get("eta", 2.0)):
            raise Refuted("the smoothing law is not the one that was sampled")
        short = plan["radius"] is not None and claim.radius < plan["radius"]
        if (claim.status == "short") != short:
            raise Refuted(f"status {claim.status}, and a radius of {plan['radius']} was asked for")
        ballots = Ballots(self.votes)
        ballots.check_class(plan["target"])
        self._check_uniform(claim, ballots)
        nothing = all(seen.interval.says_nothing for seen in claim.additional)
        if claim.radius == 0 and claim.p.says_nothing and nothing:
            return  # an abstention
        if claim.gradient is not None:
            raise Undecided("an audit does not count the votes behind a bound of the gradient")
        if self.text in ("np", "tailored"):
            self._one_bound(claim, ballots)
        else:
            self._double_sampling(claim, ballots)

    def _check_uniform(self, claim: Claim, ballots: Ballots) -> None:
        if (self.plan["bound"] == "randomized") != (claim.uniform is not None):
            raise Refuted("a uniform number belongs to randomized bounds, and to no others")
        if claim.uniform is not None:
            name = f"uniform {self.plan['seed']} {ballots.index} {self.text}"
            word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
            if claim.uniform != (word + 0.5) / 2**64:
                raise Refuted("the uniform number is not the one that the seed gives")

    def _one_bound(self, claim: Claim, ballots: Ballots) -> None:
        """One stream, one lower bound; perhaps an upper one of every rival."""
        law, votes = None, self.plan["n"]
        if self.text == "tailored":
            pilot = ballots.taken(SELECTION, None)
            if self.text not in ballots.choices or not pilot:
                raise Refuted("no pilot votes chose a law")
            law, votes = ballots.choices[self.text], votes - pilot
            if canonical(law) == ("truncated", 1.0):
                law = None  # P itself
        interval = self._only_interval(claim, law)
        looks = looks_of(self.plan, votes)
        reached = [look for look in looks if look.votes in ballots.ends(ESTIMATION, law)]
        if sum(look.alpha for look in looks) > Fraction(self.plan["alpha"]):
            raise Refuted("the parts of alpha add up to more than alpha")
        if not reached:
            raise Refuted("the votes do not reach any look")
        leads = claim.rival is not None
        if leads != self._compares_all(ballots, law):
            raise Refuted("the selection votes chose the other form of certificate")
        counts = [(ballots.first(ESTIMATION, law, look.votes), look) for look in reached]
        parts = 2 if leads else 1
        _demand(
            [
                lower_holds(
                    interval.lower, seen.hits, seen.total, look.alpha / parts, claim.uniform
                )
                for seen, look in counts
            ],
            f"the lower bound {interval.lower!r}",
        )
        if claim.rival is not None and Fraction(claim.rival) + Fraction(interval.lower) < 1:
            _demand(
                [
                    upper_holds(
                        claim.rival, seen.rivals, seen.total, look.alpha / parts, claim.uniform
                    )
                    for seen, look in counts
                ],
                f"the bound {claim.rival!r} of the rivals",
            )

    def _only_interval(self, claim: Claim, law: Mapping[str, Any] | None) -> Interval:
        """The interval of the law that was estimated; nothing may be said of any other."""
        if law is None:
            found, others = claim.p, [seen.interval for seen in claim.additional]
        else:
            if len(claim.additional) != 1 or canonical(claim.additional[0].law) != canonical(law):
                raise Refuted("the additional law is not the one that was sampled")
            found, others = claim.additional[0].interval, [claim.p]
        if found.upper != 1 or not all(other.says_nothing for other in others):
            raise Refuted("a bound that no votes were taken for")
        return found

    def _compares_all(self, ballots: Ballots, law: Mapping[str, Any] | None) -> bool:
        """Whether the selection votes promise more from bounds of the rivals, by the Gaussian's
        radii."""
        plan = self.plan
        ends = [end for end in ballots.ends(SELECTION, None) if end >= plan["n0"]]
        if plan["classes"] == "top" or law is not None or not ends:
            return False
        seen, n, half = ballots.first(SELECTION, None, min(ends)), plan["n"], plan["alpha"] / 2
        hits = int(seen.hits / seen.total * n)
        rivals = min(n, int(rough_upper(seen.rivals, seen.total, DOUBT) * n) + 1)
        alone = _score(rough_lower(hits, n, plan["alpha"]))
        lower, upper = _score(rough_lower(hits, n, half)), _score(rough_upper(rivals, n, half))
        gain = 0.5 * (lower - upper) - alone
        if abs(gain) < 1e-9:
            raise Undecided("the selection votes hardly decide between two forms of certificate")
        return gain > 0

    def _double_sampling(self, claim: Claim, ballots: Ballots) -> None:
        """Two-sided intervals of P_A and Q_A, or the fall-back."""
        plan = self.plan
        p_alpha = Fraction(plan["alpha"] * plan["alpha_share"])
        q_alpha = Fraction(plan["alpha"]) - p_alpha
        if not (p_alpha > 0 and q_alpha > 0):
            raise Refuted("the parts of alpha add up to more than alpha")
        if self._is_ball(ballots):
            self._ball(claim, ballots, p_alpha, q_alpha)
            return
        n_first = round(plan["n"] * plan["sample_share"])
        first = ballots.first(ESTIMATION, None, n_first)
        if plan["fallback"] and first.hits == first.total:
            interval = self._only_interval(claim, None)
            both = ballots.first(ESTIMATION, None, plan["n"])
            more = both.total - first.total
            answer = fallback_holds(
                interval.lower, first.total, both.hits - first.hits, more, p_alpha / 2
            )
            _demand([answer], f"the lower bound {interval.lower!r} after the fall-back")
            return
        _two_sided(claim.p, first.hits, first.total, p_alpha, "P_A")
        for seen in claim.additional:
            self._check_law(seen.law, claim, ballots)
            votes = ballots.first(ESTIMATION, seen.law, plan["n"] - n_first)
            _two_sided(seen.interval, votes.hits, votes.total, q_alpha, "Q_A")
        if len(claim.additional) > 1:
            raise Refuted("a method has one additional law")

    def _check_law(self, law: Mapping[str, Any], claim: Claim, ballots: Ballots) -> None:
        """The law is the one that the plan names, or that was chosen before its votes."""
        chosen = ballots.choices.get(self.text)
        if chosen is not None:
            if canonical(chosen) != canonical(law):
                raise Refuted("the additional law is not the one that was chosen")
            if self.plan != self.sampled:
                return  # it was chosen at the alpha of the run that took the votes
        shells = Shells(claim.d, claim.sigma, claim.k, claim.eta)
        named = law_of_text(self.text, shells, claim.sigma, claim.p.lower)
        if named is None or not alike(named, law):
            raise Refuted(f"the additional law is not {self.text}")

    def _is_ball(self, ballots: Ballots) -> bool:
        """Whether the law has no votes of its own, and those under P in a ball are taken."""
        kind, _, value = self.text.partition(":")
        if self.text in self.sampled["methods"] or kind != "truncated":
            return False
        try:
            share = float(value)
        except ValueError:
            return False
        law = {"kind": "truncated", "percentile": share}
        return not ballots.ends(ESTIMATION, law) and (share * BINS).is_integer()

    def _ball(self, claim: Claim, ballots: Ballots, p_alpha: Fraction, q_alpha: Fraction) -> None:
        """Votes under P that fell into the ball are votes under P truncated to it."""
        share = float(self.text.partition(":")[2])
        if [canonical(seen.law) for seen in claim.additional] != [("truncated", share)]:
            raise Refuted(f"the additional law is not {self.text}")
        sampled = self.sampled
        n = sampled["n"]
        under_p = n if "np" in sampled["methods"] else round(n * sampled["sample_share"])
        votes = ballots.first(ESTIMATION, None, under_p)
        _two_sided(claim.p, votes.hits, votes.total, p_alpha, "P_A")
        inside, hits = _inside(votes, round(share * BINS))
        interval = claim.additional[0].interval
        if inside == 0 and not interval.says_nothing:
            raise Refuted("no votes fell into the ball")
        if inside:
            _two_sided(interval, hits, inside, q_alpha, "Q_A")


def _inside(votes: Count, bins: int) -> tuple[int, int]:
    return sum(votes.trials_by_bin[:bins]), sum(votes.hits_by_bin[:bins])


def _two_sided(interval: Interval, hits: int, trials: int, alpha: Fraction, what: str) -> None:
    lower = lower_holds(interval.lower, hits, trials, alpha / 2)
    upper = upper_holds(interval.upper, hits, trials, alpha / 2)
    _demand([lower], f"the lower end {interval.lower!r} of {what}")
    _demand([upper], f"the upper end {interval.upper!r} of {what}")


def _demand(answers: Sequence[Answer], what: str) -> None:
    """Some look must give the bound."""
    if "yes" in answers:
        return
    if "unknown" in answers:
        raise Undecided(f"{what} is too close to what the votes give")
    raise Refuted(f"{what} does not follow from the votes at its part of alpha")


def _score(probability: float) -> float:
    return NormalDist().inv_cdf(min(max(probability, 1e-300), 1 - 1e-16))


def _text_of(method: str, methods: Sequence[str]) -> str:
    """The method of a plan whose certificates have this name."""
    for text in methods:
        kind = text.partition(":")[0]
        alone = sum(other.partition(":")[0] == kind for other in methods) == 1
        if method == (kind if alone else text):
            return text
    raise Refuted(f"the plan has no method {method!r}")

"""What the checks of bounds share: a claim, its votes, the plan that took them, and its charges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dsrs.audit.ballots import Ballots
from dsrs.audit.balls import arb
from dsrs.audit.claims import Claim, Interval
from dsrs.audit.counts import Answer, lower_holds, upper_holds
from dsrs.audit.findings import Refuted, Undecided
from dsrs.audit.grid_charge import variation
from dsrs.audit.law_text import canonical
from dsrs.audit.shells import Shells

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VoteContext:
    """A certificate of a run: `plan` made it, `sampled` took the votes; `text` is its method."""

    plan: Fields
    sampled: Fields
    text: str
    claim: Claim
    ballots: Ballots
    shells: Shells

    def charge(self, law: Fields | None) -> arb:
        """What a bound under a law is charged for noise in double precision; None is P."""
        if self.plan["grid"] is None:
            return arb(0)
        claim = self.claim
        return variation(self.shells, law, claim.sigma, claim.eta, self.plan["grid"]["step"])

    def only_interval(self, law: Fields | None) -> Interval:
        """The interval of the law that was estimated; nothing may be said of any other."""
        claim = self.claim
        if law is None:
            found, others = claim.p, [seen.interval for seen in claim.additional]
        else:
            if len(claim.additional) != 1 or canonical(claim.additional[0].law) != canonical(law):
                raise Refuted("the additional law is not the one that was sampled")
            found, others = claim.additional[0].interval, [claim.p]
        if found.upper != 1 or not all(other.says_nothing for other in others):
            raise Refuted("a bound that no votes were taken for")
        return found


def demand_both(
    interval: Interval, hits: int, trials: int, alpha: Fraction, charge: arb, what: str
) -> None:
    """Both ends of an interval, half of alpha each."""
    lower = lower_holds(interval.lower, hits, trials, alpha / 2, None, charge)
    upper = upper_holds(interval.upper, hits, trials, alpha / 2, None, charge)
    demand([lower], f"the lower end {interval.lower!r} of {what}")
    demand([upper], f"the upper end {interval.upper!r} of {what}")


def demand(answers: Sequence[Answer], what: str) -> None:
    """Some look must give the bound."""
    if "yes" in answers:
        return
    if "unknown" in answers:
        raise Undecided(f"{what} is too close to what the votes give")
    raise Refuted(f"{what} does not follow from the votes at its part of alpha")

"""What the checks of all methods share: a claim, its votes, the plan that took them, charges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dsrs.audit.balls import arb
from dsrs.audit.claims import Claim, Interval
from dsrs.audit.counts import Answer, lower_holds, upper_holds
from dsrs.audit.grid_charge import variation
from dsrs.audit.kinds import Dual, Proof
from dsrs.audit.law_text import canonical
from dsrs.audit.methods.ballots import Ballots
from dsrs.audit.methods.plan import Plan
from dsrs.audit.reading import Fields
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided


@dataclass(frozen=True, slots=True)
class VoteContext:
    """A certificate of a run.

    plan: the plan that made the certificate.
    sampled: the plan that took the votes; another one only where a run was certified again.
    text: its method, as the plan writes it.
    """

    plan: Plan
    sampled: Plan
    text: str
    claim: Claim
    proof: Proof
    ballots: Ballots
    shells: Shells

    def charge(self, law: Fields | None) -> arb:
        """What a bound under a law is charged for noise in double precision; None is P."""
        if self.plan.grid_step is None:
            return arb(0)
        claimed = self.claim.law
        return variation(self.shells, law, claimed.sigma, claimed.eta, self.plan.grid_step)

    def dual(self) -> Dual:
        """The proof, which must be of the kind that most methods make."""
        if not isinstance(self.proof, Dual):
            raise Refuted(f"the method {self.text} makes no proof of this kind")
        return self.proof

    def only_interval(self, law: Fields | None) -> Interval:
        """The interval of the law that was estimated; nothing may be said of any other."""
        proof = self.dual()
        if law is None:
            estimated, others = proof.p, [seen.interval for seen in proof.additional]
        else:
            if len(proof.additional) != 1 or canonical(proof.laws[0]) != canonical(law):
                raise Refuted("the additional law is not the one that was sampled")
            estimated, others = proof.additional[0].interval, [proof.p]
        if estimated.upper != 1 or not all(other.says_nothing for other in others):
            raise Refuted("a bound that no votes were taken for")
        return estimated


def demand_both(
    interval: Interval, hits: int, trials: int, alpha: Fraction, charge: arb, what: str
) -> None:
    """Raise unless both ends of an interval hold, at half of alpha each."""
    lower = lower_holds(interval.lower, hits, trials, alpha / 2, None, charge)
    upper = upper_holds(interval.upper, hits, trials, alpha / 2, None, charge)
    demand([lower], f"the lower end {interval.lower!r} of {what}")
    demand([upper], f"the upper end {interval.upper!r} of {what}")


def demand(answers: Sequence[Answer], what: str) -> None:
    """Raise unless one of the looks gives the bound."""
    if "yes" in answers:
        return
    if "unknown" in answers:
        raise Undecided(f"{what} is too close to what the votes give")
    raise Refuted(f"{what} does not follow from the votes at its part of alpha")

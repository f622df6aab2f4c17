"""What the checks of all methods share: a claim, its votes, the plan that took them, charges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dsrs.audit.balls import arb, exact
from dsrs.audit.claims import Claim, Interval
from dsrs.audit.counts import Answer, lower_holds, upper_holds
from dsrs.audit.grid_charge import variation
from dsrs.audit.kinds import Dual, Proof
from dsrs.audit.law_text import canonical
from dsrs.audit.methods.ballots import Ballots, Count
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

    @property
    def shells(self) -> Shells:
        """The smoothing law in balls."""
        return self.claim.law.shells()

    def charge(self, law: Fields | None) -> arb:
        """What a bound under a law is charged for noise in double precision; None is P."""
        if self.plan.grid_step is None:
            return arb(0)
        return variation(self.shells, law, self.plan.grid_step)

    def check_charge(self) -> None:
        """Raise unless every law that the proof names is charged for the grid, P as well."""
        grid, laws = self.claim.grid, (None, *self.proof.laws)
        if grid is not None and not all(self.charge(law) <= exact(grid.variation) for law in laws):
            raise Refuted(f"noise on this grid costs more than {grid.variation!r}")

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
    lower = lower_holds(interval.lower, hits, trials, alpha / 2, charge)
    upper = upper_holds(interval.upper, hits, trials, alpha / 2, charge)
    demand([lower], f"the lower end {interval.lower!r} of {what}")
    demand([upper], f"the upper end {interval.upper!r} of {what}")


def demand_bounds(
    lower: float,
    rival: float | None,
    counted: Iterable[tuple[Count, int, Fraction]],
    charge: arb,
    names: tuple[str, str] = ("", "the rivals"),
) -> None:
    """Raise unless the lower bound of the class holds and, where there is one, that of its rivals.

    `counted` has what a look counted, the votes of the rival among it, and the part of alpha, of
    which each of two bounds has half. `names` are whose bounds these are, for messages.
    """
    lowers: list[Answer] = []
    rivals: list[Answer] = []
    for count, others, alpha in counted:
        rest = (alpha if rival is None else alpha / 2, charge)
        lowers.append(lower_holds(lower, count.hits, count.total, *rest))
        if rival is not None:
            rivals.append(upper_holds(rival, others, count.total, *rest))
            # What the class leaves bounds its rivals too.
            rivals.append(lower_holds(1 - exact(rival), count.hits, count.total, *rest))
    demand(lowers, f"the lower bound {lower!r}{names[0]}")
    if rival is not None:
        demand(rivals, f"the bound {rival!r} of {names[1]}")


def demand(answers: Sequence[Answer], what: str) -> None:
    """Raise unless one of the looks gives the bound."""
    if "yes" in answers:
        return
    if "unknown" in answers:
        raise Undecided(f"{what} is too close to what the votes give")
    raise Refuted(f"{what} does not follow from the votes at its part of alpha")

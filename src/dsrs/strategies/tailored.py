"""Tailored: the pilot votes choose the law Q for this input, all other votes are under that Q."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dsrs.confidence import clopper_pearson_lower
from dsrs.landscape.pilot import next_pilot_size, tailored_law_from_votes
from dsrs.laws import AdditionalLaw, Truncated
from dsrs.records import Certificate, Interval, Observation
from dsrs.strategies.base import ANYTHING, Strategy, Want, certify_or_abstain
from dsrs.votes import ESTIMATION, SELECTION, SampledInput

TAILORED = "tailored"


@dataclass(frozen=True, slots=True)
class Tailored(Strategy):
    """A part of n under P chooses Q, the rest is under Q; one lower bound of Q_A takes all of alpha.

    Why alpha holds: the pilot votes (purpose `selection`) fix the class, the law Q and the number
    of further votes. Given the pilot these are constants, and the estimation votes are independent
    of it: Z of N hit, Binomial(N, Q_A). So Pr[Q_A < L(Z) | pilot] <= alpha by Clopper and Pearson,
    for every pilot, and the mean is at most alpha too. The certificate follows from Q_A >= L alone
    (docs/math.md 9): it is wrong only if that fails. A badly chosen Q costs radius, never truth.

    Where no law is better, Q is P, and this is Neyman-Pearson with a few votes less.
    """

    help: ClassVar[str] = "a few votes choose the best second law for the input, the rest are under it"

    def want(self, seen: SampledInput) -> Want | None:
        law = seen.choices.get(self.text)
        if law is None:
            return Want(SELECTION, None, self._pilot_size(seen))
        votes = self.plan.n - seen.taken(SELECTION, None)
        missing = seen.taken(ESTIMATION, _sampled(law)) < votes
        return Want(ESTIMATION, _sampled(law), votes) if missing else None

    def choose(self, seen: SampledInput) -> AdditionalLaw | None:
        taken = seen.taken(SELECTION, None)
        if taken == 0 or self._pilot_size(seen) > taken:
            return None
        pilot = seen.first(SELECTION, None, taken)
        plan = self.plan
        chosen = tailored_law_from_votes(
            plan.law, pilot.hits, pilot.trials, plan.n - taken, plan.alpha
        )
        return Truncated(plan.law, 1.0) if chosen is None else chosen

    def certificate(self, seen: SampledInput) -> Certificate:
        plan = self.plan
        law = seen.choices.get(self.text) or self.choose(seen) or Truncated(plan.law, 1.0)
        votes = seen.first(ESTIMATION, _sampled(law), plan.n - seen.taken(SELECTION, None))
        q = Interval(clopper_pearson_lower(votes.successes, votes.total, plan.alpha), 1.0)
        if _sampled(law) is None:
            return certify_or_abstain(plan.law, q)
        return certify_or_abstain(plan.law, ANYTHING, Observation(law, q))

    def _pilot_size(self, seen: SampledInput) -> int:
        """How many pilot votes there shall be, given those that there are."""
        taken = seen.taken(SELECTION, None)
        hits: tuple[int, ...] = ()
        trials: tuple[int, ...] = ()
        if taken:
            pilot = seen.first(SELECTION, None, taken)
            hits, trials = pilot.hits, pilot.trials
        return next_pilot_size(hits, trials, self.plan.n)


def _sampled(law: AdditionalLaw) -> AdditionalLaw | None:
    """The law as the sampler knows it: None is P itself."""
    return None if isinstance(law, Truncated) and law.percentile == 1 else law

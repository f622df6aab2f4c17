"""Double sampling: votes under P, then votes under an additional law Q; and the fall-back to P."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dsrs.confidence import AlphaBudget, clopper_pearson
from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.landscape import Profile, expected_hits, probability
from dsrs.laws import AdditionalLaw, Grid, chosen_from_votes, parse_additional_law
from dsrs.methods.base import (
    Event,
    Floats,
    Look,
    Method,
    PlannedBound,
    Side,
    Want,
    certify_or_abstain,
    planned,
)
from dsrs.methods.stopping import comparing_advised, given_up, numbers_of_looks
from dsrs.noise import Stream
from dsrs.proofs import (
    Certificate,
    Interval,
    Observation,
    Rivalry,
    abstention,
    certificate_of,
    find_lead,
)
from dsrs.votes import ESTIMATION, SELECTION, SampledInput, Votes


def double_sampling_alphas(alpha: float, alpha_share: float) -> tuple[float, float]:
    """The parts of alpha for P's interval and for Q's interval.

    X of n1 votes under P hit; the law Q = Q(X) may be chosen from them (the truncation heuristic
    does); then Z of n2 fresh votes under Q hit. Let a1 + a2 = alpha.
    - Pr[P_A not in I1(X)] <= a1 by Clopper and Pearson, two-sided.
    - Given X, the law Q(X) and its Q_A are fixed and Z is Binomial(n2, Q_A), because the votes
      under Q are independent of those under P. So Pr[Q_A not in I2(Z) | X] <= a2 for every X, and
      the mean over X is at most a2 too.
    Together the certificate is wrong with probability at most a1 + a2 = alpha. Choosing Q from Q's
    own votes would break the second step.
    """
    budget = AlphaBudget(alpha)
    p_alpha = budget.spend(alpha * alpha_share, "P_A, two-sided")
    return p_alpha, budget.spend(budget.remaining, "Q_A, two-sided")


@dataclass(frozen=True, slots=True)
class DoubleSampling(Method):
    """`n_first` votes under P, `n_second` under Q; see `double_sampling_alphas` for alpha.

    With `classes = all` the certificate may instead compare the class with every other one; the
    selection votes decide, which are independent of all others. The upper ends of the two
    intervals of the class then give their alpha to its rivals. Q may still be chosen from the votes
    under P: given these, its own votes are fresh. There is no fall-back and no futility then.
    """

    compares_classes: ClassVar[bool] = True

    def check_plan(self) -> None:
        plan = self.plan
        try:
            # A heuristic needs some lower bound of P_A to be read at all.
            law = parse_additional_law(self.text, plan.law, p_lower=0.5)
        except UnknownLaw as error:
            raise InvalidInput(str(error)) from None
        if plan.classes == "all" and not law.falls:
            raise InvalidInput(
                f"`classes` = all needs laws Q whose density falls with the norm, and {self.text} "
                "does not"
            )
        if isinstance(plan.grid, Grid):
            plan.grid.variation(law)  # refuses a law whose noise no grid can carry
        if not 0 < plan.n_first < plan.n:
            raise InvalidInput(
                f"`n` = {plan.n} votes cannot be split between P and Q with "
                f"`sample_share` = {plan.sample_share:g}; use more votes"
            )

    def want(self, seen: SampledInput) -> Want | None:
        plan, stream = self.plan, self.under_p(ESTIMATION)
        taken = seen.taken(stream)
        if plan.classes == "all" and not seen.taken(self.under_p(SELECTION)):
            return Want(self.under_p(SELECTION), plan.n0)
        leads = comparing_advised(seen, plan)
        stops = plan.early_stop and not leads
        if stops and given_up(seen, stream, plan.n_first):
            return None
        if taken < plan.n_first:
            ends = numbers_of_looks(plan.n_first) if stops else [plan.n_first]
            return Want(stream, next(end for end in ends if end > taken))
        first = seen.first(stream, plan.n_first)
        if not leads and self.falls_back(first):
            return Want(stream, plan.n) if taken < plan.n else None
        if stops and self.p_interval(seen).lower <= 0.5:
            # Without a proved majority under P, votes under Q cannot certify anything.
            return None
        law = self.law(seen)
        lacks = self.lacks_votes(seen, law)
        return Want(Stream(ESTIMATION, law), plan.n_second) if lacks else None

    def certificate(self, seen: SampledInput) -> Certificate:
        plan, stream = self.plan, self.under_p(ESTIMATION)
        if comparing_advised(seen, plan):
            return self._leading(seen)
        if plan.early_stop and given_up(seen, stream, plan.n_first):
            return self.on_grid(abstention(plan.law), seen)
        p = self.p_interval(seen)
        if self.falls_back(seen.first(stream, plan.n_first)):
            seen.first(stream, plan.n)  # which must be there
            return self.on_grid(certify_or_abstain(plan.law, Interval(p.lower, 1.0)), seen)
        law = self.law(seen)
        if p.lower <= 0.5 and self.lacks_votes(seen, law):
            # No vote under Q can help a class without a majority under P, so none was taken.
            return self.on_grid(abstention(plan.law, law), seen)
        seen.first(Stream(ESTIMATION, law), plan.n_second)
        q = Interval(*self.taken(seen)[2:])
        return self.on_grid(certify_or_abstain(plan.law, p, Observation(law, q)), seen)

    def bounds(self, seen: SampledInput) -> tuple[PlannedBound, ...]:
        plan, stream = self.plan, self.under_p(ESTIMATION)
        leads = comparing_advised(seen, plan)
        first = () if leads else self._of_p()
        p_alpha, q_alpha = double_sampling_alphas(plan.alpha, plan.alpha_share)
        sides: tuple[tuple[Event, Side], ...] = (("class", "lower"), ("class", "upper"))
        if leads:
            sides = (("class", "lower"), ("others", "lower"))
            first = planned(stream, [Look(plan.n_first, p_alpha)], p_alpha, *sides)
        knows = seen.taken(stream) >= plan.n_first
        under_q = Stream(ESTIMATION, self.law(seen)) if knows else None
        looks = [Look(plan.n_second, q_alpha)]
        return (*first, *planned(under_q, looks, q_alpha, *sides))

    def _of_p(self) -> tuple[PlannedBound, ...]:
        """Both bounds of P_A."""
        plan = self.plan
        p_alpha, _ = double_sampling_alphas(plan.alpha, plan.alpha_share)
        return planned(
            self.under_p(ESTIMATION),
            [Look(plan.n_first, p_alpha)],
            p_alpha,
            ("class", "lower"),
            ("class", "upper"),
            then=plan.n if plan.fallback else None,
        )

    def _leading(self, seen: SampledInput) -> Certificate:
        """The certificate that the class leads every rival."""
        plan, law = self.plan, self.law(seen)
        seen.first(self.under_p(ESTIMATION), plan.n_first)  # which must be there
        seen.first(Stream(ESTIMATION, law), plan.n_second)
        values = self.taken(seen)
        p, q = (Rivalry(low, self.rivals(low, others)) for low, others in (values[:2], values[2:]))
        proof = find_lead(plan.law, q.lower, q.rival, law, p)
        return self.on_grid(certificate_of(plan.law, proof), seen)

    def choose(self, seen: SampledInput) -> AdditionalLaw | None:
        ready = seen.taken(self.under_p(ESTIMATION)) >= self.plan.n_first
        return self.law(seen) if chosen_from_votes(self.text) and ready else None

    def law(self, seen: SampledInput) -> AdditionalLaw:
        """Q: as it was chosen when the votes were taken, or as the text says."""
        chosen = seen.choices.get(self.text)
        if isinstance(chosen, AdditionalLaw):
            return chosen
        lower = self.p_interval(seen).lower if chosen_from_votes(self.text) else None
        named = parse_additional_law(self.text, self.plan.law, lower)
        for votes in seen.votes:
            # The law of the run may be the same but for rounding: rescaled:0.8x, rescaled:0.4.
            sampled = votes.stream.additional
            if sampled is not None and sampled.resembles(named):
                return sampled
        return named

    def lacks_votes(self, seen: SampledInput, law: AdditionalLaw) -> bool:
        return seen.taken(Stream(ESTIMATION, law)) < self.plan.n_second

    def p_interval(self, seen: SampledInput) -> Interval:
        """Return the interval of P_A from the first votes; heuristics choose Q from it."""
        seen.first(self.under_p(ESTIMATION), self.plan.n_first)  # which must be there
        ends = []
        for bound in self._of_p():
            found = bound.take(seen)
            assert found is not None, "its only look was reached"
            ends.append(found.value)
        return self.charged(Interval(*ends), self.plan.law)

    def falls_back(self, first: Votes) -> bool:
        """Whether to go on under P instead of Q after these first votes."""
        return self.plan.fallback and first.successes == first.total

    def forecast(self, profiles: Sequence[Profile]) -> Floats:
        return np.array([self._expected_radius(profile) for profile in profiles])

    def _expected_radius(self, profile: Profile) -> float:
        """Half of the votes under P and half under Q, each bounded from both sides at alpha / 2."""
        law, n, alpha = self.plan.law, self.plan.n, self.plan.alpha
        first, second = (n + 1) // 2, n // 2
        p_hits = int(expected_hits(np.array(1 - probability(profile, law)), first))
        p = Interval(*clopper_pearson(p_hits, first, alpha / 2))
        q_law = parse_additional_law(self.text, law, p.lower)
        if p.lower <= 0.5 or second == 0:
            return 0.0
        q_hits = int(expected_hits(np.array(1 - probability(profile, q_law)), second))
        q = Interval(*clopper_pearson(q_hits, second, alpha / 2))
        # Rounded counts of a profile at the edge of what is possible contradict each other.
        return certify_or_abstain(law, p, Observation(q_law, q)).radius

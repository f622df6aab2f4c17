"""Tailored: the pilot votes choose the law Q for this input, all other votes are under that Q."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dsrs.landscape.pilot import PilotStep, pilot_step
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.methods.base import Want
from dsrs.methods.one_bound import Estimation, OneBound
from dsrs.noise.stream import NoiseLaw, Stream
from dsrs.votes.records import ESTIMATION, SELECTION, SampledInput

TAILORED = "tailored"


@dataclass(frozen=True, slots=True)
class Tailored(OneBound):
    """A part of n under P chooses Q, the rest is under Q; one lower bound takes all of alpha.

    Why alpha holds: the pilot votes (purpose `selection`) fix the class, the law Q and the number
    of further votes. Given the pilot these are constants, and the estimation votes are independent
    of it: Z of N hit, Binomial(N, Q_A). So Pr[Q_A < L(Z) | pilot] <= alpha by Clopper and Pearson,
    for every pilot, and the mean is at most alpha too. The certificate follows from Q_A >= L alone
    (docs/math.md 9): it is wrong only if that fails. A badly chosen Q costs radius, never truth.

    Where no law is better, Q is P, and this is Neyman-Pearson with a few votes less.
    """

    help: ClassVar[str] = "a few votes choose the best law Q for the input, the rest are under it"

    def estimation(self, seen: SampledInput) -> Estimation | Want:
        selection = self.under_p(SELECTION)
        pilot = seen.taken(selection)
        law = seen.choices.get(self.text)
        if law is None:
            step = self._step(seen)
            if step.more:
                return Want(selection, pilot + step.more)
            law = self._law(seen, step)
        return Estimation(Stream(ESTIMATION, law), self.plan.n - pilot)

    def choose(self, seen: SampledInput) -> NoiseLaw | None:
        if not seen.taken(self.under_p(SELECTION)):
            return None
        step = self._step(seen)
        return None if step.more else self._law(seen, step)

    def _law(self, seen: SampledInput, step: PilotStep) -> NoiseLaw:
        """The law that promises the largest radius; P where a class is to lead, not to rule."""
        law = None if step.choice is None else step.choice.law
        return self.plan.law if law is None or self.comparing_advised(seen) else law

    def _step(self, seen: SampledInput) -> PilotStep:
        """What the pilot votes so far advise."""
        plan, selection = self.plan, self.under_p(SELECTION)
        taken = seen.taken(selection)
        hits = trials = (0,) * HISTOGRAM_BINS
        if taken:
            pilot = seen.first(selection, taken)
            hits, trials = pilot.hits, pilot.trials
        return pilot_step(plan.law, plan.n, plan.alpha, hits, trials)

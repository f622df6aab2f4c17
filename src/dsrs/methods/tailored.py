"""Tailored: the pilot votes choose the law Q for this input, all other votes are under that Q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dsrs.errors import InvalidInput
from dsrs.landscape import (
    PilotStep,
    Profile,
    best_caps,
    longest_pilot,
    misses_by_shell,
    pilot_step,
    shells_of,
)
from dsrs.laws import HISTOGRAM_BINS
from dsrs.methods.base import Floats, Want
from dsrs.methods.comparing import comparing_advised
from dsrs.methods.neyman_pearson import expected_radii
from dsrs.methods.one_bound import Estimation, OneBound
from dsrs.noise import NoiseLaw, Stream
from dsrs.votes import ESTIMATION, SELECTION, SampledInput

LEAST_VOTES = 10  # for a pilot and for what it chooses
# Of the radius that the best law for the true profile has, a law chosen from pilot votes has about
# this share: 0.98 to 0.995 on the recorded models (`benchmarks/tailored.py`).
CHOSEN = 0.99


@dataclass(frozen=True, slots=True)
class Tailored(OneBound):
    """A part of n under P chooses Q, the rest is under Q; one lower bound takes all of alpha.

    Why alpha holds: the pilot votes (purpose `selection`) fix the class, the law Q and the number
    of further votes. Given the pilot these are constants, and the estimation votes are independent
    of it: Z of N hit, Binomial(N, Q_A). So Pr[Q_A < L(Z) | pilot] <= alpha by Clopper and Pearson,
    for every pilot, and the mean is at most alpha too. The certificate follows from Q_A >= L alone
    (docs/math.md 9): it is wrong only if that fails. A badly chosen Q costs radius, never truth.

    Where no law is better, Q is P, and this is Neyman-Pearson with a few votes less. Where the
    votes that choose the class (`n0`) would leave none of n, Q is P as well, and n further votes
    are taken under it: Neyman-Pearson.
    """

    quick_forecast: ClassVar[bool] = True

    def check_plan(self) -> None:
        if self.plan.n < LEAST_VOTES:
            raise InvalidInput(
                f"`n` = {self.plan.n} votes cannot be split into a pilot and the votes of its law; "
                f"tailored needs {LEAST_VOTES} or more"
            )

    def estimation(self, seen: SampledInput) -> Estimation | Want:
        selection = self.under_p(SELECTION)
        pilot = seen.taken(selection)
        law = seen.choices.get(self.text)
        if law is None:
            step = self._step(seen)
            if step.more:
                return Want(selection, pilot + step.more)
            law = self._law(seen, step)
        left = self.plan.n - pilot
        return Estimation(Stream(ESTIMATION, law), left if left > 0 else self.plan.n)

    def choose(self, seen: SampledInput) -> NoiseLaw | None:
        if not seen.taken(self.under_p(SELECTION)):
            return None
        step = self._step(seen)
        return None if step.more else self._law(seen, step)

    def _law(self, seen: SampledInput, step: PilotStep) -> NoiseLaw:
        """The law that promises the largest radius.

        P where a class is to lead, not to rule, and where the grid cannot carry the law's noise.
        """
        law, grid = step.law, self.plan.known_grid
        if law is None or comparing_advised(seen, self.plan):
            return self.plan.law
        return law if grid is None or grid.carries(law) else self.plan.law

    def _step(self, seen: SampledInput) -> PilotStep:
        """Return what the pilot votes so far advise: to stop, to go on, and under which law."""
        plan, selection = self.plan, self.under_p(SELECTION)
        taken = seen.taken(selection)
        if taken >= plan.n:
            return PilotStep(0, None)
        hits = trials = (0,) * HISTOGRAM_BINS
        if taken:
            pilot = seen.first(selection, taken)
            hits, trials = pilot.hits, pilot.trials
        return pilot_step(plan.law, plan.n, plan.alpha, hits, trials)

    def forecast(self, profiles: Sequence[Profile]) -> Floats:
        misses = misses_by_shell(profiles, self.plan.law)
        return np.array([self._expected_radius(row) for row in misses])

    def _expected_radius(self, misses: Floats) -> float:
        """What the best law for the profile certifies with the votes that the pilot leaves, less
        what choosing it from these costs; or P, if that is more, or too few votes allow no pilot.
        """
        law, n, alpha = self.plan.law, self.plan.n, self.plan.alpha
        shells = shells_of(law)
        left = n - longest_pilot(law, n, float(misses @ shells.mass))
        under_p = float(expected_radii(misses[None], law, left, alpha)[0])
        if left == n:
            return under_p
        return max(CHOSEN * law.sigma * best_caps(shells, misses, left, alpha)[0], under_p)

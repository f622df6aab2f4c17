"""Methods with one constraint: one stream of votes, one lower bound, perhaps looked at early.

Why alpha holds. The stream, its law and its length are fixed before its first vote (by the plan, or
by selection votes, which are independent of it). Looks and their parts of alpha are fixed as well
(`schedule`), so the bounds at all looks hold together except with probability alpha, and stopping
at any look by any rule is allowed.

With `classes = all` the certificate may instead compare the class with every other one: half of
each part of alpha goes to the class, half to all of its rivals (`PlannedBound`). Which of the two
forms is used is decided by selection votes, at no cost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.landscape import (
    PilotStep,
    Profile,
    best_caps,
    expected_hits,
    longest_pilot,
    misses_by_shell,
    neyman_pearson_radius,
    pilot_step,
    shells_of,
)
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian
from dsrs.methods.base import (
    Floats,
    Look,
    Method,
    PlannedBound,
    Want,
    certify_or_abstain,
    most_of_others,
    planned,
    schedule,
)
from dsrs.methods.stopping import (
    bound_needed,
    comparing_advised,
    given_up,
    no_lead,
    numbers_of_looks,
    out_of_reach,
)
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import (
    NOTHING_KNOWN,
    Certificate,
    Interval,
    Observation,
    abstention,
    certificate_of,
    find_lead,
)
from dsrs.votes import ESTIMATION, SELECTION, SampledInput


@dataclass(frozen=True, slots=True)
class Estimation:
    """The stream whose probability is bounded, and how many votes it has at most."""

    stream: Stream
    votes: int


@dataclass(frozen=True, slots=True)
class OneBound(Method):
    """A method that bounds the probability of the class under one law."""

    one_bound: ClassVar[bool] = True
    compares_classes: ClassVar[bool] = True

    @abstractmethod
    def estimation(self, seen: SampledInput) -> Estimation | Want:
        """The stream to estimate, or the selection votes that are needed to know it."""

    def want(self, seen: SampledInput) -> Want | None:
        asked = self.estimation(seen)
        if isinstance(asked, Want):
            return asked
        taken = seen.taken(asked.stream)
        if taken >= asked.votes or self._finished(seen, asked):
            return None
        ends = [look.votes for look in self.looks(asked)]
        if self.plan.early_stop:
            ends = sorted({*ends, *numbers_of_looks(asked.votes)})
        return Want(asked.stream, next(end for end in ends if end > taken))

    def certificate(self, seen: SampledInput) -> Certificate:
        asked, plan = self.estimation(seen), self.plan
        if isinstance(asked, Want):
            raise seen.lacks(asked.stream, asked.stop)
        if self._given_up(seen, asked):
            additional = asked.stream.additional
            found = abstention(plan.law, *(() if additional is None else (additional,)))
            found = self.on_grid(found, seen)
        elif self._reached(seen, asked):
            # Bounds hold at every look, also where another alpha would have gone on.
            found = self._proved(seen, asked)
        else:
            raise seen.lacks(asked.stream, asked.votes)
        short = plan.goal.radius is not None and found.radius < plan.goal.radius
        return replace(found, status="short" if short else found.status)

    def looks(self, asked: Estimation) -> tuple[Look, ...]:
        """When bounds are made, with their parts of alpha."""
        plan = self.plan
        if plan.goal.is_open:
            return (Look(asked.votes, plan.alpha),)
        return schedule(asked.votes, plan.alpha, plan.batch, plan.looks)

    def bounds(self, seen: SampledInput) -> tuple[PlannedBound, ...]:
        asked = self.estimation(seen)
        if isinstance(asked, Want):
            return ()
        looks, alpha = self.looks(asked), self.plan.alpha
        if self._compares_all(seen, asked):
            return planned(asked.stream, looks, alpha, ("class", "lower"), ("others", "lower"))
        return planned(asked.stream, looks, alpha, ("class", "lower"))

    def _reached(self, seen: SampledInput, asked: Estimation) -> list[Look]:
        ends = set(seen.ends(asked.stream))
        return [look for look in self.looks(asked) if look.votes in ends]

    def _given_up(self, seen: SampledInput, asked: Estimation) -> bool:
        leads = self._compares_all(seen, asked)
        return self.plan.early_stop and not leads and given_up(seen, asked.stream, asked.votes)

    def _finished(self, seen: SampledInput, asked: Estimation) -> bool:
        """Whether the answer is known, or no further look is likely to change it."""
        if self._given_up(seen, asked):
            return True
        goal, reached = self.plan.goal, self._reached(seen, asked)
        if goal.is_open or not reached:
            return False
        wanted = goal.next_radius(self._proved(seen, asked).radius)
        if wanted is None:
            return True
        votes = seen.first(asked.stream, reached[-1].votes)
        if self._compares_all(seen, asked):
            scores = 2 * wanted / self.plan.law.sigma if self.plan.law.is_gaussian else 0.0
            return no_lead(votes.successes, most_of_others(votes, seen), votes.total, scores)
        needed = bound_needed(asked.stream, wanted) if wanted > 0 else 0.5
        return out_of_reach(votes.successes, votes.total, self.looks(asked)[-1], needed)

    def _proved(self, seen: SampledInput, asked: Estimation) -> Certificate:
        """What the looks so far prove: the best of their bounds."""
        plan, stream = self.plan, asked.stream
        taken = self.taken(seen)
        known = Interval(taken[0], 1.0)
        if len(taken) == 2:
            rivals = self.rivals(taken[0], taken[1])
            proof = find_lead(plan.law, known.lower, rivals)
            return self.on_grid(certificate_of(plan.law, proof), seen)
        if stream.additional is None:
            return self.on_grid(certify_or_abstain(plan.law, known), seen)
        observed = Observation(stream.additional, known)
        return self.on_grid(certify_or_abstain(plan.law, NOTHING_KNOWN, observed), seen)

    def _compares_all(self, seen: SampledInput, asked: Estimation) -> bool:
        """Whether the class is compared with every other one.

        A law Q that was chosen for the input was chosen for its majority.
        """
        return asked.stream.additional is None and comparing_advised(seen, self.plan)


# ---- Landscape: all votes choose a law for later runs, and certify nothing


@dataclass(frozen=True, slots=True)
class LandscapeVotes(Method):
    """n votes under P that `dsrs tune` chooses from; an abstention.

    The votes have the purpose `selection`, which is part of the key of their noise. Every bound
    rests on votes of another purpose, so no law is ever certified by the votes that chose it,
    whichever law and seed are used later.
    """

    def want(self, seen: SampledInput) -> Want | None:
        stream, votes = self.under_p(SELECTION), max(self.plan.n, self.plan.n0)
        return None if seen.taken(stream) >= votes else Want(stream, votes)

    def certificate(self, seen: SampledInput) -> Certificate:
        return self.on_grid(abstention(self.plan.law), seen)


# ---- Neyman-Pearson: all votes under P, one lower bound of P_A


@dataclass(frozen=True, slots=True)
class NeymanPearson(OneBound):
    """n votes under P and one lower bound of P_A; alpha holds as for every `OneBound`."""

    quick_forecast: ClassVar[bool] = True

    def estimation(self, seen: SampledInput) -> Estimation | Want:
        # Whether to compare the class with every other one is decided by selection votes.
        selection = self.under_p(SELECTION)
        if self.plan.classes == "all" and not seen.taken(selection):
            return Want(selection, self.plan.n0)
        return Estimation(self.under_p(ESTIMATION), self.plan.n)

    def forecast(self, profiles: Sequence[Profile]) -> Floats:
        plan = self.plan
        return expected_radii(misses_by_shell(profiles, plan.law), plan.law, plan.n, plan.alpha)


def expected_radii(misses: Floats, law: GeneralizedGaussian, n: int, alpha: float) -> Floats:
    """The radii that n votes are expected to prove, for each row of misses by shell of P."""
    hits = expected_hits(misses @ shells_of(law).mass, n)
    unproved = 1 - np.asarray(clopper_pearson_lower(hits, n, alpha))
    return neyman_pearson_radius(law, unproved)


# ---- Tailored: the pilot votes choose the law Q for this input, all other votes are under that Q

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

"""How many pilot votes to take before the law of an input is chosen.

A pilot costs votes. Where none misses the radius grows like the root of ln n, and a tenth of the
votes costs 1.4, 0.9 or 0.6% of it (n = 1,000, 10,000 or 100,000; alpha = 0.001); where the class
has little more than half of the votes, any share costs several times as much. It pays in
proportion to what a tailored law can gain: about 1/m of the radius, 10% at m = 12 and next to
nothing for a Gaussian; most where between one vote in five and one in a thousand misses, and nearly
nothing outside of that. So the pilot goes by stages, each as long as all before it, and after
each one weighs what the next would cost, which is known, against what a law could gain on the
curves that the votes so far leave possible. A long pilot of many votes also shows where misses are:
what a stage may cost grows with n. It ends with `PILOT_MISSES` at the latest, or at a share of all
votes that falls with m, half as large where none of few votes missed. (`benchmarks/tailored.py`.)

What validity rests on: by induction over the stages every decision, to go on or to stop and with
which law, is a function of the pilot votes so far, so the law and how many votes are left for its
bound depend on the pilot alone. The votes that are bounded are fresh: given the pilot they are
independent with one fixed probability, so one bound takes the whole of alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import InvalidInput
from dsrs.landscape.expected import checked_budget
from dsrs.landscape.profile import profile_of_bins
from dsrs.landscape.tailored import Tailored, cost_of_votes, in_many_votes, tailored_law
from dsrs.laws import GeneralizedGaussian, Weighted

LEAST_PILOT_SHARE, MOST_PILOT_SHARE = 0.005, 0.1
PILOT_MISSES = 1000
STAGE_GROWTH = 2.0  # from stage to stage
# A stage is worth its cost if that is less than this part of what is within reach of a law, times
# n / MANY_VOTES beyond so many votes.
WORTH = 0.25
# Of so many votes and more, a pilot without a miss may be as long as any other.
PLENTY_OF_VOTES = 50_000
# Fewer pilot votes say nothing worth another law.
FEWEST_PILOT_VOTES = 25


@dataclass(frozen=True, slots=True)
class PilotStep:
    """What to do after the pilot votes so far: take `more` of them, or go on under `law`.

    `choice` says what the law promises; it is None while the pilot goes on, and where so few votes
    are allowed that no pilot pays.
    """

    more: int
    choice: Tailored | None

    @property
    def law(self) -> Weighted | None:
        """The law of all further votes once no more pilot votes are wanted; None is P itself."""
        return None if self.choice is None else self.choice.law


def pilot_step(
    base: GeneralizedGaussian, n: int, alpha: float, hits: ArrayLike, trials: ArrayLike
) -> PilotStep:
    """The next step after `hits[b]` of `trials[b]` pilot votes under P, in equal-mass radial bins.

    `n` counts all votes of the input, pilot included. Begin with zeros.
    """
    checked_budget(n, alpha)
    right, seen = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if right.ndim != 1 or right.shape != seen.shape or not len(right):
        raise InvalidInput(
            f"`hits` and `trials` must be two rows of one length, got {right.shape}, {seen.shape}"
        )
    votes, misses = round(float(seen.sum())), float(seen.sum() - right.sum())
    if votes >= n:
        raise InvalidInput(f"the pilot must leave votes for the bound, got {votes} of {n}")
    more = _further(base, n, votes, misses)
    if votes < FEWEST_PILOT_VOTES:
        return PilotStep(more, None)
    edges = base.radial_quantile(np.linspace(0, 1, len(right) + 1))
    profile = profile_of_bins(edges, right, seen, few=True)
    left = n - votes
    choice = tailored_law(profile, base, left, alpha, votes)
    if (
        more
        and cost_of_votes(profile, base, left, left - more, alpha)
        < WORTH * in_many_votes(n) * choice.within_reach
    ):
        return PilotStep(more, None)
    return PilotStep(0, choice)


def longest_pilot(base: GeneralizedGaussian, n: int, miss_rate: float) -> int:
    """At how many votes the pilot of an input ends at the latest that misses at this rate under
    P."""
    votes = 0
    while more := _further(base, n, votes, votes * miss_rate):
        votes += more
    return votes


def _further(base: GeneralizedGaussian, n: int, votes: int, misses: float) -> int:
    """How many pilot votes the next stage has after so many with so many misses."""
    short = misses < 1 and n < PLENTY_OF_VOTES
    largest = 0.5 * MOST_PILOT_SHARE if short else MOST_PILOT_SHARE
    most = math.floor(n * min(max(1 / base.m, LEAST_PILOT_SHARE), largest))
    if most < FEWEST_PILOT_VOTES or votes >= most or misses >= PILOT_MISSES:
        return 0
    look = max(
        FEWEST_PILOT_VOTES, math.floor(LEAST_PILOT_SHARE * n), math.ceil(STAGE_GROWTH * votes)
    )
    return min(look, most) - votes

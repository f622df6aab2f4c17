"""How many pilot votes to take before the law of an input is chosen.

A pilot costs votes: with misses the radius grows so slowly with n that a tenth of the votes hardly
counts, but where no vote misses it grows like the root of ln n, and a tenth costs 0.7% (n = 1e5,
alpha = 0.001). It pays in proportion to what a tailored law can gain, which was measured on the
recorded landscapes for laws of many shapes m: about 1/m of the radius, 10% at m = 12 and
next to nothing for a Gaussian. And it pays little once enough misses show the curve. The chosen law
has 98 to 99.5% of the radius that the true curve allows (`benchmarks/tailored.py`); least where
so few votes miss that the pilot sees hardly any.

So the pilot goes on until `ENOUGH_MISSES` or a share of all votes that falls with m; without
any miss it ends at half of the largest share.

What validity rests on: the law, and how many votes are left for its bound, depend on the pilot
alone. The votes that are bounded are fresh, so one bound takes the whole of alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import InvalidInput
from dsrs.landscape.expected import checked_budget
from dsrs.landscape.profile import profile_of_bins
from dsrs.landscape.tailored import Tailored, tailored_law
from dsrs.laws import GeneralizedGaussian, Weighted

LEAST_SHARE, MOST_SHARE = 0.005, 0.1
ENOUGH_MISSES = 200
GROWTH = 2.0  # from look to look
# Fewer pilot votes say nothing worth another law.
FEWEST_VOTES = 25


@dataclass(frozen=True, slots=True)
class PilotStep:
    """What to do after the pilot votes so far: take `more` of them, or go on under `law`.

    `choice` says why; it is None while the pilot goes on, and where so few votes are allowed that
    no pilot pays.
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
    if more := _further(base, n, votes, misses):
        return PilotStep(more, None)
    if votes < FEWEST_VOTES:
        return PilotStep(0, None)
    edges = base.radial_quantile(np.linspace(0, 1, len(right) + 1))
    profile = profile_of_bins(edges, right, seen)
    return PilotStep(0, tailored_law(profile, base, n - votes, alpha))


def expected_pilot_votes(base: GeneralizedGaussian, n: int, miss_rate: float) -> int:
    """At how many votes the pilot of an input ends that misses at this rate under P."""
    votes = 0
    while more := _further(base, n, votes, votes * miss_rate):
        votes += more
    return votes


def _further(base: GeneralizedGaussian, n: int, votes: int, misses: float) -> int:
    """How many pilot votes to take after so many with so many misses."""
    most = most_pilot_votes(base, n, misses)
    if votes >= most or misses >= ENOUGH_MISSES:
        return 0
    look = max(FEWEST_VOTES, math.floor(LEAST_SHARE * n), math.ceil(GROWTH * votes))
    return min(look, most) - votes


def most_pilot_votes(base: GeneralizedGaussian, n: int, misses: float) -> int:
    """At how many pilot votes the law is chosen at the latest, with so many misses among them."""
    largest = MOST_SHARE if misses >= 1 else 0.5 * MOST_SHARE
    votes = math.floor(n * min(max(1 / base.m, LEAST_SHARE), largest))
    return votes if votes >= FEWEST_VOTES else 0

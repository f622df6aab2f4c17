"""When the answer is known: which radius is still worth votes, and whether it can be reached.

Stopping early never costs alpha: bounds hold at every look. Giving up a radius that could have been
reached costs a part of the answer, with probability at most GIVING_UP at each look.
"""

from __future__ import annotations

import functools
import math

from scipy import special, stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods.looks import Look
from dsrs.noise import Stream
from dsrs.proofs import Interval, Observation, certify

# Chosen by measurement: `benchmarks/fewest_votes.py`.
GIVING_UP = 0.01


def out_of_reach(hits: int, votes: int, last: Look, needed: float) -> bool:
    """Whether the last look will hardly show a lower bound of `needed`.

    The class is given its benefit of doubt: the upper bound at GIVING_UP of its probability.
    """
    most = clopper_pearson_upper(hits, votes, GIVING_UP)
    missing = hits_needed(last.votes, last.alpha, needed) - hits
    left = last.votes - votes
    if missing > left:
        return True
    return missing > 0 and float(stats.binom.sf(missing - 1, left, most)) <= GIVING_UP


def no_lead(hits: int, rivals: int, votes: int, scores: float) -> bool:
    """Whether the class hardly leads its most frequent rival by so many normal scores.

    Both have their benefit of doubt: the upper and the lower bound at GIVING_UP.
    """
    most = special.ndtri(clopper_pearson_upper(hits, votes, GIVING_UP))
    least = special.ndtri(clopper_pearson_lower(rivals, votes, GIVING_UP))
    return bool(most - least <= scores)


@functools.lru_cache(maxsize=4096)
def hits_needed(votes: int, alpha: float, needed: float) -> int:
    """The least number of hits whose lower bound reaches `needed`; votes + 1 if none does."""
    low, high = 0, votes + 1
    while high - low > 1:
        middle = (low + high) // 2
        if clopper_pearson_lower(middle, votes, alpha) >= needed:
            high = middle
        else:
            low = middle
    return high


@functools.lru_cache(maxsize=4096)
def bound_needed(stream: Stream, radius: float) -> float:
    """About the lower bound of the class's probability in a stream that proves `radius`.

    It decides when to stop, never what is claimed: radii come from `certify`. Radii are nearly
    straight in the normal score of the bound, so false position finds it in a few certificates.
    """
    law = stream.base
    if stream.additional is None and law.is_gaussian:
        return float(special.ndtr(radius / law.sigma))
    low, high = 0.0, 12.0
    low_miss, high_miss = -radius, math.inf
    score = min(radius / law.sigma, 6.0)
    for _ in range(25):
        proved = _proved(stream, float(special.ndtr(score)))
        if abs(proved - radius) < 1e-4 * radius:
            break
        if proved < radius:
            low, low_miss = score, proved - radius
        else:
            high, high_miss = score, proved - radius
        straight = math.isfinite(high_miss) and high_miss > low_miss
        step = (
            low + (high - low) * (-low_miss) / (high_miss - low_miss) if straight else score * 1.5
        )
        # Kept off the ends, or false position creeps.
        score = min(max(step, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        if high - low < 1e-5:
            break
    return float(special.ndtr(score))


def _proved(stream: Stream, lower: float) -> float:
    known = Interval(lower, 1.0)
    if stream.additional is None:
        return certify(stream.base, known).radius
    return certify(stream.base, Interval(0.0, 1.0), Observation(stream.additional, known)).radius

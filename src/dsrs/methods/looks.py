"""Looks at the votes on the way: fixed before the first vote, each with its own part of alpha.

A bound at looks n_1 < ... < n_K with a_1 + ... + a_K <= alpha, Clopper-Pearson each, holds at all
looks together except with probability alpha (the sum of what each may miss). So it is valid at
whichever look one stops, by any rule, and the best of the bounds so far is valid too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

# Chosen by measurement: `benchmarks/fewest_votes.py`.
LOOK_GROWTH = 1.15
LAST_LOOK_SHARE = 0.6  # of alpha: what the last look keeps


@dataclass(frozen=True, slots=True)
class Look:
    """After `votes` votes there is a bound that may be wrong with probability `alpha`."""

    votes: int
    alpha: float


def schedule(n: int, alpha: float, batch: int) -> tuple[Look, ...]:
    """Looks at multiples of `batch`, which grow by LOOK_GROWTH up to n; the last has most alpha."""
    ends, end = [], batch
    while end < n:
        ends.append(end)
        end = max(end + batch, math.ceil(end * LOOK_GROWTH / batch) * batch)
    if not ends:
        return (Look(n, alpha),)
    last = LAST_LOOK_SHARE * alpha
    early = float((Fraction(alpha) - Fraction(last)) / len(ends)) * (1 - 2**-50)
    return (*(Look(votes, early) for votes in ends), Look(n, last))

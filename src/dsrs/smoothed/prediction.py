"""What a smoothed classifier answers, and the test behind it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from dsrs.proofs import Certificate

STRAY_SHARE = 0.01  # of alpha: for votes that stray from the ideal noise


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the smoothed classifier answers.

    `status` is "predicted" with a class in `label`, or "abstained" (then `label` is None): the two
    most frequent classes were too close to tell apart. `counts` are the votes by class: only as
    many as the answer took. Where a radius was asked for, `certificate` is what was proved; the
    class is answered only if it is proved at that radius.

    `seed` is that of the votes, so that they can be taken again. With `seed_public` it was known
    before the input was, and a class can be had wrong by choosing the input (docs/security.md).
    """

    status: Literal["predicted", "abstained"]
    label: int | None
    counts: tuple[int, ...]
    seed: int
    seed_public: bool
    certificate: Certificate | None = None


def told_apart(counts: NDArray[np.int64], alpha: float, variation: float = 0.0) -> int | None:
    """The most frequent class, if it is not the second one's chance at level alpha.

    A vote made on the grid is that of ideal noise but with probability `variation` (docs/grid.md):
    as many votes as may stray, but for a share of alpha, are counted for the second class instead.
    """
    second, top = (int(place) for place in np.argsort(counts, kind="stable")[-2:])
    best, rest, stray = int(counts[top]), int(counts[second]), 0
    if variation > 0:
        alpha_stray = STRAY_SHARE * alpha
        stray = most_that_stray(int(counts.sum()), alpha_stray, variation)
        alpha -= alpha_stray
    best, rest = best - stray, rest + stray
    if best <= rest:
        return None
    # The two-sided test of one half: both tails are alike.
    return top if 2 * special.bdtr(rest, best + rest, 0.5) <= alpha else None


# Looks are few, and each question has the same ones.
@functools.lru_cache(maxsize=4096)
def most_that_stray(votes: int, alpha: float, variation: float) -> int:
    """So many of the votes stray at most, except with probability alpha; each does with one of
    `variation` at most."""
    stray = int(stats.binom.isf(alpha, votes, variation))
    while stats.binom.sf(stray, votes, variation) > alpha:
        stray += 1
    return stray

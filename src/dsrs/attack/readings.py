"""A look at a perturbed input: how far the claim still holds there, where it falls fastest."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsrs.attack.aim import Aim, Floats
from dsrs.attack.score import Score
from dsrs.laws import GeneralizedGaussian, Rescaled
from dsrs.noise import Stream
from dsrs.proofs import Source
from dsrs.votes import Batch, Tally

if TYPE_CHECKING:
    from typing_extensions import Self

RADIAL_BINS = 16  # of equal mass


@dataclass(frozen=True, slots=True)
class Reading:
    """What the votes at one point say.

    `fall` points where p falls: an estimate of -grad p up to a factor. `rate` estimates how fast p
    falls along the perturbation itself, in units of 1 / length; 0 at the input.
    """

    share: float  # p
    votes: int
    fall: Floats
    variance: float  # of the error of one coordinate of `fall`
    rate: float
    counts: tuple[int, ...]


class FromVotes:
    """Readings by votes alone: -grad p = E[(p - score) g(noise)], see score.py.

    `spent` counts the votes so far.
    """

    source: Source = "votes"
    cost = 1  # votes that one row of a reading counts for

    def __init__(self, aim: Aim, stop: Event) -> None:
        self._aim, self._stop = aim, stop
        self._readings, self.spent = 0, 0
        self._rival: int | None = None  # from the reading before: fixed before the votes

    def read(self, perturbation: Floats, votes: int, widen: float = 1.0) -> Reading:
        """A reading from so many fresh rows, under noise `widen` times as large as P's."""
        aim, wide = self._aim, self._aim.law.resized(widen * self._aim.law.sigma)
        law = aim.law if widen == 1 else Rescaled(aim.law, wide.sigma)
        stream = Stream(f"attack, {self.source} {self._readings}", law)
        wanted = self._sums(aim.point(perturbation), wide, aim.scores(self._rival))
        counted = aim.votes(perturbation, stream, votes, self._stop, wanted)
        self._readings += 1
        self.spent += votes * self.cost
        self._rival = aim.rival(counted.by_class)
        (sums,) = counted.tallies
        assert isinstance(sums, VoteSums)
        share, fall, variance = sums.fall()
        length = float(np.linalg.norm(perturbation))
        rate = float(fall @ perturbation) / length if length else 0.0
        reading = Reading(share, votes, fall, variance, rate, counted.by_class)
        return sums.turned(reading)

    def _sums(
        self, point: NDArray[np.float32], law: GeneralizedGaussian, scores: Floats
    ) -> VoteSums:
        return VoteSums(point, law, scores)


@dataclass(eq=False)
class VoteSums(Tally):
    """Sums over noisy rows that make the gradient from votes.

    Given its norm, noise has a uniform direction, so E[g | norm] = 0: from the score of a vote the
    mean score of its radial bin can be taken away. That leaves the mean of the sum as it is, and
    takes out what is due to the norm alone: votes of short noise all agree, and count for nothing.
    """

    name: ClassVar[str] = "attack"
    needs_rows: ClassVar[bool] = True

    point: NDArray[np.float32]
    law: GeneralizedGaussian
    scores: Floats  # of a vote for each class

    def __post_init__(self) -> None:
        self._point = self.point.ravel().astype(np.float64)
        self._score = Score(self.law)
        self._edges = self.law.radial_quantile(np.arange(1, RADIAL_BINS) / RADIAL_BINS)
        self._by_bin = np.zeros((RADIAL_BINS, self.point.size))  # sums of g
        self._scored = np.zeros(self.point.size)  # sum of score times g
        self._totals = np.zeros((4, RADIAL_BINS))  # rows, scores, their squares, |g|^2

    def add(self, batch: Batch) -> None:
        rows, norms = batch.rows, batch.norms
        weights, scores = self._score.weights(norms), self.scores[batch.classes]
        bins = np.searchsorted(self._edges, norms)
        factors = np.zeros((RADIAL_BINS + 1, len(rows)))
        factors[bins, np.arange(len(rows))] = weights
        factors[-1] = weights * scores
        # factors @ (rows - point), without a copy of the rows
        summed = factors.astype(np.float32) @ rows - factors.sum(axis=1)[:, None] * self._point
        self._by_bin += summed[:-1]
        self._scored += summed[-1]
        for place, values in enumerate(
            (np.ones(len(rows)), scores, scores**2, (weights * norms) ** 2)
        ):
            self._totals[place] += np.bincount(bins, values, minlength=RADIAL_BINS)

    def merge(self, other: Self) -> None:
        self._by_bin += other._by_bin
        self._scored += other._scored
        self._totals += other._totals

    def fall(self) -> tuple[float, Floats, float]:
        """p, -grad p, and the variance of one of its coordinates."""
        counts, scores, squares, sizes = self._totals
        rows = counts.sum()
        means = scores / np.maximum(counts, 1)
        spread = np.maximum(squares / np.maximum(counts, 1) - means**2, 0.0)
        variance = float(spread @ sizes) / self._point.size / rows**2
        fall = (means @ self._by_bin - self._scored) / rows
        return float(scores.sum() / rows), fall, variance

    def turned(self, reading: Reading) -> Reading:
        """The reading with a better direction, where these sums have one."""
        return reading

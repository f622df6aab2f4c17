"""One look at a perturbed input: how far the claim still holds there, and where it falls fastest.

The margin of a claim is p - 1/2 for the mean p of a score of each vote: for a majority 1 for the
target and 0 for any other class, so p = P_A; for a lead 1 for the target, 0 for the rival and 1/2
for any third class, so p = (1 + P_A - P_b) / 2. Either claim ends where p = 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dsrs.attack.score import Score
from dsrs.classifiers import Classifier
from dsrs.counterexamples import Claim, Source
from dsrs.laws import GeneralizedGaussian, Rescaled
from dsrs.sampling import InlineCollector, Setting, WorkUnit

Floats = NDArray[np.float64]


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


class Compass(Protocol):
    """Whoever can read at a point."""

    source: Source
    cost: int  # votes that one row of a reading counts for
    spent: int  # votes so far

    def read(self, perturbation: Floats, votes: int, widen: float = 1.0) -> Reading:
        """A reading from so many fresh rows, under noise `widen` times as large as P's."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What an attack on one input is after.

    `slack` is how much sampled probabilities may differ from those of the ideal noise.
    """

    classifier: Classifier
    x: NDArray[np.float32]
    setting: Setting
    index: int
    target: int
    claim: Claim
    slack: float = 0.0

    def perturbation(self, moved: Floats) -> NDArray[np.float32]:
        """What is added to the input to have `point`, in the shape of the input."""
        return moved.astype(np.float32).reshape(self.x.shape)

    def point(self, perturbation: Floats) -> NDArray[np.float32]:
        """The perturbed input, as the classifier would be given it."""
        return np.asarray(self.x + self.perturbation(perturbation), dtype=np.float32)

    def length(self, perturbation: Floats) -> float:
        """How far `point` is from the input (l2), rounded up."""
        away = self.point(perturbation).astype(np.float64) - self.x.astype(np.float64)
        return float(np.nextafter(np.linalg.norm(away) * (1 + 1e-15), np.inf))

    def rival(self, counts: Sequence[int]) -> int:
        """The class that most of these votes were for, but the target."""
        others = np.array(counts)
        others[self.target] = -1
        return int(others.argmax())

    def scores(self, rival: int | None) -> Floats:
        """The score of a vote for each class."""
        scores = np.zeros(self.classifier.num_classes)
        if self.claim == "lead" and rival is not None:
            scores[:] = 0.5
            scores[rival] = 0.0
        scores[self.target] = 1.0
        return scores

    def share(self, counts: Sequence[int], rival: int) -> float:
        """p: the mean score of these votes."""
        return float(self.scores(rival) @ np.array(counts)) / sum(counts)


class FromVotes:
    """Readings by votes alone: -grad p = E[(p - score) g(noise)], see score.py."""

    source: Source = "votes"
    cost = 1

    def __init__(self, aim: Aim, stop: Event) -> None:
        self._aim, self._stop = aim, stop
        self._readings, self.spent = 0, 0
        self._rival: int | None = None  # from the reading before: fixed before the votes

    def read(self, perturbation: Floats, votes: int, widen: float = 1.0) -> Reading:
        sums = self._sums(perturbation, widen)
        counts = self._counted(perturbation, votes, widen, sums)
        share, fall, variance = sums.fall()
        length = float(np.linalg.norm(perturbation))
        rate = float(fall @ perturbation) / length if length else 0.0
        return self._turned(Reading(share, votes, fall, variance, rate, counts), sums)

    def _turned(self, reading: Reading, sums: VoteSums) -> Reading:
        """The reading with a direction from elsewhere, where there is one."""
        return reading

    def _sums(self, perturbation: Floats, widen: float) -> VoteSums:
        base = self._aim.setting.base
        law = GeneralizedGaussian(base.d, widen * base.sigma, base.k, base.eta)
        return VoteSums(self._aim.point(perturbation), Score(law), self._aim.scores(self._rival))

    def _counted(
        self, perturbation: Floats, votes: int, widen: float, sums: VoteSums
    ) -> tuple[int, ...]:
        aim = self._aim
        base = aim.setting.base
        law = None if widen == 1 else Rescaled(base, widen * base.sigma)
        unit = WorkUnit(aim.index, f"attack, {self.source} {self._readings}", law, 0, votes)
        self._readings += 1
        self.spent += votes * self.cost
        collector = InlineCollector(self._stop, sums.add)
        counted = collector.collect(aim.classifier, aim.point(perturbation), aim.setting, unit)
        counts = tuple(counted.sum(axis=1).tolist())
        self._rival = aim.rival(counts)
        return counts


class VoteSums:
    """Sums over noisy rows that make the gradient from votes."""

    def __init__(self, point: NDArray[np.float32], score: Score, scores: Floats) -> None:
        self._point = point.ravel().astype(np.float64)
        self._score, self._scores = score, scores
        self._all = np.zeros(point.size)
        self._scored = np.zeros(point.size)
        self._total, self._squares, self._rows = 0.0, 0.0, 0
        self._size = 0.0  # sum of |g|^2

    def add(self, rows: NDArray[np.float32], norms: Floats, classes: NDArray[np.int64]) -> None:
        weights, scores = self._score.weights(norms), self._scores[classes]
        both = np.stack([weights, weights * scores])
        # weights @ (rows - point), without a copy of the rows
        summed = both.astype(np.float32) @ rows - both.sum(axis=1)[:, None] * self._point
        self._all += summed[0]
        self._scored += summed[1]
        self._total += float(scores.sum())
        self._squares += float(scores @ scores)
        self._size += float(np.sum((weights * norms) ** 2))
        self._rows += len(rows)

    def fall(self) -> tuple[float, Floats, float]:
        """p, -grad p with the mean score as control variate (E[g] = 0), and its variance."""
        rows = self._rows
        share = self._total / rows
        spread = max(self._squares / rows - share**2, 0.0)
        variance = spread * self._size / rows / self._all.size / rows
        return share, (share * self._all - self._scored) / rows, variance

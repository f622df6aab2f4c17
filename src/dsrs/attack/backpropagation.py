"""Readings whose direction is back-propagated: PGD on the smoothed classifier (SmoothAdv).

The soft answer of a differentiable model, its mean score under softmax, stands for its hard votes:
-E grad score(x + delta + e) is the direction of Salman et al. (2019, "Provably robust deep learning
via adversarially trained smoothed classifiers"), whose loss -log E softmax has the same direction.
It needs far fewer rows than votes do. How much is left at the point, and how fast it falls along
the perturbation, is still told by the votes of the same rows: they are what is certified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dsrs.attack.aim import Aim, Floats
from dsrs.attack.readings import FromVotes, Reading, VoteSums
from dsrs.classifiers import ScoreGradient
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Source
from dsrs.votes import Batch

if TYPE_CHECKING:
    from typing_extensions import Self


class FromBackPropagation(FromVotes):
    """Read p and its gradient at a point by back-propagation through the classifier."""

    source: Source = "back-propagation"
    cost = 3  # a backward pass takes about two forward ones

    def __init__(self, aim: Aim, stop: Event, gradient: ScoreGradient) -> None:
        super().__init__(aim, stop)
        self._gradient = gradient

    def _sums(
        self, point: NDArray[np.float32], law: GeneralizedGaussian, scores: Floats
    ) -> VoteSums:
        return _GradientSums(point, law, scores, self._gradient)


@dataclass(eq=False)
class _GradientSums(VoteSums):
    """Sums of the votes, and of the gradients of the same rows."""

    gradient: ScoreGradient

    def __post_init__(self) -> None:
        super().__post_init__()
        self._slopes, self._sizes, self._seen = np.zeros(self.point.size), 0.0, 0

    def add(self, batch: Batch) -> None:
        super().add(batch)
        rows = batch.rows.reshape(-1, *self.point.shape)
        flat = self.gradient(rows, self.scores).reshape(len(rows), -1).astype(np.float64)
        self._slopes += flat.sum(axis=0)
        self._sizes += float(np.einsum("ij,ij->", flat, flat))
        self._seen += len(rows)

    def merge(self, other: Self) -> None:
        super().merge(other)
        self._slopes += other._slopes
        self._sizes += other._sizes
        self._seen += other._seen

    def turned(self, reading: Reading) -> Reading:
        """The reading with the mean gradient downhill, and the variance of a coordinate of it."""
        mean = self._slopes / self._seen
        spread = max(self._sizes / self._seen - float(mean @ mean), 0.0)
        return replace(reading, fall=-mean, variance=spread / mean.size / self._seen)

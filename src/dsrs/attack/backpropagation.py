"""Readings whose direction is back-propagated: PGD on the smoothed classifier (SmoothAdv).

The soft answer of a differentiable model, its mean score under softmax, stands for its hard votes:
-E grad score(x + delta + e) is the direction of Salman et al. (2019, "Provably robust deep learning
via adversarially trained smoothed classifiers"), whose loss -log E softmax has the same direction.
It needs far fewer rows than votes do. How much is left at the point, and how fast it falls along
the perturbation, is still told by the votes of the same rows: they are what is certified.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
from numpy.typing import NDArray

from dsrs.attack.aim import Aim, Floats
from dsrs.attack.readings import FromVotes, Reading, VoteSums
from dsrs.classifiers.base import ScoreGradient
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.counterexample import Source


class FromBackPropagation(FromVotes):
    """Readings of a classifier that can back-propagate."""

    source: Source = "back-propagation"
    cost = 3  # a backward pass takes about two forward ones

    def __init__(self, aim: Aim, stop: Event, gradient: ScoreGradient) -> None:
        super().__init__(aim, stop)
        self._gradient = gradient

    def _sums(self, perturbation: Floats, widen: float) -> VoteSums:
        base = self._aim.law
        law = GeneralizedGaussian(base.d, widen * base.sigma, base.k, base.eta)
        point, scores = self._aim.point(perturbation), self._aim.scores(self._rival)
        return _GradientSums(point, law, scores, self._gradient)

    def _turned(self, reading: Reading, sums: VoteSums) -> Reading:
        assert isinstance(sums, _GradientSums)
        fall, variance = sums.back_propagated()
        return replace(reading, fall=fall, variance=variance)


class _GradientSums(VoteSums):
    """Sums of the votes, and of the gradients of the same rows."""

    def __init__(
        self,
        point: NDArray[np.float32],
        law: GeneralizedGaussian,
        scores: Floats,
        gradient: ScoreGradient,
    ) -> None:
        super().__init__(point, law, scores)
        self._shape, self._gradient, self._classes = point.shape, gradient, scores
        self._slopes, self._sizes, self._seen = np.zeros(point.size), 0.0, 0

    def add(self, rows: NDArray[np.float32], norms: Floats, classes: NDArray[np.int64]) -> None:
        super().add(rows, norms, classes)
        found = self._gradient(rows.reshape(-1, *self._shape), self._classes)
        flat = found.reshape(len(rows), -1).astype(np.float64)
        self._slopes += flat.sum(axis=0)
        self._sizes += float(np.einsum("ij,ij->", flat, flat))
        self._seen += len(rows)

    def back_propagated(self) -> tuple[Floats, float]:
        """The mean gradient downhill, and the variance of a coordinate of its error."""
        mean = self._slopes / self._seen
        spread = max(self._sizes / self._seen - float(mean @ mean), 0.0)
        return -mean, spread / mean.size / self._seen

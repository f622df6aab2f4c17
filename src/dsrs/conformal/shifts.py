"""Shifts of inputs that try to drive the true class out of its set.

The expected probability of the true class under noise is pushed down by gradient steps on the
sphere of the radius: with back-propagation where the model can (SmoothAdv, Salman et al. 2019),
else by Stein's formula from the model's answers alone (`attack.score`). The search may fail to find
the worst shift: coverage that it leaves proves nothing, and less coverage than promised would
refute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.attack import Score
from dsrs.classifiers import Classifier
from dsrs.conformal.queries import Query
from dsrs.conformal.scores import log_probabilities

Floats = NDArray[np.float64]

SHIFT_KINDS = {
    "none": "inputs as they are",
    "random": "moved by the radius in a random direction",
    "attack": "moved against the true class, along gradients of the smoothed model",
}
SHIFT_STEPS = 6
GRADIENT_ROWS, STEIN_ROWS = 16, 256  # noisy copies of a step


@dataclass(frozen=True, slots=True)
class Mover:
    """Moves inputs of a classifier by `radius` at most, within its bounds, to points of the grid.

    Args:
        classifier: the model.
        query: how it is asked.
        radius: the length of shifts.
    """

    classifier: Classifier
    query: Query
    radius: float

    def moved(
        self, x: NDArray[np.float32], label: int, shift: str, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """The input after a shift of one of SHIFT_KINDS."""
        if shift == "none" or self.radius == 0:
            return x
        if shift == "random":
            return self._at(x, rng.standard_normal(x.size))
        found, total = x, np.zeros(x.size)
        for _ in range(SHIFT_STEPS):
            fall = self._fall(found, label, rng)
            size = float(np.linalg.norm(fall))
            if size > 0:
                total += fall / size
            if not total.any():
                return self._at(x, rng.standard_normal(x.size))
            found = self._at(x, total)
        return found

    def _at(self, x: NDArray[np.float32], direction: Floats) -> NDArray[np.float32]:
        """x moved along a direction: clipped to the bounds and rounded to the grid, which keeps it
        within the radius."""
        grid = self.query.grid
        rounding = 0.0 if grid is None else math.sqrt(x.size) * grid.step / 2
        length = max(self.radius * (1 - 1e-6) - rounding, 0.0)
        step = length * direction / np.linalg.norm(direction)
        point = np.clip(x.astype(np.float64) + step.reshape(x.shape), *self.classifier.bounds)
        if grid is None:
            return point.astype(np.float32)
        return grid.values(grid.cells(point))

    def _fall(self, x: NDArray[np.float32], label: int, rng: np.random.Generator) -> Floats:
        """Where the expected probability of the class falls fastest, as far as samples tell."""
        gradient, law = self.classifier.gradient(), self.query.law
        rows = STEIN_ROWS if gradient is None else GRADIENT_ROWS
        directions = rng.standard_normal((rows, x.size))
        norms = law.sample_norms(rows, rng)
        noise = directions * (norms / np.linalg.norm(directions, axis=1))[:, None]
        if gradient is None:
            noise[rows // 2 :] = -noise[: rows // 2]  # pairs: half of the variance, and less
            norms[rows // 2 :] = norms[: rows // 2]
        noisy = (x.ravel() + noise).astype(np.float32).reshape(rows, *x.shape)
        if gradient is not None:
            scores = np.zeros(self.classifier.num_classes)
            scores[label] = 1.0
            slopes = gradient(noisy, scores).reshape(rows, -1)
            return np.asarray(-slopes.sum(axis=0, dtype=np.float64))
        logs = log_probabilities(self.classifier.scores(noisy), self.query.outputs)
        p = np.exp(logs[:, label])
        weights = (p - p.mean()) * Score(law).weights(norms)
        return np.asarray(-(weights @ noise))

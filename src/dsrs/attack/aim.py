"""What an attack on one input is after: the claim, its margin, and the points that are voted on.

The margin of a claim is p - 1/2 for the mean p of a score of each vote: for a majority 1 for the
target and 0 for any other class, so p = P_A; for a lead 1 for the target, 0 for the rival and 1/2
for any third class, so p = (1 + P_A - P_b) / 2. Either claim ends where p = 1/2.

A run that samples on a grid gives its answer at grid points (docs/grid.md): perturbed inputs are
rounded to them, and it is the rounded point whose distance counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.laws import GeneralizedGaussian, Norm, norm_of
from dsrs.noise import Stream
from dsrs.proofs import Claim
from dsrs.votes import Counts, InlineCollector, Setting, Tally, WorkUnit

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Aim:
    """One input, the claim about its class `target`, and the noise of its smoothed classifier."""

    classifier: Classifier
    x: NDArray[np.float32]
    law: GeneralizedGaussian  # the smoothing law
    setting: Setting
    index: int
    target: int
    claim: Claim
    norm: Norm = "l2"  # that distances are measured in

    @property
    def slack(self) -> float:
        """Return an upper bound of how far sampled probabilities are from those of ideal noise."""
        grid = self.setting.grid
        return 0.0 if grid is None else grid.variation(self.law)

    def point(self, perturbation: Floats) -> NDArray[np.float32]:
        """The perturbed input, as the classifier would be given it."""
        moved = self.x + perturbation.astype(np.float32).reshape(self.x.shape)
        grid = self.setting.grid
        return moved if grid is None else grid.values(grid.cells(moved))

    def perturbation(self, perturbation: Floats) -> NDArray[np.float32]:
        """Return `point` minus the input."""
        if self.setting.grid is None:
            return perturbation.astype(np.float32).reshape(self.x.shape)
        return self.point(perturbation) - self.x

    def length(self, perturbation: Floats) -> float:
        """How far `point` is from the input, rounded up."""
        point, grid = self.point(perturbation), self.setting.grid
        if grid is None:
            away, extra = point.astype(np.float64) - self.x, 0.0
        else:
            # Numbers of float32 stand for the grid points that they are nearest to.
            away = grid.step * (grid.cells(point) - grid.cells(self.x))
            # l-infinity distances are at most those of l2, and those of l1 sqrt(d) times as large.
            extra = grid.distance(self.x) * (math.sqrt(away.size) if self.norm == "l1" else 1.0)
        # A sum of d numbers is rounded by less than d 2^-53 of itself.
        rounding = 1 + 1e-14 + (away.size * 2.0**-53 if self.norm == "l1" else 0.0)
        return math.nextafter(norm_of(away, self.norm) * rounding + extra, math.inf)

    def votes(
        self, perturbation: Floats, stream: Stream, count: int, stop: Event, *tallies: Tally
    ) -> Counts:
        """Count the first votes of a stream at `point`, and add up `tallies` over them."""
        unit = WorkUnit(self.index, stream, 0, count, tallies)
        collector, point = InlineCollector(stop), self.point(perturbation)
        return collector.collect(self.classifier, point, self.setting, unit)

    def rival(self, counts: Sequence[int]) -> int:
        """Return the class other than the target that has most of these votes."""
        others = np.array(counts)
        others[self.target] = -1
        return int(others.argmax())

    def scores(self, rival: int | None) -> Floats:
        """Return each class's score of a vote: against the rival, or for a majority without one."""
        scores = np.zeros(self.classifier.num_classes)
        if self.claim == "lead" and rival is not None:
            scores[:] = 0.5
            scores[rival] = 0.0
        scores[self.target] = 1.0
        return scores

    def share(self, counts: Sequence[int], rival: int) -> float:
        """Return p, the mean score of these votes."""
        return float(self.scores(rival) @ np.array(counts)) / sum(counts)

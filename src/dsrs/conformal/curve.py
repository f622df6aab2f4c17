"""How the size of prediction sets grows with the radius, from the same queries for all radii.

Calibration scores and the scores of test inputs do not depend on the radius; the threshold does.
Each point of the curve is what sets that were calibrated for that radius give. The promise of each
of them holds on average over inputs, calibration sets and noise, not for each single input; a
radius that is chosen by the curve needs another calibration set.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from dsrs.certifying import Watch
from dsrs.conformal.calibration import at_radius
from dsrs.conformal.evaluation import refuse_calibrated
from dsrs.conformal.prediction import SetPredictor, set_of
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Sets for one radius on test inputs as they are.

    Args:
        radius: how far inputs may be moved.
        level: the coverage of clean inputs that calibration was for.
        threshold: of the scores; infinite where all sets hold all classes.
        inputs: how many sets there are.
        mean_size: the mean number of classes in a set.
        held: how many sets held the label; None without labels.
    """

    radius: float
    level: float
    threshold: float
    inputs: int
    mean_size: float
    held: int | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, where an infinite threshold is null."""
        finite = abs(self.threshold) < float("inf")
        return asdict(self) | {"threshold": self.threshold if finite else None}


def size_curve(
    predictor: SetPredictor,
    dataset: Dataset,
    radii: Sequence[float],
    indices: Sequence[int] | None = None,
    *,
    progress: Watch | None = None,
) -> list[CurvePoint]:
    """The mean size of sets at each radius, from as many queries of each input as one answer takes.

    Args:
        predictor: gives the scores; its sets give calibration scores, noise and coverage.
        dataset: inputs that were not calibrated on.
        radii: the radii, of 0 or more.
        indices: which inputs; all of them when None.
        progress: makes a counter that is told how far the work has come.
    """
    chosen = list(range(len(dataset))) if indices is None else [int(i) for i in indices]
    if not radii or not all(0 <= radius < float("inf") for radius in radii):
        raise InvalidInput(f"`radii` must be finite numbers of at least 0, got {list(radii)!r}")
    if not chosen:
        raise DataError("a curve needs at least one input")
    refuse_calibrated(predictor.sets, dataset, chosen)
    at_radii = [at_radius(predictor.sets, radius) for radius in radii]
    classes, held = [0] * len(at_radii), [0] * len(at_radii)
    with nullcontext() if progress is None else progress(len(chosen)) as counter:
        for index in chosen:
            scores, _ = predictor.scores(dataset.input(index), index)
            for place, sets in enumerate(at_radii):
                answer, _ = set_of(scores, sets.threshold)
                classes[place] += len(answer)
                held[place] += dataset.label(index) in answer
            if counter:
                counter.advance(votes=len(scores))
    return [
        CurvePoint(
            sets.radius,
            sets.level,
            sets.threshold,
            len(chosen),
            classes[place] / len(chosen),
            None if dataset.labels is None else held[place],
        )
        for place, sets in enumerate(at_radii)
    ]

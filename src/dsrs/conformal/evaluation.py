"""What prediction sets do on labelled data: sizes, and coverage as it is and under shifts.

Coverage that is measured here is of one calibration set and of some test inputs; what is promised
holds on average over inputs, calibration sets and noise, not for each single input.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import Watch
from dsrs.confidence import ConfidenceInterval, clopper_pearson
from dsrs.conformal.prediction import SetPredictor
from dsrs.conformal.sets import Sets
from dsrs.conformal.shifts import SHIFT_KINDS, Mover
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.store import thumbnail

COVERAGE_ALPHA = 0.05  # of intervals of coverage


@dataclass(frozen=True, slots=True)
class ShiftOutcome:
    """The sets of all inputs under one kind of shift.

    Args:
        shift: its name in SHIFT_KINDS.
        held: how many sets held the label.
        sizes: how many sets had 0, 1, 2, ... classes.
        mean_distance: how far inputs were moved on average (l2).
    """

    shift: str
    held: int
    sizes: tuple[int, ...]
    mean_distance: float

    @property
    def inputs(self) -> int:
        """How many sets there are."""
        return sum(self.sizes)

    @property
    def coverage(self) -> float:
        """The share of sets that held the label."""
        return self.held / self.inputs

    @property
    def mean_size(self) -> float:
        """The mean number of classes in a set."""
        return sum(size * count for size, count in enumerate(self.sizes)) / self.inputs

    @property
    def interval(self) -> ConfidenceInterval:
        """The 95% interval of coverage for this calibration set (Clopper and Pearson)."""
        return clopper_pearson(self.held, self.inputs, COVERAGE_ALPHA)

    def to_dict(self) -> dict[str, Any]:
        """Return coverage and sizes as JSON."""
        return {
            "shift": self.shift,
            "inputs": self.inputs,
            "held": self.held,
            "coverage": self.coverage,
            "interval": list(self.interval),
            "mean_size": self.mean_size,
            "sizes": list(self.sizes),
            "mean_distance": self.mean_distance,
        }


@dataclass(frozen=True, slots=True)
class SetExample:
    """One input with its sets under each shift.

    Args:
        index: of the input.
        label: its class.
        answers: the classes of the set by shift.
        pictures: PNG of the input by shift, where it is an image.
    """

    index: int
    label: int
    answers: dict[str, tuple[int, ...]]
    pictures: dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Sizes and coverage of prediction sets on labelled data."""

    outcomes: tuple[ShiftOutcome, ...]
    examples: tuple[SetExample, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the examples."""
        return {"outcomes": [one.to_dict() for one in self.outcomes]}


def evaluate_sets(
    predictor: SetPredictor,
    dataset: Dataset,
    indices: Sequence[int] | None = None,
    shifts: Sequence[str] = tuple(SHIFT_KINDS),
    *,
    examples: int = 12,
    seed: int = 0,
    progress: Watch | None = None,
) -> Evaluation:
    """Answer for labelled inputs, as they are and moved, and compare with the labels.

    Args:
        predictor: gives the answers.
        dataset: labelled inputs that were not calibrated on.
        indices: which inputs; all of them when None.
        shifts: names in SHIFT_KINDS.
        examples: of how many inputs to keep sets and pictures.
        seed: of the shifts.
        progress: makes a counter that is told how far the work has come.
    """
    chosen = list(range(len(dataset))) if indices is None else [int(i) for i in indices]
    for shift in shifts:
        if shift not in SHIFT_KINDS:
            raise InvalidInput(f"`shifts` must be of {', '.join(SHIFT_KINDS)}, got {shift!r}")
    if dataset.labels is None or not chosen or not shifts:
        raise DataError("an evaluation needs labelled inputs, and a kind of shift")
    sets = predictor.sets
    refuse_calibrated(sets, dataset, chosen)
    mover = Mover(predictor.classifier, sets.query, sets.radius)
    tallies = {shift: _Tally(sets.model.num_classes) for shift in shifts}
    kept = []
    with nullcontext() if progress is None else progress(len(chosen)) as counter:
        for place, index in enumerate(chosen):
            label = int(dataset.labels[index])
            x = predictor.accepted(dataset.input(index), index)
            answers, pictures = {}, {}
            for shift, tally in tallies.items():
                rng = np.random.default_rng([seed, index])
                point = mover.moved(x, label, shift, rng)
                answer = predictor.predict(point, index=index)
                tally.add(answer.classes, label, x, point)
                answers[shift] = answer.classes
                if place < examples:
                    pictures[shift] = thumbnail(point, predictor.classifier.bounds)
            if place < examples:
                kept.append(SetExample(index, label, answers, pictures))
            if counter:
                counter.advance()
    outcomes = tuple(tally.outcome(shift) for shift, tally in tallies.items())
    return Evaluation(outcomes, tuple(kept))


def refuse_calibrated(sets: Sets, dataset: Dataset, indices: Sequence[int]) -> None:
    """Raise InvalidInput if some of these inputs calibrated the sets: they are not like new."""
    counted = sets.calibration
    both = set(indices) & set(counted.indices)
    if both and dataset.fingerprint == counted.data_fingerprint:
        raise InvalidInput(
            f"{len(both)} of these inputs calibrated the sets, so that their coverage says nothing "
            "of new ones; choose others (--start, --stop, --indices)"
        )


class _Tally:
    """Counts the sets of one kind of shift."""

    def __init__(self, classes: int) -> None:
        self.held, self.distance = 0, 0.0
        self.sizes = [0] * (classes + 1)

    def add(
        self,
        classes: tuple[int, ...],
        label: int,
        x: NDArray[np.float32],
        point: NDArray[np.float32],
    ) -> None:
        self.held += label in classes
        self.sizes[len(classes)] += 1
        self.distance += float(np.linalg.norm((point - x).astype(np.float64)))

    def outcome(self, shift: str) -> ShiftOutcome:
        mean = self.distance / sum(self.sizes)
        return ShiftOutcome(shift, self.held, tuple(self.sizes), mean)

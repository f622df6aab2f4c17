"""What prediction sets do on labelled data, clean and moved, and scores taken again."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.attack import Score
from dsrs.certifying import Retaken, Watch, refuse_other
from dsrs.classifiers import Classifier
from dsrs.confidence import ConfidenceInterval, clopper_pearson
from dsrs.conformal.calibration import Scoring, SetPlan, at_radius
from dsrs.conformal.scores import Query, log_probabilities
from dsrs.conformal.sets import SetPredictor, Sets, compare_sets, set_of
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.store import thumbnail

Floats = NDArray[np.float64]

# ---- Shifts of inputs that try to drive the true class out of its set
#
# The expected probability of the true class under noise is pushed down by gradient steps on the
# sphere of the radius: with back-propagation where the model can (SmoothAdv, Salman et al. 2019),
# else by Stein's formula from the model's answers alone (`attack.Score`). The search may fail to
# find the worst shift: coverage that it leaves proves nothing, and less coverage than promised
# would refute.

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


# ---- Sizes, and coverage as it is and under shifts
#
# Coverage that is measured here is of one calibration set and of some test inputs; what is promised
# holds on average over inputs, calibration sets and noise, not for each single input.

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
    """Raise InvalidInput if an input was used for calibration: coverage would be overstated."""
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


# ---- How the size of prediction sets grows with the radius, from the same queries for all radii
#
# Calibration scores and the scores of test inputs do not depend on the radius; the threshold does.
# Each point of the curve is what sets that were calibrated for that radius give. The promise of
# each of them holds on average over inputs, calibration sets and noise, not for each single input;
# a radius that is chosen by the curve needs another calibration set.


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


# ---- Take calibration scores again from their seed, and compare them with those of a file


def retake_scores(
    sets: Sets, classifier: Classifier, dataset: Dataset, count: int, *, device: str = "cpu"
) -> Iterator[Retaken]:
    """Take the scores of calibration inputs again, one input after another.

    Args:
        sets: the sets.
        classifier: the model that they say they asked.
        dataset: the data that they say they were calibrated on.
        count: how many inputs, chosen by fresh randomness of the operating system.
        device: where the model runs.

    Raises:
        OtherModel: what is served is not what was calibrated.
        DataError: the data is not that of the calibration.
    """
    if count < 1:
        raise InvalidInput(f"`votes` must be at least 1, got {count}")
    counted = sets.calibration
    refuse_other(compare_sets(sets, classifier, device), "the file of prediction sets")
    dataset = dataset.named_for(classifier)
    if dataset.fingerprint != counted.data_fingerprint:
        raise DataError(
            f"this is not the data of the calibration: its fingerprint is {dataset.fingerprint}, "
            f"and that of the calibration {counted.data_fingerprint}"
        )
    grid = None if sets.grid is None else sets.grid.grid
    plan = SetPlan(
        *(sets.law, sets.radius, sets.coverage, sets.score),
        calibration_draws=counted.draws,
        grid=grid,
        batch=sets.batch,
    )
    scoring = Scoring.of(classifier, dataset, plan, counted.indices[0])
    kept = np.array(counted.scores).reshape(counted.inputs, counted.draws)
    chosen = secrets.SystemRandom().sample(range(counted.inputs), min(count, counted.inputs))
    for place in sorted(chosen):
        index = counted.indices[place]
        again = scoring.of_label(index, counted.seed)
        away = float(np.abs(again - kept[place]).max())
        said = None if away == 0 else f"scores differ by up to {away:.3g} from those kept"
        if grid is not None and sets.grid is not None:
            moved = grid.distance(dataset.input(index))
            if moved > sets.grid.aside:
                said = f"it lies {moved:.3g} from the grid, beyond {sets.grid.aside:.3g}"
        yield Retaken(index, counted.draws, said)

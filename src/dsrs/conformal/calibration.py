"""Calibrate prediction sets: one noisy query of each calibration input, and a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import Watch, checked_input, checked_label
from dsrs.classifiers import Classifier, checked_classifier
from dsrs.conformal.level import ShiftProof, calibration_level
from dsrs.conformal.queries import CALIBRATION, Query, probe_answers, refuse_unless_row_by_row
from dsrs.conformal.rank import rank_for
from dsrs.conformal.scores import kind_of_outputs, score_named
from dsrs.conformal.sets import Calibration, SetGrid, SetModel, Sets, threshold_of
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import DEFAULT_GRID, GeneralizedGaussian, Grid, real_number, shown
from dsrs.methods import Plan
from dsrs.noise import check_seed, fresh_seed

T = TypeVar("T")
MOST_BATCH, MOST_DRAWS = 1024, 100_000
# Of a step, in every coordinate: what separates a grid point from how floats write it.
WRITTEN_ASIDE = 1e-6
FLOAT32_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class SetPlan:
    """What is promised, and how the model is asked.

    The promise is kept on average over inputs, calibration sets and noise, not for each single
    input.

    Args:
        law: the noise; its `d` is the number of values of one input.
        radius: how far (l2) every test input may have been moved.
        coverage: the probability with which a set holds the true class, at least.
        score: `threshold`, or `adaptive` (APS); see `dsrs.conformal.SCORES`.
        draws: noisy queries of an answer: with more than one it is the majority of as many sets,
            each of which has half of the misses.
        calibration_draws: noisy queries of each calibration input. More make the threshold
            steadier, and cost nothing when answers are given.
        confidence: None promises coverage on average over calibration sets; 0.95 promises it for
            19 of 20 of them, where calibration inputs are independent.
        grid: what inputs and noise are rounded to: "default", a `Grid`, or None for float32.
        off_grid: whether inputs and moved inputs may lie anywhere, which costs the distance to the
            grid; None: only if some calibration input does not lie on it.
        batch: rows of every forward pass, in calibration and in answers.
    """

    law: GeneralizedGaussian
    radius: float
    coverage: float = 0.9
    score: str = "threshold"
    draws: int = 1
    calibration_draws: int = 1
    confidence: float | None = None
    grid: Grid | Literal["default"] | None = DEFAULT_GRID
    off_grid: bool | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.law, GeneralizedGaussian):
            raise InvalidInput(f"`law` must be the law of the noise, got {shown(self.law)}")
        for name in ("coverage", "radius", "confidence"):
            if getattr(self, name) is not None:
                real_number(name, getattr(self, name))
        if not 0 < self.coverage < 1:
            raise InvalidInput(f"`coverage` must be in (0, 1), got {self.coverage!r}")
        if not self.radius >= 0:
            raise InvalidInput(f"`radius` must be at least 0, got {self.radius!r}")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise InvalidInput(f"`confidence` must be in (0, 1), got {self.confidence!r}")
        score_named(self.score)
        for name, value, most in (
            ("draws", self.draws, MOST_DRAWS),
            ("calibration_draws", self.calibration_draws, MOST_DRAWS),
            ("batch", self.batch, MOST_BATCH),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise InvalidInput(
                    f"`{name}` must be a whole number from 1 to {most}, got {value!r}"
                )


def calibrate(
    classifier: Classifier,
    dataset: Dataset,
    plan: SetPlan,
    indices: Sequence[int] | None = None,
    *,
    seed: int | None = None,
    device: str = "cpu",
    workers: int = 1,
    progress: Watch | None = None,
) -> Sets:
    """Prediction sets that keep their coverage although test inputs are moved.

    The promise is kept on average over inputs, calibration sets and noise, not for each single
    input. It needs calibration inputs and clean test inputs that are exchangeable (drawn alike, in
    any order), which the model was not trained on and which chose neither the model nor the plan.

    Args:
        classifier: the model; it must return logits or probabilities.
        dataset: labelled inputs.
        plan: what is promised.
        indices: which inputs; all of them when None.
        seed: of the noise of calibration, which may be public; drawn when None.
        device: where the model runs, for the record.
        workers: threads.
        progress: makes a counter that is told how far the work has come.
    """
    checked_classifier(classifier)
    dataset.check_fits(classifier.input_shape, classifier.num_classes, classifier.bounds)
    dataset = dataset.named_for(classifier)
    chosen = list(range(len(dataset))) if indices is None else [int(i) for i in indices]
    if not chosen:
        raise InvalidInput("`indices` must name at least one calibration input")
    if len(set(chosen)) < len(chosen):
        raise InvalidInput("`indices` must differ from each other: an input counts once")
    if dataset.labels is None:
        raise DataError("calibration needs labels: the true class of each calibration input")
    seed = fresh_seed() if seed is None else seed
    check_seed(seed)
    scoring = Scoring.of(classifier, dataset, plan, chosen[0])
    found = []
    with nullcontext() if progress is None else progress(len(chosen)) as counter:
        for scores in mapped(lambda i: scoring.of_label(i, seed), chosen, workers):
            found += scores.tolist()
            if counter:
                counter.advance(votes=len(scores))
    return scoring.sets(found, seed, chosen, model_of(classifier, scoring.query, device))


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the calibration inputs of a data set are scored."""

    classifier: Classifier
    dataset: Dataset
    plan: SetPlan
    sampling: Plan
    query: Query

    @classmethod
    def of(cls, classifier: Classifier, dataset: Dataset, plan: SetPlan, first: int) -> Scoring:
        """The scoring of a plan; raises where the model has no scores or is no function."""
        sampling = Plan(plan.law, ("np",), grid=plan.grid).on_grid_of(classifier.bounds)
        x = checked_input(classifier, dataset.input(first), sampling, first)
        asked = Query(plan.law, sampling.known_grid, plan.score, "logits", plan.batch)
        refuse_unless_row_by_row(classifier, x, asked)
        outputs = kind_of_outputs(probe_answers(classifier, asked))
        return cls(classifier, dataset, plan, sampling, replace(asked, outputs=outputs))

    def input(self, index: int) -> NDArray[np.float32]:
        """An input, checked."""
        return checked_input(self.classifier, self.dataset.input(index), self.sampling, index)

    def of_label(self, index: int, seed: int) -> NDArray[np.float64]:
        """The scores of the true class of an input, one for each draw of noise."""
        label = checked_label(self.classifier, self.dataset.label(index), index)
        key = (CALIBRATION, seed, index)
        draws = self.plan.calibration_draws
        return self.query.scores(self.classifier, self.input(index), draws, key)[:, label]

    def sets(self, scores: Sequence[float], seed: int, chosen: list[int], model: SetModel) -> Sets:
        """The sets of these calibration scores."""
        plan, data = self.plan, self.dataset
        moved = farthest(data, chosen, self.query.grid)
        grid = set_grid(plan, self.query.grid, self.classifier.bounds, moved)
        proof, level = level_on_grid(plan, plan.radius, grid)
        draws, kept = plan.calibration_draws, tuple(scores)
        rank = rank_for(level, len(chosen), draws, plan.confidence)
        facts = (data.name, data.fingerprint, tuple(chosen))
        return Sets(
            coverage=plan.coverage,
            radius=plan.radius,
            law=plan.law,
            level=level,
            proof=proof,
            threshold=threshold_of(kept, rank),
            score=plan.score,
            outputs=self.query.outputs,
            batch=plan.batch,
            draws=plan.draws,
            confidence=plan.confidence,
            grid=grid,
            calibration=Calibration(len(chosen), draws, kept, rank, seed, *facts),
            model=model,
        )


def at_radius(sets: Sets, radius: float) -> Sets:
    """The sets for another radius, from the same calibration scores.

    They keep their promise if the radius was chosen without a look at the calibration inputs or at
    those of the test.
    """
    counted = sets.calibration
    proof, level = level_on_grid(sets, radius, sets.grid)
    rank = rank_for(level, counted.inputs, counted.draws, sets.confidence)
    return replace(
        sets,
        radius=radius,
        level=level,
        proof=proof,
        threshold=threshold_of(counted.scores, rank),
        calibration=replace(counted, rank=rank),
    )


def model_of(classifier: Classifier, query: Query, device: str) -> SetModel:
    """What the sets are about."""
    probes = probe_answers(classifier, query)
    return SetModel(
        classifier.fingerprint,
        classifier.description,
        tuple(classifier.input_shape),
        tuple(map(float, classifier.bounds)),
        classifier.num_classes,
        device.partition(":")[0],
        tuple(tuple(row) for row in probes.tolist()),
    )


def farthest(dataset: Dataset, indices: Sequence[int], grid: Grid | None) -> float:
    """How far (l2) one of these inputs is from its grid point, at most."""
    if grid is None:
        return 0.0
    return max(grid.distance(dataset.input(index)) for index in indices)


def set_grid(
    plan: SetPlan, grid: Grid | None, bounds: tuple[float, float], moved: float
) -> SetGrid | None:
    """The grid of sets, with what inputs may lie aside of it.

    An input that is rounded to the grid moves by sqrt(d) h / 2 at most, and by what float32 writes
    otherwise; both the clean input and the one that arrives do, so that the proof is for a shift
    longer by twice that. Inputs that are grid points only differ from them by how floats write
    them.
    """
    if grid is None:
        return None
    root = math.sqrt(plan.law.d) * (1 + 1e-12)
    aside = root * WRITTEN_ASIDE * grid.step
    off = moved > aside if plan.off_grid is None else plan.off_grid
    if moved > aside and not off:
        raise DataError(
            f"a calibration input lies {moved:.3g} (l2) from the nearest grid point, so that "
            "`off_grid` must not be False"
        )
    if off:
        size = max(map(abs, bounds))
        aside = root * (grid.step / 2 + 2 * FLOAT32_UNIT * size) * (1 + 1e-9)
    return SetGrid(grid.step, grid.origin, grid.variation(plan.law), aside)


def level_on_grid(
    promise: SetPlan | Sets, radius: float, grid: SetGrid | None
) -> tuple[ShiftProof, float]:
    """The proof and the level for a radius, longer by what inputs may lie aside of the grid."""
    law, coverage, draws = promise.law, promise.coverage, promise.draws
    if grid is None:
        return calibration_level(law, radius, coverage, draws, 0.0)
    reach = math.nextafter(radius + 2 * grid.aside, math.inf) if grid.aside else radius
    return calibration_level(law, reach, coverage, draws, grid.variation)


def mapped(work: Callable[[int], T], indices: Sequence[int], workers: int) -> Iterator[T]:
    """The results of `work` for all indices, in their order, from so many threads."""
    if workers == 1:
        yield from map(work, indices)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(work, indices)

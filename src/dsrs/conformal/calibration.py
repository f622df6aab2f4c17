"""Calibrate prediction sets: one noisy query of each calibration input, a threshold, a noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import Watch, checked_input, checked_label
from dsrs.classifiers import Classifier, checked_classifier
from dsrs.conformal.level import ShiftProof, calibration_level, fewest_inputs, rank_for
from dsrs.conformal.scores import (
    CALIBRATION,
    SCORES,
    TUNING,
    Query,
    kind_of_outputs,
    probe_answers,
    refuse_unless_row_by_row,
    score_named,
    uniform_numbers,
)
from dsrs.conformal.sets import Calibration, SetGrid, SetModel, Sets, threshold_of
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import DEFAULT_GRID, GeneralizedGaussian, Grid, real_number, shown
from dsrs.methods import Plan
from dsrs.noise import check_seed, fresh_seed

# ---- Calibration

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


# ---- Which noise gives the smallest sets, predicted on inputs that calibration will not see
#
# More noise lowers the level that a radius asks for, and blurs the model. Where the two balance is
# told by the model alone: each candidate is tried on the tuning inputs, whose halves stand for
# calibration and test in turn. The choice makes its own inputs look better than they are, and
# inputs that chose the noise are no longer exchangeable with new ones: calibrate on others.
#
# A prediction is no promise. The promise of sets that are calibrated afterwards holds on average
# over inputs, calibration sets and noise, not for each single input.

Floats = NDArray[np.float64]
# Of the radius: the candidates where none are named.
FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
# Of each tuning input, at least: a high level asks for a score that few draws exceed.
FEWEST_DRAWS = 8
TUNING_SEED = 0  # nothing is promised of these inputs: their noise may be public


@dataclass(frozen=True, slots=True)
class SetForecast:
    """What sets under one noise and score are predicted to be.

    Args:
        law: the noise.
        score: the name of the score.
        level: the clean coverage that calibration must be for.
        mean_size: predicted mean number of classes in a set.
        error: standard error of `mean_size`, over the tuning inputs and their two halves.
        fewest_inputs: calibration inputs that a finite threshold takes; None: no number does.
    """

    law: GeneralizedGaussian
    score: str
    level: float
    mean_size: float
    error: float
    fewest_inputs: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as JSON."""
        return asdict(self) | {"law": self.law.to_dict()}


def tune_sets(
    classifier: Classifier,
    dataset: Dataset,
    plan: SetPlan,
    sigmas: Sequence[float] | None = None,
    indices: Sequence[int] | None = None,
    *,
    scores: Sequence[str] = tuple(SCORES),
    inputs: int = 1000,
    workers: int = 1,
    progress: Watch | None = None,
) -> list[SetForecast]:
    """The predicted size of sets for every noise and score, the smallest first.

    Args:
        classifier: the model.
        dataset: labelled inputs, which calibration and tests must not use.
        plan: what will be promised; its sigma and score are replaced.
        sigmas: the sizes of noise to try; multiples of the radius when None.
        indices: which inputs; all of them when None.
        scores: the scores to try.
        inputs: how many calibration inputs there will be.
        workers: threads.
        progress: makes a counter that is told how far the work has come.
    """
    chosen = list(range(len(dataset))) if indices is None else [int(i) for i in indices]
    tried = [factor * plan.radius for factor in FACTORS] if sigmas is None else list(sigmas)
    if len(chosen) < 2 or not tried or not all(0 < sigma < math.inf for sigma in tried):
        raise InvalidInput("tuning needs two inputs or more, and `sigmas` that are positive")
    if dataset.labels is None:
        raise DataError("tuning needs labels: the true class of each input")
    labels = np.array([dataset.label(index) for index in chosen])
    found = []
    with nullcontext() if progress is None else progress(len(chosen) * len(tried)) as counter:
        for sigma in tried:
            law = replace(plan.law, sigma=sigma)
            scoring = Scoring.of(classifier, dataset, replace(plan, law=law), chosen[0])
            looked = _Look.taken(scoring, chosen, workers, counter)
            found += [looked.forecast(score, labels, inputs) for score in scores]
    return sorted(found, key=lambda one: one.mean_size)


@dataclass(frozen=True, slots=True)
class _Look:
    """The answers of the model to tuning inputs under one noise."""

    scoring: Scoring
    logs: Floats  # (inputs, draws, classes): logarithms of probabilities
    uniforms: Floats  # (inputs, draws)

    @classmethod
    def taken(cls, scoring: Scoring, chosen: list[int], workers: int, counter: Any) -> _Look:
        plan, seed = scoring.plan, TUNING_SEED
        draws = max(plan.draws, plan.calibration_draws, FEWEST_DRAWS)
        query = replace(scoring.query, batch=draws)  # faster, and the rounding does not matter

        def logs_of(index: int) -> Floats:
            x, key = scoring.input(index), (TUNING, seed, index)
            return query.log_probabilities(scoring.classifier, x, draws, key)

        logs = []
        for one in mapped(logs_of, chosen, workers):
            logs.append(one)
            if counter:
                counter.advance(votes=draws)
        uniforms = [uniform_numbers(draws, (TUNING, seed, index)) for index in chosen]
        return cls(scoring, np.stack(logs), np.stack(uniforms))

    def forecast(self, score: str, labels: NDArray[np.int64], inputs: int) -> SetForecast:
        """The size of sets of this score, each half of the inputs under the threshold of the
        other."""
        plan, grid = self.scoring.plan, self.scoring.query.grid
        aside = set_grid(plan, grid, self.scoring.classifier.bounds, 0.0)
        _, level = level_on_grid(plan, plan.radius, aside)
        count, draws, classes = self.logs.shape
        flat = SCORES[score].of(self.logs.reshape(-1, classes), self.uniforms.ravel())
        scores = flat.reshape(count, draws, classes)
        rank = rank_for(level, inputs, plan.calibration_draws, plan.confidence)
        # Where the score of this rank is expected; beyond the last one there is none.
        drawn = inputs * plan.calibration_draws
        share = rank / (drawn + 1) if rank <= drawn else math.inf
        order = np.random.default_rng(0).permutation(count)
        halves = order[::2], order[1::2]
        sizes = []
        for half, other in (halves, halves[::-1]):
            true = np.sort(scores[other, :, labels[other]].ravel())
            # As in calibration: a level that so few scores cannot show takes all classes.
            place = share * (true.size + 1)
            threshold = true[max(math.ceil(place), 1) - 1] if place <= true.size else math.inf
            inside = scores[half, : draws - draws % plan.draws] <= threshold
            grouped = inside.reshape(len(half), -1, plan.draws, classes).sum(axis=2)
            sizes.append((2 * grouped > plan.draws).sum(axis=2).mean(axis=1))
        spread = np.concatenate(sizes).std(ddof=1) / math.sqrt(count)
        between = abs(sizes[0].mean() - sizes[1].mean()) / 2
        mean, error = float(np.concatenate(sizes).mean()), float(math.hypot(spread, between))
        return SetForecast(plan.law, score, level, mean, error, fewest_inputs(level))

"""Which noise gives the smallest sets, predicted on inputs that calibration will not see.

More noise lowers the level that a radius asks for, and blurs the model. Where the two balance is
told by the model alone: each candidate is tried on the tuning inputs, whose halves stand for
calibration and test in turn. The choice makes its own inputs look better than they are, and inputs
that chose the noise are no longer exchangeable with new ones: calibrate on others.

A prediction is no promise. The promise of sets that are calibrated afterwards holds on average over
inputs, calibration sets and noise, not for each single input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import Watch
from dsrs.classifiers import Classifier
from dsrs.conformal.calibration import Scoring, SetPlan, level_on_grid, mapped, set_grid
from dsrs.conformal.queries import TUNING, uniform_numbers
from dsrs.conformal.rank import fewest_inputs, rank_for
from dsrs.conformal.scores import SCORES
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian

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

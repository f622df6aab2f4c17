"""Predicted sizes of sets, against sets that are calibrated afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from conformal.planted import BOUNDS, at_origin, half_space, linear
from dsrs.conformal import SetPlan, SetPredictor, calibrate, tune_sets
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian

WEIGHTS = np.random.default_rng(1).standard_normal((4, 6))
PLAN = SetPlan(GeneralizedGaussian(6, 1.0), 0.5, 0.8)


def data(count: int) -> Dataset:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, count)
    x = 3 * WEIGHTS[labels] + rng.standard_normal((count, 6))
    step = 100 / 4080
    rounded = (np.round(x / step) * step).astype(np.float32)
    return Dataset.from_arrays(rounded, labels, bounds=BOUNDS)


def test_the_prediction_holds_for_sets_that_are_calibrated_on_others() -> None:
    model, inputs = linear(WEIGHTS), data(900)
    found = tune_sets(model, inputs, PLAN, (0.5, 1.0, 4.0), range(300), inputs=300)
    assert [one.mean_size for one in found] == sorted(one.mean_size for one in found)
    assert len(found) == 6
    for one in found:
        plan = SetPlan(one.law, PLAN.radius, PLAN.coverage, one.score)
        sets = calibrate(model, inputs, plan, range(300, 600), seed=1)
        assert sets.level == one.level
        predictor = SetPredictor(model, sets, seed=2)
        sizes = [len(predictor.predict(inputs.input(i), index=i)) for i in range(600, 900)]
        # Both means vary, and with them the thresholds: some two errors each.
        assert abs(np.mean(sizes) - one.mean_size) <= 8 * one.error + 0.15, one


def test_too_few_calibration_inputs_are_seen_beforehand() -> None:
    plan = SetPlan(GeneralizedGaussian(6, 1.0), 2.0, 0.9)
    (one,) = tune_sets(linear(WEIGHTS), data(40), plan, (1.0,), scores=("threshold",), inputs=100)
    assert one.mean_size == 4
    assert one.fewest_inputs is not None
    assert one.fewest_inputs > 100


def test_the_largest_calibration_score_may_be_the_threshold() -> None:
    # Rank 60 of 60: a finite threshold, which the prediction must not take for all classes.
    plan = SetPlan(GeneralizedGaussian(6, 1.0), 0.0, 0.98)
    (one,) = tune_sets(linear(WEIGHTS), data(40), plan, (1.0,), scores=("threshold",), inputs=60)
    assert one.fewest_inputs is not None
    assert one.fewest_inputs <= 60
    assert one.mean_size < 4


def test_what_cannot_be_tuned_is_refused() -> None:
    with pytest.raises(InvalidInput, match="sigmas"):
        tune_sets(half_space(), at_origin(5), PLAN, (0.0,))
    unlabelled = Dataset.from_arrays(np.zeros((5, 2), np.float32), bounds=BOUNDS)
    with pytest.raises(DataError, match="labels"):
        tune_sets(half_space(), unlabelled, PLAN, (1.0,))

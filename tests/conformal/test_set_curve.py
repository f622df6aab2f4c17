"""The curve of sizes against radius, against sets that are calibrated for each radius."""

from __future__ import annotations

import numpy as np
import pytest

import dsrs
from conformal.planted import BOUNDS, linear
from dsrs.conformal import SetPlan, SetPredictor, at_radius, calibrate, size_curve
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian

WEIGHTS = np.random.default_rng(1).standard_normal((4, 6))
LAW = GeneralizedGaussian(6, 1.0)
RADII = (0.0, 0.25, 0.5, 3.0)


def data(count: int) -> Dataset:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, count)
    x = 3 * WEIGHTS[labels] + rng.standard_normal((count, 6))
    step = 100 / 4080
    rounded = (np.round(x / step) * step).astype(np.float32)
    return Dataset.from_arrays(rounded, labels, bounds=BOUNDS)


@pytest.mark.parametrize(
    "options", [{}, {"draws": 3, "calibration_draws": 2}, {"confidence": 0.9}], ids=str
)
def test_each_point_is_that_of_sets_calibrated_for_its_radius(options: dict[str, float]) -> None:
    model, inputs = linear(WEIGHTS), data(120)
    given = calibrate(model, inputs, SetPlan(LAW, 1.0, 0.8, **options), range(80), seed=1)  # type: ignore[arg-type]
    points = size_curve(SetPredictor(model, given, seed=3), inputs, RADII, range(80, 120))
    for radius, point in zip(RADII, points, strict=True):
        plan = SetPlan(LAW, radius, 0.8, **options)  # type: ignore[arg-type]
        sets = calibrate(model, inputs, plan, range(80), seed=1)
        assert at_radius(given, radius) == sets
        assert repr(dsrs.check(at_radius(given, radius))) == repr(dsrs.check(sets))
        predictor = SetPredictor(model, sets, seed=3)
        answers = [predictor.predict(inputs.input(i), index=i) for i in range(80, 120)]
        assert point.mean_size == np.mean([len(answer) for answer in answers])
        assert point.held == sum(inputs.label(i + 80) in one for i, one in enumerate(answers))
        assert (point.radius, point.level, point.inputs) == (radius, sets.level, 40)
    assert [point.mean_size for point in points] == sorted(point.mean_size for point in points)
    assert points[-1].mean_size == 4  # r = 3 sigma: no 80 inputs show so high a level


def test_inputs_of_the_calibration_and_odd_radii_are_refused() -> None:
    model, inputs = linear(WEIGHTS), data(100)
    sets = calibrate(model, inputs, SetPlan(LAW, 0.5), range(80), seed=1)
    predictor = SetPredictor(model, sets)
    with pytest.raises(InvalidInput, match="10 of these inputs calibrated"):
        size_curve(predictor, inputs, (0.5,), range(70, 90))
    for radii in ((), (-1.0,), (float("nan"),)):
        with pytest.raises(InvalidInput, match="radii"):
            size_curve(predictor, inputs, radii, range(80, 100))

"""Calibrated sets: files, answers, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dsrs
from conformal.planted import BOUNDS, at_origin, half_space, linear
from dsrs.classifiers import Classifier, from_callable
from dsrs.conformal import SetPlan, SetPredictor, Sets, calibrate
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput, NoScores, NotAFunction, OtherModel
from dsrs.laws import GeneralizedGaussian, Grid

LAW = GeneralizedGaussian(2, 1.0)
ORIGIN = np.zeros(2, np.float32)


def calibrated(count: int = 40, **options: Any) -> Sets:
    plan = SetPlan(LAW, options.pop("radius", 0.5), **options)
    return calibrate(half_space(), at_origin(count), plan, seed=3)


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = [{}, {"grid": None}, {"confidence": 0.9}, {"radius": 8.0}]
    for options in tried:
        sets = calibrated(**options)
        sets.save(tmp_path / "sets.json")
        assert Sets.load(tmp_path / "sets.json") == sets


def test_the_guarantee_says_that_it_is_no_promise_for_each_input() -> None:
    tried: list[dict[str, Any]] = [{}, {"confidence": 0.9}, {"radius": 0.0}]
    for options in tried:
        assert "not for each single input" in calibrated(**options).guarantee
    for described in (Sets, SetPredictor, calibrate, SetPlan, dsrs.conformal.PredictionSet):
        assert "not for each single" in " ".join(str(described.__doc__).split())


def test_calibration_repeats_and_does_not_depend_on_threads() -> None:
    plan = SetPlan(LAW, 0.5, calibration_draws=3)
    found = [calibrate(half_space(), at_origin(30), plan, seed=3, workers=w) for w in (1, 4)]
    assert found[0] == found[1]
    other = calibrate(half_space(), at_origin(30), plan, seed=4)
    assert other.calibration.scores != found[0].calibration.scores


def test_scores_of_an_input_depend_on_its_number_alone() -> None:
    plan = SetPlan(LAW, 0.5)
    some, all_ = (calibrate(half_space(), at_origin(30), plan, i, seed=3) for i in ([7, 2], None))
    scores = all_.calibration.scores
    assert some.calibration.scores == (scores[7], scores[2])


def test_scores_do_not_depend_on_how_many_draws_are_taken_at_once() -> None:
    weights = np.random.default_rng(0).standard_normal((7, 2))
    model, data = linear(weights), at_origin(20)
    for score in ("threshold", "adaptive"):
        one, many = (
            calibrate(model, data, SetPlan(LAW, 0.1, score=score, calibration_draws=m), seed=1)
            for m in (1, 9)
        )
        assert one.calibration.scores == many.calibration.scores[::9]


def test_each_answer_has_its_own_noise() -> None:
    predictor = SetPredictor(half_space(), calibrated())
    first, second = predictor.predict(ORIGIN), predictor.predict(ORIGIN)
    assert first.seed != second.seed
    assert not first.seed_public
    again = SetPredictor(half_space(), calibrated(), seed=first.seed).predict(ORIGIN)
    assert again == replace(first, seed_public=True)


def test_answers_do_not_use_the_noise_of_calibration() -> None:
    """A public seed serves both: the streams are still others."""
    sets = calibrated(count=300, radius=0.0, calibration_draws=1)
    predictor = SetPredictor(half_space(), sets, seed=3)
    inside = [0 in predictor.predict(ORIGIN, index=i) for i in range(300)]
    assert inside != [score <= sets.threshold for score in sets.calibration.scores]


def test_one_draw_asks_the_model_once() -> None:
    rows = []

    def logits(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        rows.append(len(batch))
        return batch

    model = from_callable(logits, (2,), 2, bounds=BOUNDS, fingerprint="counted")
    for draws in (1, 4):
        sets = calibrate(model, at_origin(30), SetPlan(LAW, 0.5, draws=draws), seed=1)
        predictor = SetPredictor(model, sets)
        rows.clear()
        predictor.predict(ORIGIN)
        assert rows == [1] * draws


def test_too_few_inputs_give_all_classes() -> None:
    sets = calibrated(count=5, radius=1.0)
    assert sets.says_nothing
    assert SetPredictor(half_space(), sets).predict(ORIGIN).classes in ((0, 1), (1, 0))


def test_a_set_may_be_empty() -> None:
    sets = calibrated(radius=0.0, coverage=0.01)
    far = np.array([0.0, 0.0], np.float32)
    predictor = SetPredictor(half_space(), sets, seed=1)
    sizes = {len(predictor.predict(far, index=i)) for i in range(40)}
    assert 0 in sizes


def test_classifiers_that_return_classes_only_are_refused_with_the_reason() -> None:
    classes = from_callable(lambda batch: (batch[:, 0] > 0).astype(int), (2,), 2, bounds=BOUNDS)
    with pytest.raises(NoScores, match="returns classes only: which classes nearly won"):
        calibrate(classes, at_origin(5), SetPlan(LAW, 0.5))

    class Own(Classifier):
        input_shape, num_classes, bounds, description = (2,), 2, BOUNDS, "own"
        fingerprint = "own"

        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            return np.zeros(len(batch), np.int64)

    with pytest.raises(NoScores, match="own returns classes only"):
        calibrate(Own(), at_origin(5), SetPlan(LAW, 0.5))


def test_a_model_that_draws_at_random_is_refused() -> None:
    rng = np.random.default_rng(0)
    model = from_callable(
        lambda batch: batch + 1e-3 * rng.standard_normal(batch.shape),
        *((2,), 2),
        bounds=BOUNDS,
        fingerprint="dropout",
    )
    with pytest.raises(NotAFunction, match="the same scores for the same row"):
        calibrate(model, at_origin(5), SetPlan(LAW, 0.5))


def test_another_model_is_refused() -> None:
    sets = calibrated()
    with pytest.raises(OtherModel, match="fingerprint"):
        SetPredictor(linear(np.eye(2)), sets)
    with pytest.raises(OtherModel, match=r"device: .* cpu, served is cuda"):
        SetPredictor(half_space(), sets, device="cuda:1")


@pytest.mark.parametrize(("dtype", "refused"), [("float32", False), ("float16", True)])
def test_another_precision_of_the_same_model_is_refused(
    dtype: str, refused: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def served(precision: Any) -> Classifier:
        weights = np.array([[-1.0, 0.3], [0.7, 0.1]])

        def logits(batch: NDArray[np.float32]) -> NDArray[np.float64]:
            found = batch.astype(precision) @ weights.astype(precision)
            return np.asarray(found, dtype=np.float64)

        return from_callable(logits, (2,), 2, bounds=BOUNDS, fingerprint="one model")

    sets = calibrate(served("float64"), at_origin(30), SetPlan(LAW, 0.5), seed=1)
    if not refused:
        SetPredictor(served(dtype), sets)
        assert "rounds otherwise than in calibration" in caplog.text
        return
    with pytest.raises(OtherModel, match="precision"):
        SetPredictor(served(dtype), sets)


def test_inputs_off_the_grid_are_refused_unless_they_were_paid_for() -> None:
    off = np.array([0.01, 0.0], np.float32)
    with pytest.raises(DataError, match="off_grid=True"):
        SetPredictor(half_space(), calibrated()).predict(off)
    paid = calibrated(off_grid=True)
    assert paid.grid is not None
    step = 100 / 4080
    assert paid.proof.radius >= 0.5 + math.sqrt(2) * step
    SetPredictor(half_space(), paid).predict(off)
    # As a grid point is written in double precision, it is one.
    SetPredictor(half_space(), calibrated()).predict(np.array([41 * step - 50, -50 + 7 * step]))


def test_calibration_inputs_off_the_grid_are_paid_for_unasked() -> None:
    data = Dataset.from_arrays(np.full((30, 2), 0.011, np.float32), [0] * 30, bounds=BOUNDS)
    sets = calibrate(half_space(), data, SetPlan(LAW, 0.5))
    assert sets.grid is not None
    assert sets.grid.aside > 0.01
    with pytest.raises(DataError, match="off_grid"):
        calibrate(half_space(), data, SetPlan(LAW, 0.5, off_grid=False))


def test_without_a_grid_the_caveat_is_told() -> None:
    sets = calibrated(grid=None)
    assert sets.caveats
    assert not calibrated().caveats
    assert sets.proof.radius == sets.radius


def test_a_grid_that_drowns_the_noise_is_refused() -> None:
    with pytest.raises(InvalidInput, match="step of the grid"):
        calibrated(grid=Grid(1.0, -50.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 1.0}, "coverage"),
        ({"coverage": float("nan")}, "coverage"),
        ({"radius": -0.1}, "radius"),
        ({"confidence": 1.0}, "confidence"),
        ({"draws": 0}, "draws"),
        ({"draws": 1.5}, "draws"),
        ({"calibration_draws": 0}, "calibration_draws"),
        ({"batch": 0}, "batch"),
        ({"score": "margin"}, "score"),
    ],
)
def test_a_plan_that_is_none_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SetPlan(LAW, **{"radius": 0.5} | options)


def test_inputs_count_once_and_need_labels() -> None:
    with pytest.raises(InvalidInput, match="differ from each other"):
        calibrate(half_space(), at_origin(5), SetPlan(LAW, 0.5), [1, 2, 1])
    unlabelled = replace(at_origin(5), labels=None)
    with pytest.raises(DataError, match="needs labels"):
        calibrate(half_space(), unlabelled, SetPlan(LAW, 0.5))


def changed(sets: Sets, path: str, value: Any) -> dict[str, Any]:
    fields: Any = json.loads(json.dumps(sets.to_dict()))
    *outer, last = path.split(".")
    inner = fields
    for name in outer:
        inner = inner[name]
    inner[last] = value
    return dict(fields)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("threshold", -1.0),
        ("level", 0.5),
        ("calibration.rank", 3),
        ("radius", 0.7),
        ("coverage", 0.95),
        ("draws", 5),
        ("confidence", 0.99),
        ("score", "unheard of"),
        ("threshold", None),
        ("kind", "certificate"),
        ("format", 2),
        ("more", 1),
        *((name, "inf") for name in ("level", "radius", "coverage", "grid.aside")),
        *((f"proof.{name}", "inf") for name in ("radius", "multiplier", "overlap")),
        ("proof.multiplier", 0.0),
        ("grid.variation", -1.0),
        ("radius", -1.0),
    ],
)
def test_a_file_that_does_not_follow_is_not_read(path: str, value: Any) -> None:
    with pytest.raises(DataError):
        Sets.from_dict(changed(calibrated(), path, value))


def test_batches_are_part_of_the_question() -> None:
    rows = []

    def logits(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        rows.append(len(batch))
        return batch

    model = from_callable(logits, (2,), 2, bounds=BOUNDS, fingerprint="counted")
    sets = calibrate(model, at_origin(6), SetPlan(LAW, 0.1, calibration_draws=5, batch=4), seed=1)
    rows.clear()
    SetPredictor(model, sets).predict(ORIGIN)
    assert set(rows) == {4}
    alone = calibrate(model, at_origin(6), SetPlan(LAW, 0.1, calibration_draws=5), seed=1)
    assert alone.calibration.scores == sets.calibration.scores

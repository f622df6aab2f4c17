"""Shifts that try to break sets, and the report of what they did."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from conformal.planted import BOUNDS, at_origin, half_space
from dsrs.classifiers import Classifier, from_callable
from dsrs.cli import evaluation_text
from dsrs.conformal import (
    SHIFT_KINDS,
    Evaluation,
    Mover,
    Query,
    SetPlan,
    SetPredictor,
    ShiftOutcome,
    calibrate,
    evaluate_sets,
)
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.reports import sets_page
from reports.headless_chromium import HeadlessChromium, find_chromium

LAW = GeneralizedGaussian(16, 1.0)
STEP = 100 / 4080
QUERY = Query(LAW, Grid(STEP, -50.0), "threshold", "logits")


def with_gradient(model: Classifier) -> Classifier:
    """The half-space with its true gradient, whose sign is all that a step uses."""

    def gradient(batch: NDArray[np.float32], scores: NDArray[np.float64]) -> NDArray[np.float32]:
        slopes = np.zeros_like(batch)
        slopes[:, 0] = scores[1] - scores[0]
        return slopes

    return replace(model, score_gradient=gradient)  # type: ignore[type-var]


@pytest.mark.parametrize("shift", SHIFT_KINDS)
@pytest.mark.parametrize("clipped", [False, True])
def test_no_shift_is_longer_than_the_radius(shift: str, clipped: bool) -> None:
    mover = Mover(half_space(16), QUERY, 0.8)
    x = np.full(16, 50.0 if clipped else 0.0, np.float32)
    point = mover.moved(x, 0, shift, np.random.default_rng(0))
    assert np.linalg.norm(point.astype(np.float64) - x) <= 0.8
    assert QUERY.grid is not None
    assert QUERY.grid.distance(point) == 0
    assert point.min() >= BOUNDS[0]
    assert point.max() <= BOUNDS[1]


@pytest.mark.parametrize("back_propagates", [True, False])
def test_the_attack_finds_the_gradient(back_propagates: bool) -> None:
    model = with_gradient(half_space(16)) if back_propagates else half_space(16)
    mover = Mover(model, QUERY, 1.0)
    x = np.zeros(16, np.float32)
    point = mover.moved(x, 0, "attack", np.random.default_rng(0))
    assert point[0] > (0.9 if back_propagates else 0.7)


def test_the_attack_costs_coverage_and_the_promise_is_kept() -> None:
    model, data = half_space(16), at_origin(500, 16)
    sets = calibrate(model, data, SetPlan(LAW, 1.0), range(200), seed=1)
    predictor = SetPredictor(model, sets, seed=1)
    found = evaluate_sets(predictor, data, range(200, 500), examples=2)
    none, random, attack = found.outcomes
    assert none.coverage >= random.coverage >= attack.coverage
    assert attack.coverage < none.coverage
    assert attack.coverage > 0.8
    assert none.inputs == sum(none.sizes) == 300
    low, high = none.interval
    assert low <= none.coverage <= high
    assert attack.mean_distance > 0.8
    assert none.mean_distance == 0


def test_a_share_in_percent_is_not_rounded_twice() -> None:
    # 100 * 0.29 is less than 29 in floating point.
    outcome = ShiftOutcome("none", 29, (0, 100), 0.0)
    assert evaluation_text(Evaluation((outcome,), ())).splitlines()[2].split()[2] == "29.0"


def test_calibration_inputs_are_no_test_inputs() -> None:
    model, data = half_space(2), at_origin(50)
    sets = calibrate(model, data, SetPlan(GeneralizedGaussian(2, 1.0), 0.1), range(30), seed=1)
    predictor = SetPredictor(model, sets)
    with pytest.raises(InvalidInput, match="5 of these inputs calibrated"):
        evaluate_sets(predictor, data, range(25, 50))
    with pytest.raises(InvalidInput, match="shifts"):
        evaluate_sets(predictor, data, range(30, 50), ("sideways",))
    unlabelled = Dataset.from_arrays(np.zeros((5, 2), np.float32), bounds=BOUNDS)
    with pytest.raises(DataError, match="labelled"):
        evaluate_sets(predictor, unlabelled)


class Tags(HTMLParser):
    """The tags of a page, which must close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.images += tag == "img"
        if tag not in ("meta", "img", "rect", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect",):
            assert self.open.pop() == tag


def example_page() -> str:
    """A page of sets with three examples."""

    def logits(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        mean = batch.mean(axis=(1, 2, 3))
        return np.stack([-mean, mean, mean - 1], axis=1)

    model = from_callable(logits, (1, 4, 4), 3)
    images = np.random.default_rng(0).integers(0, 256, (60, 1, 4, 4)).astype(np.uint8)
    data = Dataset.from_arrays(images, [0, 1, 2] * 20, class_names=("<a>", "b", "c"))
    law = GeneralizedGaussian(16, 0.5)
    sets = calibrate(model, data, SetPlan(law, 0.1), range(40), seed=1)
    found = evaluate_sets(SetPredictor(model, sets), data, range(40, 60), examples=3)
    return sets_page(sets, found, "Sets & more", data.class_names)


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium found (Debian package: chromium)")
@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_fits_a_telephone_and_asks_for_nothing(width: int, tmp_path: Path) -> None:
    executable = find_chromium()
    assert executable is not None
    (tmp_path / "sets.html").write_text(example_page())
    browser = HeadlessChromium(executable, tmp_path / "profile")
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        browser.send("Emulation.setDeviceMetricsOverride", **size)
        browser.open(tmp_path / "sets.html")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.querySelectorAll('.examples img').length") == 9
        assert browser.complaints() == []
        assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "data"}
    finally:
        browser.close()


def test_the_page_says_what_is_promised_and_shows_examples() -> None:
    page = example_page()
    assert "not for each single input" in page
    assert "<a>" not in page
    assert "<script" not in page
    tags = Tags()
    tags.feed(page)
    assert tags.images == 9
    assert not tags.open

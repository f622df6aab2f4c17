"""Files of prediction sets: honest ones are verified, whatever was forged is not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

import dsrs
from conformal.planted import at_origin, half_space
from dsrs.conformal import SetPlan, calibrate
from dsrs.laws import GeneralizedGaussian

Fields = dict[str, Any]
GAUSSIAN = GeneralizedGaussian(2, 1.0)
OTHER = GeneralizedGaussian(2, 1.0, 0.4)


def honest(law: GeneralizedGaussian = GAUSSIAN, **options: Any) -> Fields:
    plan = SetPlan(law, options.pop("radius", 0.5), **options)
    sets = calibrate(half_space(), at_origin(60), plan, seed=3)
    return dict(json.loads(json.dumps(sets.to_dict())))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"law": OTHER},
        {"law": GeneralizedGaussian(2, 1.0, 0.0, 1.0), "radius": 0.3},
        {"radius": 0.0},
        {"draws": 3, "radius": 0.1},
        {"confidence": 0.9, "radius": 0.1},
        {"confidence": 0.9, "calibration_draws": 3, "radius": 0.0, "coverage": 0.8},
        {"grid": None},
        {"off_grid": True},
    ],
    ids=str,
)
def test_honest_sets_are_verified(options: dict[str, Any]) -> None:
    fields = honest(**options)
    assert fields["threshold"] != "inf"
    verdict = dsrs.check(fields)
    assert verdict.word == "verified", verdict.reason
    assert verdict.surplus is not None
    assert verdict.surplus >= 0


def test_the_promise_in_words_is_not_rounded() -> None:
    fields = honest(radius=0.1234567, coverage=0.8999999)
    assert "probability 0.8999999 or more" in fields["guarantee"]
    assert "up to 0.1234567 (l2)" in fields["guarantee"]
    with_promise(fields, "coverage", fields["coverage"], "0.8999999", "0.9")
    assert dsrs.check(fields).word == "refuted"


def test_sets_of_all_classes_promise_nothing() -> None:
    fields = honest(radius=3.0)
    assert fields["threshold"] == "inf"
    assert dsrs.check(fields).word == "abstained"


def with_level(fields: Fields, level: float) -> None:
    """A lower level, with the rank and the threshold that follow from it."""
    counted = fields["calibration"]
    rank = math.ceil(61 * level)
    scores = sorted(counted["scores"])
    fields.update(level=level, threshold=scores[rank - 1])
    counted["rank"] = rank


def with_overlap(fields: Fields, overlap: float) -> None:
    """A proof that claims more, with all that follows."""
    fields["proof"]["overlap"] = overlap
    with_level(fields, 1 - (overlap - 0.9) / fields["proof"]["multiplier"] + 1e-6)


def with_promise(fields: Fields, name: str, value: Any, text: str, other: str) -> None:
    fields[name] = value
    fields["guarantee"] = fields["guarantee"].replace(text, other)


FORGERIES: dict[str, Callable[[Fields], Any]] = {
    "a lower threshold": lambda f: f.update(threshold=f["threshold"] - 1e-9),
    "a lower rank": lambda f: (
        f["calibration"].update(rank=50),
        f.update(threshold=sorted(f["calibration"]["scores"])[49]),
    ),
    "a lower level": lambda f: with_level(f, 0.9),
    "more overlap": lambda f: with_overlap(f, f["proof"]["overlap"] + 1e-4),
    "overlap beyond 1": lambda f: with_overlap(f, 1.5),
    "another multiplier": lambda f: f["proof"].update(multiplier=1.1),
    "a multiplier below 0": lambda f: f["proof"].update(multiplier=-2.0),
    "a longer radius": lambda f: with_promise(f, "radius", 0.8, "up to 0.5", "up to 0.8"),
    "more coverage": lambda f: with_promise(f, "coverage", 0.95, "0.9 or", "0.95 or"),
    "another sentence": lambda f: f.update(guarantee="holds for each single input"),
    "only the sentence": lambda f: f.update(guarantee=f["guarantee"].replace("0.9", "0.99")),
    "a majority": lambda f: f.update(draws=5),
    "a smaller charge": lambda f: f["grid"].update(variation=0.0),
    "a distance that nobody paid": lambda f: f["grid"].update(aside=0.1),
    "less noise than said": lambda f: f["law"].update(sigma=2.0),
    "inputs that count twice": lambda f: (
        f["calibration"].update(inputs=120, scores=2 * f["calibration"]["scores"]),
        f["calibration"].update(indices=2 * f["calibration"]["indices"], rank=117),
    ),
    "more inputs than scores": lambda f: f["calibration"].update(inputs=61),
    "missing scores": lambda f: f["calibration"].update(scores=f["calibration"]["scores"][1:]),
    "no number": lambda f: f.update(level="0.99"),
    "a coverage beyond 1": lambda f: with_promise(f, "coverage", 1.5, "0.9 or", "1.5 or"),
    "another shape": lambda f: f["model"].update(input_shape=[3]),
    "minus infinity": lambda f: f.update(threshold="-inf"),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("law", [GAUSSIAN, OTHER], ids=["Gaussian", "k = 0.4"])
def test_forgeries_are_refuted(name: str, law: GeneralizedGaussian) -> None:
    fields = honest(law)
    FORGERIES[name](fields)
    verdict = dsrs.check(fields)
    assert verdict.word == "refuted", (name, verdict)
    assert verdict.reason


def test_confidence_that_is_not_there_is_refuted() -> None:
    for draws in (1, 3):
        fields = honest(radius=0.0, coverage=0.7, confidence=0.6, calibration_draws=draws)
        assert dsrs.check(fields).word == "verified"
        with_promise(fields, "confidence", 0.99, "unlucky 40%", "unlucky 1%")
        assert dsrs.check(fields).word == "refuted"


def test_what_the_check_does_not_know_is_undecided_by_name() -> None:
    for change in ({"format": 2}, {"more": 1}, {"outputs": "ranks"}):
        verdict = dsrs.check(honest() | change)
        assert verdict.word == "undecided", change
        assert "does not know" in verdict.reason


def test_a_larger_threshold_is_no_forgery() -> None:
    fields = honest()
    fields["threshold"] += 0.01
    assert dsrs.check(fields).word == "verified"


def test_nonsense_ends_in_a_verdict() -> None:
    for nonsense in ({"kind": "prediction sets"}, {"kind": "prediction sets", "format": 1}):
        assert dsrs.check(nonsense).word == "refuted"
    fields = honest()
    for name in list(fields):
        if name != "kind":
            broken = dict(fields)
            del broken[name]
            verdict = dsrs.check(broken)
            expected = "verified" if name in ("confidence", "grid") else "refuted"
            assert verdict.word in (expected, "refuted"), (name, verdict)

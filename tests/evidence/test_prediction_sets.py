"""Prediction sets and attacks: honest ones are proved, whatever was forged is not."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformal.planted import at_origin, half_space
from dsrs import AttackSettings, attack_run
from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.conformal import SetPlan, calibrate
from dsrs.datasets import Dataset
from dsrs.evidence import evidence_of
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.store import STORE_NAME, attacked_inputs, open_run
from evidence.small_runs import is_proved, verdicts

Fields = dict[str, Any]
GAUSSIAN = GeneralizedGaussian(2, 1.0)
OTHER = GeneralizedGaussian(2, 1.0, 0.4)


def honest(law: GeneralizedGaussian = GAUSSIAN, **options: Any) -> Fields:
    plan = SetPlan(law, options.pop("radius", 0.5), **options)
    sets = calibrate(half_space(), at_origin(60), plan, seed=3)
    return dict(json.loads(json.dumps(sets.to_dict())))


def proved(fields: Fields) -> bool:
    return is_proved(evidence_of(fields))


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
def test_honest_sets_are_proved(options: dict[str, Any]) -> None:
    fields = honest(**options)
    assert fields["threshold"] != "inf"
    assert proved(fields), verdicts(evidence_of(fields))


def test_sets_of_all_classes_promise_nothing() -> None:
    fields = honest(radius=3.0)
    assert fields["threshold"] == "inf"
    assert evidence_of(fields).abstained == 1


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
    "a majority": lambda f: f.update(draws=5),
    "a distance that nobody paid": lambda f: f["grid"].update(aside=0.1),
    "less noise than said": lambda f: f["law"].update(sigma=0.5),
    "more inputs than scores": lambda f: f["calibration"].update(inputs=61),
    "missing scores": lambda f: f["calibration"].update(scores=f["calibration"]["scores"][1:]),
    "no number": lambda f: f.update(level="0.99"),
    "a coverage beyond 1": lambda f: with_promise(f, "coverage", 1.5, "0.9 or", "1.5 or"),
    "minus infinity": lambda f: f.update(threshold="-inf"),
    "a format that nobody knows": lambda f: f.update(format=2),
    "a field that nobody knows": lambda f: f.update(more=1),
    "outputs that nobody knows": lambda f: f.update(outputs="ranks"),
    "another sentence": lambda f: f.update(guarantee="holds for each single input"),
    "only the sentence": lambda f: f.update(guarantee=f["guarantee"].replace("0.9", "0.99")),
    "inputs that count twice": lambda f: (
        f["calibration"].update(inputs=120, scores=2 * f["calibration"]["scores"]),
        f["calibration"].update(indices=2 * f["calibration"]["indices"], rank=117),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("law", [GAUSSIAN, OTHER], ids=["Gaussian", "k = 0.4"])
def test_forgeries_are_not_proved(name: str, law: GeneralizedGaussian) -> None:
    fields = honest(law)
    FORGERIES[name](fields)
    evidence = evidence_of(fields)
    assert evidence.abstained == 0
    assert not is_proved(evidence)


def test_the_promise_in_words_is_not_rounded() -> None:
    fields = honest(radius=0.1234567, coverage=0.8999999)
    assert "probability 0.8999999 or more" in fields["guarantee"]
    assert "up to 0.1234567 (l2)" in fields["guarantee"]
    with_promise(fields, "coverage", fields["coverage"], "0.8999999", "0.9")
    assert not proved(fields)


def test_a_smaller_charge_than_the_grid_s_is_made_up_for() -> None:
    """Harmless: the checker computes the charge itself."""
    fields = honest()
    fields["grid"]["variation"] = 0.0
    assert proved(fields)


def test_confidence_that_is_not_there() -> None:
    for draws in (1, 3):
        fields = honest(radius=0.0, coverage=0.7, confidence=0.6, calibration_draws=draws)
        assert proved(fields)
        with_promise(fields, "confidence", 0.99, "unlucky 40%", "unlucky 1%")
        assert not proved(fields)


def test_a_larger_threshold_is_no_forgery() -> None:
    fields = honest()
    fields["threshold"] += 0.01
    assert proved(fields)


def test_nonsense_ends_in_a_verdict() -> None:
    for nonsense in ({"kind": "prediction sets"}, {"kind": "prediction sets", "format": 1}):
        assert not proved(nonsense)
    fields = honest()
    for name in set(fields) - {"kind", "confidence", "grid", "guarantee"}:
        broken = dict(fields)
        del broken[name]
        assert not proved(broken), name


# -------------------------------------------------------------------------------------- attacks


def first_pixel(rows: np.ndarray) -> np.ndarray:
    return (rows.reshape(len(rows), -1)[:, 0] > 0.5).astype(int)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run of which every input was attacked, in this norm."""
    inputs = np.full((3, 1, 3, 3), 0.5, np.float32)
    inputs[:, 0, 0, 0] = (0.9, 0.8, 0.1)
    model = from_callable(first_pixel, (1, 3, 3), 2)
    data = Dataset.from_arrays(inputs, [1, 1, 0])
    plan = Plan(GeneralizedGaussian(9, 0.5), ("np",), n=2048)

    def made(norm: str) -> Path:
        folder = tmp_path_factory.mktemp("attacks") / "run"
        certify_run(model, data, plan, range(3), folder, workers=1)
        settings = AttackSettings(budget=8192, norm=norm)  # type: ignore[arg-type]
        attack_run(folder, model, data, settings)
        return folder

    return made


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_what_an_attack_shows_is_proved(norm: str, attacked: Callable[[str], Path]) -> None:
    folder = attacked(norm)
    with open_run(folder) as run:
        shown = [one for one in attacked_inputs(run).values() if one.counterexample is not None]
    assert shown
    found = verdicts(evidence_of(folder))
    assert sum(verdict.name.startswith("attack") for verdict in found) == len(shown)
    assert not [verdict for verdict in found if not verdict]


def test_an_attack_whose_votes_show_nothing(attacked: Callable[[str], Path]) -> None:
    from dsrs.store import sum_of_attack

    folder = attacked("l2")
    with sqlite3.connect(folder / STORE_NAME) as store:
        rows = store.execute("SELECT * FROM attacked").fetchall()
        for index, body, *blobs, _ in rows:
            fields = json.loads(body)
            for candidate in fields["candidates"]:
                candidate["counts"] = [1000, 1000]
            text = json.dumps(fields)
            store.execute(
                "UPDATE attacked SET body = ?, checksum = ? WHERE idx = ?",
                (text, sum_of_attack(text, *blobs), index),
            )
    store.close()
    found = [each for each in verdicts(evidence_of(folder)) if each.name.startswith("attack")]
    assert found
    assert not any(found)

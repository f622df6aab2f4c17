"""What certificates say they are about, from votes to the store and back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from dsrs import SmoothedClassifier
from dsrs.certifying import certify_run
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.proofs import Subject, input_fingerprint
from dsrs.store import open_run
from known_classifiers import Linear

LAW = GeneralizedGaussian(16, 0.5)
IMAGES = np.random.default_rng(0).random((3, 16)).astype(np.float32) / 4


def test_an_input_is_fingerprinted_by_its_values_and_shape() -> None:
    x = np.arange(6, dtype=np.float64).reshape(1, 2, 3)
    by_hand = b"dsrs input float32 1x2x3\n" + x.astype("<f4").tobytes()
    assert input_fingerprint(x) == hashlib.sha256(by_hand).hexdigest()
    assert input_fingerprint(x) == input_fingerprint(np.asfortranarray(x))
    assert input_fingerprint(x) != input_fingerprint(x.reshape(1, 3, 2))


def test_the_fingerprint_of_a_row_is_salted() -> None:
    by_hand = b"dsrs input float32 16\nseed 7 index 3\n" + IMAGES[0].tobytes()
    salted = input_fingerprint(IMAGES[0], (7, 3))
    assert salted == "salted:" + hashlib.sha256(by_hand).hexdigest()
    assert salted != input_fingerprint(IMAGES[0], (7, 4))


def test_a_certificate_of_a_row_can_be_compared_with_the_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = SmoothedClassifier(Linear(16, 0.4), LAW, n=500, method="np").certify(IMAGES[0])
    (tmp_path / "one.json").write_text(made.to_json())
    for place, code in ((0, 0), (1, 1)):
        np.save(tmp_path / "row.npy", IMAGES[place])
        words = ["check", str(tmp_path / "one.json"), "--input", str(tmp_path / "row.npy")]
        assert main([*words, "--quiet"]) == code
    assert "another input" in capsys.readouterr().out


def test_a_run_says_of_every_certificate_what_it_is_about(tmp_path: Path) -> None:
    data = Dataset.from_arrays(IMAGES, [1, 0, 1], class_names=("boot", "bag"))
    plan = Plan(LAW, ("np", "rescaled:0.8x"), n=500, alpha=0.01, seed=2**100)
    certify_run(Linear(16, 0.4), data, plan, [0, 1], tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        result = run.result(1)
    assert result.certificates["rescaled"].subject == Subject(
        target=0,
        class_name="boot",
        alpha=0.01,
        method="rescaled:0.8x",
        n=500,
        seed=2**100,
        seed_public=True,
        index=1,
        model="linear",
        input=input_fingerprint(IMAGES[1], (2**100, 1)),
    )
    assert result.sampled.model == "linear"


def test_an_answer_says_what_it_is_about() -> None:
    x = IMAGES[0]
    made = SmoothedClassifier(Linear(16, 0.4), LAW, n=500, method="np", seed=5).certify(x, index=4)
    assert made.subject is not None
    assert (made.subject.seed, made.subject.seed_public, made.subject.index) == (5, True, 4)
    assert (made.subject.model, made.subject.input) == ("linear", input_fingerprint(x, (5, 4)))
    fresh = SmoothedClassifier(Linear(16, 0.4), LAW, n=500, method="np").certify(x)
    assert fresh.subject is not None
    assert not fresh.subject.seed_public


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1.5}, r"`alpha` must be in \(0, 1\), got 1.5"),
        ({"target": -1}, "must not be negative, got -1 and 0"),
        ({"n": 0}, "`n` must be at least 1, got 0"),
        ({"seed": 2**128}, "`seed` must be from 0"),
    ],
)
def test_impossible_subjects_are_refused(change: dict[str, object], message: str) -> None:
    fields = {"target": 0, "alpha": 0.1, "method": "np", "n": 1, "seed": 0, "index": 0}
    with pytest.raises(InvalidInput, match=message):
        Subject(**(fields | {"seed_public": True} | change))  # type: ignore[arg-type]

"""`certify --budget` and `--dry-run`: what is spent, and whether the prediction came true."""

from __future__ import annotations

import json
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cli_certify.small_run import Certify, make_named_data
from dsrs.certifying import Budget, sample_input
from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.measures import certified_accuracy
from dsrs.store import open_run

Batch = NDArray[np.float32]
DEMO = Path(str(files("dsrs") / "demo"))


@pytest.mark.parametrize(
    ("text", "votes", "seconds"),
    [
        ("1e6", 1_000_000, None),
        ("250_000", 250_000, None),
        ("1e6 votes", 1_000_000, None),
        ("30min", None, 1800.0),
        ("1h30min", None, 5400.0),
        ("90 s", None, 90.0),
        ("1.5h", None, 5400.0),
    ],
)
def test_budgets_are_read(text: str, votes: int | None, seconds: float | None) -> None:
    assert Budget.parse(text) == Budget(votes, seconds)


@pytest.mark.parametrize("text", ["", "0", "-5", "0s", "1.5", "soon", "5 weeks", "nan", "inf"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="such as 1e6, or a time"):
        Budget.parse(text)


def test_labels_are_numbered_as_the_model_numbers_its_classes(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    make_named_data(Path("named.csv"))
    words = ["--q", "none", "--dry-run", "--json", "--quiet", "--radii", "0.1"]
    expected = []
    for own in ([], ["--model", "tiny_classifier:named", "--data", "named.csv"]):
        assert certify(*words, *own) == 0
        (method,) = json.loads(capsys.readouterr().out)["expected"]
        expected.append(method["certified_accuracy"][0]["value"])
    assert expected[0] == pytest.approx(expected[1], abs=0.1)
    assert expected[0] > 0.5


def taken(folder: str | Path) -> int:
    with open_run(folder) as run:
        return sum(votes.total for result in run.results() for votes in result.votes)


@pytest.mark.parametrize(
    "options",
    [
        [],
        pytest.param(["--q", "tailored", "--k", "380"], marks=pytest.mark.slow),
        pytest.param(["--no-labels", "--q", "none"], marks=pytest.mark.slow),
    ],
)
def test_votes_are_spent_and_the_prediction_holds_what_was_certified(
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    words = [
        *("certify", "--model", str(DEMO / "model.onnx"), "--data", str(DEMO / "images.npz")),
        *("--sigma", "0.5", "--budget", "1e5", "--stop", "100", "--radii", "0.25,0.5,1,1.5"),
        *("--output", "run", "--quiet", *options),
    ]
    assert main([*words, "--dry-run", "--json"]) == 0
    predicted: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert not Path("run").exists()
    assert main(words) == 0
    spent = predicted["rehearsal"]["votes"] + taken("run")
    assert 0.9e5 <= spent <= 1e5
    with open_run("run") as run:
        assert run.plan.n == predicted["n"]
        found = certified_accuracy(run.results(), [0.25, 0.5, 1.0, 1.5])
    assert {one["method"] for one in predicted["expected"]} == {one.method for one in found}
    for expected, certified in zip(predicted["expected"], found, strict=True):
        mean = expected["mean_radius"]
        assert mean["low"] <= certified.average_radius <= mean["high"]
        assert mean["high"] - mean["low"] < mean["value"]  # and it says something
        for place, at in enumerate(expected["certified_accuracy"]):
            assert at["low"] <= certified.share(place) <= at["high"], at


class Fake:
    """A clock that goes on by a millisecond for each row that the model runs."""

    def __init__(self) -> None:
        self.now, self.lock, self.slower = 0.0, threading.Lock(), 1.0

    def __call__(self) -> float:
        return self.now

    def classify(self, batch: Batch) -> Batch:
        with self.lock:
            self.now += self.slower * 1e-3 * len(batch)
        score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)
        return np.stack([-score, score], axis=1)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    import cli_certify.tiny_classifier as tiny

    clock = Fake()
    monkeypatch.setattr("dsrs.cli.vote_options.clock", clock)
    monkeypatch.setattr(tiny, "timed", clock.classify, raising=False)
    return clock


def timed_words(*more: str) -> list[str]:
    return [
        *("certify", "--model", "cli_certify.tiny_classifier:timed", "--num-classes", "2"),
        *("--data", "data.npz", "--sigma", "0.5", "--k", "4", "--batch-size", "16"),
        *("--workers", "1", "--output", "run", "--quiet", *more),
    ]


def test_time_is_spent(certify: Certify, fake: Fake) -> None:
    assert main(timed_words("--budget", "60s")) == 0
    # The check that the model is a function asks some rows before and after, too.
    assert 54 <= fake.now <= 61


def test_a_model_that_becomes_slower_ends_in_time(
    certify: Certify, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    original = fake.classify

    def slower(batch: Batch) -> Batch:
        fake.slower = 1.0 if fake.now < 10 else 3.0
        return original(batch)

    import cli_certify.tiny_classifier as tiny

    tiny.timed = slower  # type: ignore[attr-defined]
    assert main(timed_words("--budget", "60s")) == 0
    assert "the time of the budget is over" in capsys.readouterr().err
    with open_run("run") as run:
        assert 0 < len(run) < 8
    # Two inputs were in work, of 60 / 8 seconds each before the model became slower.
    assert fake.now < 60 + 2 * 3 * 60 / 8 * 1.1


def test_the_budget_chooses_among_methods_and_inputs(
    certify: Certify, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    images = generator.uniform(0, 1, (4000, 4, 4)).astype(np.float32)
    np.savez("data.npz", images=images, labels=(images.mean(axis=(1, 2)) > 0.5).astype(int))
    words = timed_words("--dry-run", "--json", "--budget", "1e5")
    words[2] = "tiny_classifier:bright"
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["every"] > 1
    assert found["rehearsal"]["votes"] + found["votes"] <= 1e5
    assert {tuple(way["methods"]) for way in found["ways"]} == {("np", "tailored"), ("np",)}
    assert main([*words, "--stop", "500"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == 500  # a choice of inputs is kept


def test_votes_that_choose_never_certify(
    certify: Certify, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rehearsal has a seed of its own, the same for the same run."""
    seeds: list[int] = []

    def spied(*arguments: Any) -> Any:
        seeds.append(arguments[2].seed)
        return sample_input(*arguments)

    monkeypatch.setattr("dsrs.certifying.forecast.sample_input", spied)
    for seed in ("7", "7", "8"):
        assert certify("--dry-run", "--seed", seed) == 0
    assert len(seeds) == 24
    assert len(set(seeds)) == 2
    assert not {7, 8} & set(seeds)


def test_a_dry_run_says_votes_time_and_table(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--dry-run") == 0
    out = capsys.readouterr().out
    assert "8 inputs, n = 400, np, tailored: 3,200 votes, " in out
    assert "to expect, from 8 inputs" in out
    assert not Path("run").exists()
    assert certify("--quiet") == 0
    assert certify("--dry-run", "--landscape", "run", "--seed", "5", output="other") == 0
    assert "to expect, from 8 inputs" in capsys.readouterr().out

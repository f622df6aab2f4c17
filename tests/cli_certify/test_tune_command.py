"""`dsrs landscape` and `dsrs tune`: from votes under noise to a law for `dsrs certify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_certify.small_run import Certify
from dsrs.cli.main import main
from dsrs.cli.tune import COLUMNS, round_radii
from dsrs.store import open_run

MODEL = ["--model", "tiny_classifier:bright", "--num-classes", "2", "--data", "data.npz"]


@pytest.fixture
def look(certify: Certify) -> str:
    """A landscape of the small model, in the folder of its data (which `certify` makes)."""
    assert main(["landscape", *MODEL, "--votes", "200", "--output", "look", "--quiet"]) == 0
    return "look"


def test_an_answer_is_printed_written_drawn_and_used(
    look: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", "--landscape", look, "--n", "300", "--json", "--quiet"]
    assert main([*words, "--output", "tuned.json", "--figure", "tuned.svg"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert json.loads(Path("tuned.json").read_text()) == told
    assert Path("tuned.svg").read_text().startswith("<?xml")
    law = ["--law", "tuned.json", "--n", "300"]
    assert main(["certify", *MODEL, *law, "--indices", "3", "--output", "run", "--quiet"]) == 0
    with open_run("run") as run:
        assert run.plan.law.to_dict() == told["law"] | {"d": 16}


@pytest.mark.parametrize(
    ("figure", "reason"), [("tuned", r"a figure must end in"), ("old.svg", "old.svg")]
)
def test_a_figure_that_cannot_be_drawn_leaves_nothing(
    look: str, figure: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither an answer without its figure, nor a file that was there before."""
    Path("old.svg").write_text("<svg/>")
    words = ["tune", "--landscape", look, "--n", "300", "--output", "tuned.json"]
    assert main([*words, "--figure", figure]) == 2
    assert reason in capsys.readouterr().err
    assert not Path("tuned.json").exists()
    assert Path("old.svg").read_text() == "<svg/>"
    if figure == "old.svg":
        assert main([*words, "--figure", figure, "--overwrite", "--quiet"]) == 0
        assert Path("tuned.json").exists()
        assert Path("old.svg").read_text() != "<svg/>"


def test_votes_that_chose_a_law_do_not_certify_it(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dsrs tune` looks at a run, and chooses the run's own law."""
    assert certify("--quiet", "--stop", "3", "--seed", "4") == 0
    assert main(["tune", "--landscape", "run", "--n", "300", "--output", "t.json", "--quiet"]) == 0
    tuned = json.loads(Path("t.json").read_text())
    assert tuned["landscape"]["seed"] == 4
    tuned["law"] = dict(tuned["landscape"]["law"])
    Path("t.json").write_text(json.dumps(tuned))
    words = ["certify", *MODEL, "--law", "t.json", "--n", "400", "--stop", "1", "--quiet"]
    capsys.readouterr()
    assert main([*words, "--output", "same", "--seed", "4"]) == 2
    assert "the votes of seed 4 chose this law" in capsys.readouterr().err
    assert main([*words, "--output", "other", "--seed", "5"]) == 0
    tuned["law"]["sigma"] *= 2
    Path("t.json").write_text(json.dumps(tuned))
    assert main([*words, "--output", "wider", "--seed", "4"]) == 0


@pytest.mark.parametrize(("top", "last"), [(0.0, None), (0.999, 0.8), (1.7, 1.5), (2e-9, 2e-9)])
def test_the_columns_are_round_radii_that_something_reaches(top: float, last: float | None) -> None:
    radii = round_radii(top)
    assert (radii[-1] if radii else None) == last
    assert len(radii) <= COLUMNS

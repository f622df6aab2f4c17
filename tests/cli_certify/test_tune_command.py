"""`dsrs landscape` and `dsrs tune`: from votes under noise to a law for `dsrs certify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, make_named_data
from dsrs.cli import RADIUS_COLUMNS, round_radii
from dsrs.cli.main import main
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
    assert told["limit"]["value"] >= told["predicted"]["value"] > 0
    assert main(["tune", "--landscape", look, "--n", "300", "--quiet"]) == 0
    table = capsys.readouterr().out
    assert f"limit {told['limit']['value']:.4f}" in " ".join(table.split())
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


def streams(folder: str) -> set[tuple[str, str]]:
    """The keys of all noise of a run, and what its votes are for."""
    with open_run(folder) as run:
        votes = [votes for result in run.results() for votes in result.votes]
    return {(each.stream.key, each.stream.purpose) for each in votes}


def test_votes_of_a_landscape_certify_nothing_whatever_law_and_seed_are_typed(look: str) -> None:
    with open_run(look) as run:
        law, seed = run.plan.law, run.plan.seed
        found = [one for result in run.results() for one in result.certificates.values()]
    assert {one.status for one in found} == {"abstained"}
    typed = ["--sigma", repr(law.sigma), "--k", repr(law.k), "--seed", str(seed)]
    words = ["certify", *MODEL, *typed, "--n", "200", "--stop", "3", "--q", "tailored", "--quiet"]
    assert main([*words, "--output", "run"]) == 0
    shared = {purpose for _, purpose in streams(look) & streams("run")}
    assert shared <= {"selection"}  # from which no bound is made
    assert "estimation" in {purpose for _, purpose in streams("run")}


def test_tune_never_names_the_law_of_the_votes_it_looked_at(look: str) -> None:
    """It looks at a run of the law that it has just named."""
    words = ["tune", "--n", "300", "--quiet", "--output", "tuned.json", "--overwrite"]
    assert main([*words, "--landscape", look]) == 0
    own = json.loads(Path("tuned.json").read_text())["law"]
    law = ["--law", "tuned.json", "--stop", "3", "--n", "300", "--quiet"]
    assert main(["certify", *MODEL, *law, "--output", "run"]) == 0
    assert main([*words, "--landscape", "run"]) == 0
    named = json.loads(Path("tuned.json").read_text())["candidates"]
    assert own not in [each["law"] for each in named]


@pytest.mark.parametrize(("top", "last"), [(0.0, None), (0.999, 0.8), (1.7, 1.5), (2e-9, 2e-9)])
def test_the_columns_are_round_radii_that_something_reaches(top: float, last: float | None) -> None:
    radii = round_radii(top)
    assert (radii[-1] if radii else None) == last
    assert len(radii) <= RADIUS_COLUMNS


def test_inputs_that_chose_are_left_out_where_the_model_numbers_the_labels(
    certify: Certify,
) -> None:
    make_named_data(Path("named.csv"))
    words = ["--model", "tiny_classifier:named", "--data", "named.csv", "--q", "none", "--quiet"]
    assert certify(*words, "--stop", "3", output="chose") == 0
    assert main(["tune", "--landscape", "chose", "--output", "tuned.json", "--quiet"]) == 0
    assert certify(*words, "--stop", "5", "--leave-out", "tuned.json") == 0
    with open_run("run") as run:
        assert list(run.indices()) == [3, 4]

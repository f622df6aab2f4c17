"""--grid of the commands that take votes."""

from __future__ import annotations

import json

import pytest

from cli_certify.small_run import Certify, contents
from dsrs.cli.main import main
from dsrs.laws import Grid
from dsrs.store import open_run


@pytest.mark.parametrize(
    ("words", "grid"),
    [
        ((), Grid(1 / 4080)),
        (("--grid", "1/1020"), Grid(1 / 1020)),
        (("--grid", "0.25"), Grid(0.25)),
        (("--grid", "none"), None),
    ],
)
def test_a_run_has_the_grid_that_was_asked_for(
    certify: Certify, words: tuple[str, ...], grid: Grid | None
) -> None:
    assert certify("--quiet", "--stop", "2", *words) == 0
    with open_run("run") as run:
        assert run.plan.grid == grid
        notes = [one.grid for each in run.results() for one in each.certificates.values()]
    assert all((note is None) == (grid is None) for note in notes)
    assert grid is None or all(note is not None and note.step == grid.step for note in notes)


def test_bounds_choose_the_grid(certify: Certify) -> None:
    assert certify("--quiet", "--stop", "1", "--bounds", "-1", "3") == 0
    with open_run("run") as run:
        assert run.plan.grid == Grid(4 / 4080, -1.0)


def test_another_grid_does_not_continue_a_run(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--stop", "1", "--grid", "none") == 0
    assert certify("--quiet", "--stop", "2") == 2
    assert "--grid none" in capsys.readouterr().err
    before = contents("run")  # type: ignore[arg-type]
    assert certify("--quiet", "--stop", "2", "--grid", "none") == 0
    assert contents("run")[:1] == before  # type: ignore[arg-type]


def test_predict_takes_the_votes_of_its_grid(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    del certify  # its folder
    words = ["predict", "--model", "tiny_classifier:bright", "--num-classes", "2", "--json"]
    words += ["--data", "data.npz", "--sigma", "0.5", "--n", "200", "--stop", "3", "--seed", "1"]
    found = []
    for grid in ([], ["--grid", "none"], ["--grid", "0.25"]):
        assert main([*words, *grid]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] != found[1]
    assert found[0] != found[2]
    assert main([*words, "--grid", "4"]) == 2
    assert "must be at most sigma / 2 = 0.25" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["fine", "1/0", "1e999"])
def test_what_is_no_step(certify: Certify, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert certify("--grid", text) == 2
    assert "expected a step such as 0.001 or 1/4080" in capsys.readouterr().err


def test_a_step_of_nothing_is_refused(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    assert certify("--grid", "0") == 2
    assert "step of a grid must be" in capsys.readouterr().err

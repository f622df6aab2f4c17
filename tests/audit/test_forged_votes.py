"""Votes and numbers of a run that contradict its plan or its seed: none is verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

import dsrs
from audit.small_runs import PLANS, Forgery, make_run
from dsrs.cli.main import main
from dsrs.store import open_run


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = PLANS["np"].replace(target="predicted")
    return make_run(tmp_path_factory.mktemp("runs") / "predicted", plan)


@pytest.mark.parametrize("votes", [0, 1, 99])
def test_a_class_is_chosen_by_as_many_votes_as_the_plan_says(predicted: Path, votes: int) -> None:
    """Of no votes every class is the most frequent one, also one that was chosen afterwards."""
    forged = Forgery(predicted, 1, "np")
    (chosen,) = (part for part in forged.votes["votes"] if part["purpose"] == "selection")
    assert sum(chosen["counts"]) == forged.plan["n0"] == 100
    assert forged.checked()
    few_votes(chosen, forged.votes["target"], votes)
    forged.votes = {**forged.votes, "predicted": None}
    assert f"{votes} selection votes chose the class, not 100" in forged.checked().reason


def few_votes(part: dict[str, Any], target: int, votes: int) -> None:
    """All of these votes for one class, and in one bin."""
    for name, place in (("counts", target), ("trials", 0), ("hits", 0)):
        part[name] = [votes if at == place else 0 for at in range(len(part[name]))]


def test_bounds_of_a_file_were_charged_for_their_grid(tmp_path: Path) -> None:
    """`variation` is what every probability was charged at most."""
    folder, table = make_run(tmp_path / "run", PLANS["grid"]), tmp_path / "rows.jsonl"
    with open_run(folder) as run:
        certificates = [one.to_dict() for one in run.result(1).certificates.values()]
    for honest in certificates:
        assert dsrs.check(honest)
        for share in (0, 0.9):
            less = honest["grid"] | {"variation": share * honest["grid"]["variation"]}
            assert "noise on the grid is charged" in dsrs.check(honest | {"grid": less}).reason
    # A row does not say what its bounds were charged.
    assert main(["export", str(folder), "--output", str(table)]) == 0
    assert main(["check", str(table), "--quiet"]) == 0


def test_the_method_of_a_file_is_known_and_uses_the_laws_of_its_proof(tmp_path: Path) -> None:
    with open_run(make_run(tmp_path / "run", PLANS["double"])) as run:
        certificates = {n: c.to_dict() for n, c in run.result(1).certificates.items()}
    assert all(dsrs.check(honest) for honest in certificates.values())
    honest = certificates["rescaled"]
    for method, word in (("np", "refuted"), ("truncated:0.6", "refuted"), ("magic", "undecided")):
        about = honest["subject"] | {"method": method}
        assert dsrs.check(honest | {"subject": about}).word == word

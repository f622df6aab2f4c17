"""Cells of tables that contradict each other or mean nothing: none is verified."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, make_run
from dsrs.audit.items import item_of_row
from dsrs.cli.main import main


def claims_of(table: Path) -> list[dict[str, Any]]:
    """The rows of a table that claim a radius."""
    with table.open() as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if float(row.get("certified_radius") or row["radius"])]


def word_of(row: dict[str, Any], **cells: str) -> str:
    return item_of_row("row", {**row, **cells}).check().word


@pytest.fixture(scope="module")
def recertified(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "given.csv").write_text(
        "index,d,k,sigma,p_lower,p_upper,q_law,q_lower,q_upper,n,alpha\n"
        "0,784,0,0.5,0.93,0.95,,,,1000,0.001\n"
        "1,784,380,0.5,0.93,0.95,truncated:0.6,0.98,0.99,1000,0.001\n"
    )
    words = ["recertify", str(folder / "given.csv"), "--output", str(folder / "out.csv")]
    assert main([*words, "--quiet"]) == 0
    return claims_of(folder / "out.csv")


@pytest.mark.parametrize("place", [0, 1])
def test_columns_of_the_outermost_step_are_those_of_the_proof(
    recertified: list[dict[str, Any]], place: int
) -> None:
    row = recertified[place]
    assert word_of(row) == "verified"
    step = json.loads(row["proof"])["steps"][0]
    assert float(row["dual_bound"]) == step["dual_bound"]
    for cells in (
        {"dual_bound": "0.75"},
        {"lambda_p": "1.5"},
        {"lambda_p": "{}"},
        {"lambda_q": "0.1"},
    ):
        assert word_of(row, **cells) == "refuted", cells


@pytest.mark.parametrize(
    "cells",
    [{"alpha": "0"}, {"alpha": "1e400"}, {"alpha": "x"}, {"n": "-1"}, {"n": "2.5"}, {"n": "nan"}],
)
def test_votes_that_cannot_be_are_refuted(
    recertified: list[dict[str, Any]], cells: dict[str, str]
) -> None:
    assert word_of(recertified[0], **cells) == "refuted"


def test_a_row_that_was_not_certified_claims_nothing(recertified: list[dict[str, Any]]) -> None:
    empty = dict.fromkeys(("np_radius", "certified_radius", "proof"), "")
    row = {**recertified[0], **empty, "status": "error: no such law"}
    assert word_of(row) == "abstained"
    for name in empty:
        assert word_of(row, **{name: recertified[0][name]}) == "refuted", name


@pytest.mark.parametrize("name", ["sigma", "certified_radius", "d", "p_lower"])
@pytest.mark.parametrize("text", ["1_0", "\u0663", "0_1"])
def test_numbers_that_only_python_reads_are_refuted(
    recertified: list[dict[str, Any]], name: str, text: str
) -> None:
    assert word_of(recertified[0], **{name: text}) == "refuted"


def test_bounds_under_p_beside_those_of_a_lead_are_those_of_the_proof(tmp_path: Path) -> None:
    folder, table = make_run(tmp_path / "run", PLANS["leading double"]), tmp_path / "run.csv"
    assert main(["export", str(folder), "--output", str(table)]) == 0
    row = next(row for row in claims_of(table) if row["rival"])
    assert json.loads(row["proof"])["p"][0] == float(row["p_lower"])
    assert word_of(row) == "verified"
    assert word_of(row, p_lower="0.99") == "refuted"
    assert word_of(row, p_upper="0.9") == "refuted"

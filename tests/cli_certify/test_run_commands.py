"""`dsrs export`, `dsrs import` and `dsrs show` on a run made by `dsrs certify`."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import pytest

from cli_certify.small_run import INPUTS, Certify
from dsrs.cli.main import main
from dsrs.exchange import import_rows
from dsrs.store import open_run, start_run


@pytest.fixture
def run(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    """A finished run in the folder `run`."""
    assert certify("--quiet", "--q", "truncated:heuristic") == 0
    capsys.readouterr()


@pytest.mark.usefixtures("run")
def test_export_and_import(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "run", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "wrote run.csv\n"
    assert main(["export", "run", "--format", "tsv", "--method", "np", "--output", "np.tsv"]) == 0
    assert main(["import", "np.tsv"]) == 0
    assert f"{INPUTS} rows, 0 with intervals, {INPUTS} with radii" in capsys.readouterr().out
    assert main(["import", "run.csv", "--output", "again.jsonl"]) == 0
    rows = import_rows(Path("again.jsonl"))
    assert len(rows) == 2 * INPUTS
    exact = [row for row in rows if row.method == "np"]
    for rounded, row in zip(import_rows(Path("np.csv")), exact, strict=True):
        assert rounded.radius is not None
        assert row.radius is not None
        assert rounded.radius <= row.radius < rounded.radius + 1e-6


@pytest.mark.usefixtures("run")
def test_the_ending_of_the_output_names_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.jsonl", "a.csv", "a.parquet", "a.jsonl.gz", "a.csv.gz"):
        assert main(["export", "run", "--output", name]) == 0
    rows = import_rows(Path("a.csv"))
    assert Path("a.jsonl").read_text().startswith("{")
    assert Path("a.parquet").read_bytes().startswith(b"PAR1")
    for name in ("a.jsonl", "a.parquet", "a.jsonl.gz", "a.csv.gz"):
        assert import_rows(Path(name)) == rows
    assert main(["export", "run", "--output", "table.txt"]) == 2
    assert "names no format; end it with one of .csv" in capsys.readouterr().err
    assert main(["export", "run", "--output", "table.txt", "--format", "csv"]) == 0


@pytest.mark.usefixtures("run")
def test_an_exported_table_and_the_run_are_recertified_to_the_same_radii() -> None:
    main(["export", "run"])
    assert main(["recertify", "run.csv", "--output", "again.csv", "--quiet"]) == 0
    with Path("again.csv").open() as file:
        again = [float(row["certified_radius"]) for row in csv.DictReader(file)]
    assert main(["recertify", "run", "--output", "again.csv.gz", "--quiet"]) == 0
    expected = [row.radius for row in import_rows(Path("run.csv"))]
    assert [row.radius for row in import_rows(Path("again.csv.gz"))] == expected
    assert again == expected


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "none"], "does not exist"),
        (["export", "run", "--format", "tsv"], "--method np or truncated"),
        (["export", "run", "--method", "rescaled"], "must be one of np, truncated"),
        (["import", "data.npz"], "got bytes that are no text"),
        (["import", "none.csv", "--output", "x.csv"], "none.csv cannot be read"),
        (["import", "data.npz", "--output", "x.xls"], "must end in"),
        (["show", "none"], "does not exist"),
        (["show", "run", "--index", "99"], "has no result of input 99"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = sorted(os.listdir())
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("run")
def test_import_does_not_overwrite_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "run"])
    before = Path("run.csv").read_bytes()
    assert main(["import", "run.csv"]) == 2
    assert "run.csv is the file to read" in capsys.readouterr().err
    assert Path("run.csv").read_bytes() == before


@pytest.mark.usefixtures("run")
def test_show_tells_settings_accuracy_and_one_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "run"]) == 0
    out = capsys.readouterr().out
    assert "generalized Gaussian(d=16, k=4, sigma=0.5)" in out
    assert "n = 400, alpha = 0.001, seed = 0" in out
    assert f"{INPUTS} inputs" in out
    assert main(["show", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["plan"]["n"] == 400
    assert f"inputs   {INPUTS}, all finished" in out
    assert main(["show", "run", "--index", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    with open_run("run") as opened:
        result = opened.result(3)
    assert shown["votes"][0]["hits"] == list(result.votes[0].hits)
    assert shown["certificates"]["np"] == result.certificates["np"].to_dict()


@pytest.mark.usefixtures("run")
def test_one_input_is_shown_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "run", "--index", "3"]) == 0
    out = capsys.readouterr().out
    with open_run("run") as opened:
        result = opened.result(3)
    assert out.startswith(f"input 3\n  label: {result.label}\n")
    most = max(result.votes[0].counts)
    assert re.search(rf"^estimation +P +{result.votes[0].total:,} +class \d: {most:,}", out, re.M)
    assert re.search(rf"^np +{result.certificates['np'].status} +\d\.\d{{6}} .* 0\.001$", out, re.M)


def test_show_tells_how_many_inputs_are_missing(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--q", "none", "--stop", "2") == 0
    with open_run("run") as opened:
        config = opened.config
    with start_run("run", config) as writer:  # stopped before the first input was finished
        writer.ask([1, 2, 3, 7])
    capsys.readouterr()
    assert main(["show", "run"]) == 0
    assert "inputs   2 of 5 finished" in capsys.readouterr().out


def test_export_writes_to_standard_output(
    certify: Certify, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert certify("--quiet", "--stop", "2") == 0
    assert main(["export", "run", "--output", "run.csv"]) == 0
    capsysbinary.readouterr()
    assert main(["export", "run", "--output", "-"]) == 0
    assert capsysbinary.readouterr().out == Path("run.csv").read_bytes()
    assert not Path("-").exists()

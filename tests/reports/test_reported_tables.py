"""`dsrs report` on tables, and on inputs without labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dsrs.cli.main import main
from dsrs.errors import DataError
from dsrs.exchange import ResultRow, export_run, write_rows
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.reports import (
    Resampling,
    RunSummary,
    csv_table,
    json_document,
    make_report,
    markdown_table,
    read_run,
)
from dsrs.store import RunResult, open_run, start_run
from dsrs.votes import SampledInput

FAST = Resampling(100)
TSV = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
COHEN = TSV + (
    "0\t3\t3\t0.5\t1\t0:00:17\n1\t2\t2\t1.25\t1\t0:00:17\n"
    "2\t2\t-1\t0.0\t0\t0:00:17\n3\t1\t4\t0.75\t0\t0:00:17\n"
)


def accuracies(run: RunSummary, radii: list[float]) -> list[tuple[str, float | None, float]]:
    """(quantity, radius, value) of every number of a report on this run."""
    numbers = json.loads(json_document(make_report([run], radii, FAST)))["numbers"]
    return [(n["method"] + " " + n["quantity"], n["radius"], n["value"]) for n in numbers]


@pytest.fixture
def run_folder(tmp_path: Path, make_result: Any) -> Path:
    law = GeneralizedGaussian(16, 1.0, 2.0)
    config = {
        "plan": Plan(law, ("np", "truncated:0.5"), n=100, grid=None).to_dict(),
        "model": {"fingerprint": "m"},
        "data": {"name": "hand-made", "fingerprint": "d", "labels": True},
    }
    with start_run(tmp_path / "run", config) as writer:
        for index in range(6):
            radii = {"np": 0.1 * index or "abstained", "truncated": 0.15 * index or "abstained"}
            made = make_result(index, radii, law=law)
            sampled = SampledInput(index, 1, index % 2, 1, made.votes[1:2], seconds=0.25)
            writer.add(RunResult(sampled, dict(made.certificates), made.thumbnail))
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl.gz"])
def test_a_table_is_reported_as_its_run(run_folder: Path, tmp_path: Path, name: str) -> None:
    with open_run(run_folder) as opened:
        form = name.split(".")[1]
        export_run(opened, tmp_path / name, form)
    table, run = read_run(tmp_path / name), read_run(run_folder)
    assert (table.name, table.law, table.methods) == (name, run.law, run.methods)
    assert accuracies(table, [0.1, 0.3]) == accuracies(run, [0.1, 0.3])
    assert table.outcomes[3].answers == run.outcomes[3].answers


def test_an_imported_log_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, table, page = (tmp_path / name for name in ("cohen.tsv", "cohen.csv", "page.html"))
    log.write_bytes(b"\xef\xbb\xbf" + COHEN.encode())
    assert main(["import", str(log), "--output", str(table)]) == 0
    words = ["report", str(table), "--radii", "0.5,1", "--resamples", "100", "--output", str(page)]
    assert main(words) == 0
    out = capsys.readouterr().out
    # Right: 0 and 1. Certified: they, at 0.5 and 1.25. Input 2 is abstained, 3 another class.
    line = next(line for line in out.splitlines() if line.startswith("cohen.csv  imported"))
    assert line.split()[2:] == ["50.0", "50.0", "25.0", "50.0", "25.0", "0.437"]
    assert "Without labels" not in out
    assert page.exists()


def test_a_recertified_table_is_reported_with_its_new_radii(tmp_path: Path) -> None:
    rows = [
        ResultRow(i, label=1, target=1, method="np", status="certified", radius=0.01, d=16, k=0.0,
                  sigma=0.5, p_lower=0.9, p_upper=1.0)
        for i in range(2)
    ]  # fmt: skip
    write_rows(rows, tmp_path / "old.csv", "csv")
    new = tmp_path / "new.csv"
    assert main(["recertify", str(tmp_path / "old.csv"), "--output", str(new), "--quiet"]) == 0
    (first, _) = read_run(new).outcomes
    assert first.radius("np") == pytest.approx(0.5 * 1.2815515655446004, rel=1e-6)


def test_intervals_without_radii_are_no_report(tmp_path: Path) -> None:
    write_rows([ResultRow(0, p_lower=0.9, p_upper=1.0)], tmp_path / "p.csv", "csv")
    with pytest.raises(DataError, match="certify the rows first, with `dsrs recertify`"):
        read_run(tmp_path / "p.csv")
    rows = [ResultRow(0, method="np", radius=1.0), ResultRow(1, method="other", radius=1.0)]
    write_rows(rows, tmp_path / "gaps.csv", "csv")
    with pytest.raises(DataError, match="no row of the method other for input 0"):
        read_run(tmp_path / "gaps.csv")
    rows = [ResultRow(0, method=name, radius=1.0, target=t) for name, t in (("np", 1), ("b", 2))]
    write_rows(rows, tmp_path / "mixed.csv", "csv")
    with pytest.raises(DataError, match="different classes"):
        read_run(tmp_path / "mixed.csv")


@pytest.fixture
def unlabelled(make_result: Any) -> RunSummary:
    radii = [0.5, 1.0, "abstained", 2.0]
    results = [make_result(i, {"np": r, "truncated": r}, label=None) for i, r in enumerate(radii)]
    return RunSummary.from_results("plain", results)


def test_a_run_without_labels_reports_what_is_certified(unlabelled: RunSummary) -> None:
    report = make_report([unlabelled], [0.5, 1.5], FAST)
    text = markdown_table(report)
    assert "Without labels (plain): shares of inputs that have a certificate" in text
    assert "| plain | Neyman-Pearson |  | 75.0 [" in text
    assert "clean accuracy" not in csv_table(report)
    assert ("np certified accuracy", 1.5, 0.25) in accuracies(unlabelled, [0.5, 1.5])
    (curve,) = report.series.probabilities
    assert (curve.inputs, curve.share[-1]) == (4, 1.0)


def test_labels_are_compared_where_both_have_them(
    unlabelled: RunSummary, hand_run: RunSummary
) -> None:
    assert len(make_report([unlabelled, hand_run], [0.5], FAST).measures) == 2


LONG = "weighted:" + ",".join(f"{t}:{-0.1 * t}" for t in range(1, 30))


def test_long_methods_have_short_names_for_people_and_whole_ones_for_programs(
    make_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    other = LONG.replace("-0.1,", "-0.15,", 1)
    assert other != LONG
    results = [make_result(0, {"np": 1.0, LONG: 1.1, other: 1.2})]
    report = make_report([RunSummary.from_results("long", results)], [0.5], FAST)
    text = markdown_table(report)
    assert max(map(len, text.splitlines())) < 200
    assert text.count("| weighted #") == 2
    names = {
        line.split("|")[2] for line in text.splitlines() if line.startswith("| long | weighted")
    }
    assert len(names) == 2
    assert {LONG, other} <= {n["method"] for n in json.loads(json_document(report))["numbers"]}

"""`dsrs report` on run folders of the real store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dsrs.cli import parse_radii
from dsrs.cli.main import parsed
from dsrs.errors import DsrsError, InvalidInput, StoreError
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.reports import MANIFEST, read_run, read_runs
from dsrs.store import RunResult, start_run
from dsrs.votes import SampledInput


def store(
    path: Path,
    make_result: Any,
    sigma: float = 1.0,
    count: int = 5,
    data: str = "sha256:one",
    name: str = "hand-made",
) -> Path:
    """A run folder with inputs whose radius is sigma, and 1.5 sigma by double sampling."""
    law = GeneralizedGaussian(16, sigma, 2.0)
    config = {
        "plan": Plan(law, seed=7, grid=None).to_dict(),
        "model": {"fingerprint": str(sigma)},
        "data": {"name": name, "fingerprint": data, "class_names": ["cat", "dog"]},
    }
    with start_run(path, config) as writer:
        for index in range(count):
            made = make_result(index, {"np": sigma, "truncated": 1.5 * sigma}, law=law)
            sampled = SampledInput(index, 1, 1, 1, made.votes[1:2], seconds=0.25)
            writer.add(RunResult(sampled, dict(made.certificates), made.thumbnail))
    return path


def command(*words: object) -> int:
    chosen, arguments = parsed(["report", "--resamples", "100", *map(str, words)])
    assert chosen.run is not None
    return chosen.run(arguments)


def test_a_stored_run_is_read_whole(tmp_path: Path, make_result: Any) -> None:
    run = read_run(store(tmp_path / "a", make_result))
    assert (run.name, run.size, run.methods) == ("a", 5, ("np", "truncated"))
    assert run.class_names == ("cat", "dog")
    assert run.data_fingerprint == "sha256:one"
    assert run.settings["plan"]["seed"] == 7
    assert run.outcomes[0].p_estimate == 0.9
    assert run.outcomes[0].radius("truncated") == 1.5


def test_everything_is_written(
    tmp_path: Path, make_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [store(tmp_path / f"s{sigma}", make_result, sigma) for sigma in (0.5, 1.0)]
    page, tables, figures = tmp_path / "report.html", tmp_path / "t", tmp_path / "f"
    words = [*runs, "--output", page, "--tables", tables, "--radii", "0.5:1:0.25"]
    assert command(*words, "--figures", figures, "--format", "svg") == 0
    out = capsys.readouterr().out
    assert "gain of DSRS truncated" in out
    assert "+100.0*" in out
    assert f"wrote {page}" in out
    assert "<title>Certified robustness: hand-made</title>" in page.read_text()
    names = {path.name for path in tables.iterdir()}
    assert names == {"summary.md", "summary.csv", "summary.tex", "summary.json", MANIFEST}
    assert (figures / "envelope.svg").exists()
    assert command(*words) == 0  # its own files may be replaced


def test_json_alone_on_standard_output(
    tmp_path: Path, make_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = store(tmp_path / "a", make_result)
    assert command(run, "--json", "--output", tmp_path / "r.html", "--radii", "1,1.25") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    found = {
        (row["method"], row["gain"], row["radius"]): row["value"]
        for row in document["numbers"]
        if row["quantity"] == "certified accuracy"
    }
    assert found["np", False, 1.25] == 0.0
    assert found["truncated", True, 1.25] == 1.0
    assert "wrote" in captured.err


def test_nothing_foreign_is_overwritten(tmp_path: Path, make_result: Any) -> None:
    run = store(tmp_path / "a", make_result)
    mine = tmp_path / "mine.html"
    mine.write_text("<html>my own page</html>")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "summary.csv").write_text("my,own,table\n")
    cases: list[tuple[list[object], str]] = [
        (["--output", mine], "not a report"),
        (["--output", folder], "is a folder"),
        (["--output", tmp_path / "nowhere" / "r.html"], "does not exist"),
        (["--output", run / "r.html"], "lies in the run folder"),
        (["--tables", folder], "summary.csv, not written by a report"),
        (["--tables", run / "tables"], "lies in the run folder"),
        (["--figures", mine], "is a file"),
        (["--figures", folder, "--format", "png,gif"], "got 'gif'"),
    ]
    for words, message in cases:
        with pytest.raises(InvalidInput, match=message):
            command(run, *words)
    assert mine.read_text() == "<html>my own page</html>"
    assert [path.name for path in folder.iterdir()] == ["summary.csv"]
    assert {path.name for path in run.iterdir()} <= {"run.sqlite", "writer.lock"}


def test_runs_that_cannot_be_reported_are_refused(tmp_path: Path, make_result: Any) -> None:
    first = store(tmp_path / "a", make_result)
    other = store(tmp_path / "b", make_result, data="sha256:two")
    cases: list[tuple[list[object], type[DsrsError], str]] = [
        ([first, f"x={first}"], InvalidInput, "given twice"),
        ([first, other], StoreError, "different data"),
        ([tmp_path / "none"], StoreError, "does not exist"),
        ([f"={first}"], InvalidInput, "NAME=PATH"),
        ([store(tmp_path / "empty", make_result, count=0)], DsrsError, "no finished input"),
        ([first, "--radii", "1:0:1"], InvalidInput, "START <= STOP"),
        ([first, "--radii", "one"], InvalidInput, "--radii is written"),
        ([first, "--radii", "1:2"], InvalidInput, "--radii is written"),
    ]
    for words, kind, message in cases:
        with pytest.raises(kind, match=message):
            command(*words)


def test_names_and_families(tmp_path: Path, make_result: Any) -> None:
    first = store(tmp_path / "x" / "run", make_result)
    second = store(tmp_path / "y" / "run", make_result, 0.5)
    odd = store(tmp_path / "k=3", make_result, 0.25)
    runs = read_runs([str(first), str(second), str(odd)])
    assert [run.name for run in runs] == ["x/run", "y/run", "k=3"]
    assert [run.family for run in runs] == ["", "", ""]
    named = [f"Ours (s=0.12)={first}", f'"a=b"={second}', f"odd={odd}"]
    names = ["Ours (s=0.12)", "a=b", "odd"]
    runs = read_runs(named, ["mine=Ours (s=0.12),odd"])
    assert [run.name for run in runs] == names
    assert [run.family for run in runs] == ["mine", None, "mine"]
    assert [run.family for run in read_runs(named, None)] == [None] * 3
    for family, message in (
        ("mine", "FAMILY=RUN,RUN"),
        ("mine=ours", "names the run 'ours', but"),
    ):
        with pytest.raises(InvalidInput, match=message):
            read_runs(named, [family])
    with pytest.raises(InvalidInput, match="'odd' is in two families"):
        read_runs(named, ["one=odd", "two=odd"])


def test_radii_are_read_exactly() -> None:
    assert parse_radii("0.1:0.5:0.1") == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert parse_radii("0.25,0.5,1") == [0.25, 0.5, 1.0]

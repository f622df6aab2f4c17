"""`dsrs paper` and `dsrs theory`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsrs.cli.main import parsed
from dsrs.errors import InvalidInput

HEADER = "x disttype general-gaussian\nx k 380\nx std 1.0\nx N {n}\nx alpha {alpha}\n"


def call(*words: str) -> int:
    command, arguments = parsed(words)
    assert command.run is not None
    return command.run(arguments)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """1,000 inputs under P with 100,000 votes, half of them certified at 0.25 (sigma = 1)."""
    model = tmp_path / "logs" / "sampling" / "cohen-mnist-380-1.00.pth"
    model.mkdir(parents=True)
    ends = ("0.9 0.91", "0.3 0.32", "0.99 0.995", "0.5 0.52")
    rows = "".join(f"o {10 * i} {ends[i % 4]}\n" for i in range(1000))
    header = HEADER.format(n=100_000, alpha=0.001)
    (model / "general-gaussian-380-1.0-100000-0.001.txt").write_text(header + rows)
    return tmp_path / "logs"


def test_tables_from_logs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = call("paper", "tables", "--logs", str(logs), "--table", "per-sigma", "--format", "json")
    cells = json.loads(capsys.readouterr().out)
    ours = [cell for cell in cells if cell["ours"] is not None]
    assert {cell["certification"] for cell in ours} == {"neyman-pearson"}
    assert (ours[0]["radius"], ours[0]["paper"], ours[0]["ours"]) == (0.25, 95.2, 50.0)
    assert code == 1  # these made-up logs are far short of the paper


def test_a_cut_log_is_named_and_not_compared(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = (logs / "sampling").glob("*/*.txt")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:504]))
    assert call("paper", "tables", "--logs", str(logs), "--table", "acr", "--quiet") == 1
    shown = capsys.readouterr()
    assert "499 of 1,000 inputs" in shown.err
    assert "12 certified again" not in shown.out


def test_quiet_says_nothing_of_logs_that_are_left_out_but_names_broken_ones(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = next((logs / "sampling").glob("*.pth"))
    (model / "L1-general-gaussian-380-1.0-50000-0.0005.txt").write_text("")
    words = ["paper", "tables", "--logs", str(logs), "--table", "acr", "--radii", "recorded"]
    assert call(*words, "--quiet") == 0
    assert capsys.readouterr().err == ""
    assert call(*words) == 0
    assert "left out 1 logs" in capsys.readouterr().err
    (model / "general-gaussian-380-0.8-50000-0.0005.txt").write_text("o 0 2 3\n")
    assert call(*words, "--quiet") == 1
    assert "line 1: `lower` must be a probability" in capsys.readouterr().err


def test_tables_into_a_file(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables.md"
    words = ["--table", "acr", "--format", "markdown", "--radii", "recorded", "--output", str(out)]
    call("paper", "tables", "--logs", str(logs), *words)
    assert "| mnist | gaussian | 1.00 | neyman-pearson | paper | 1.550 |" in out.read_text()


def test_tables_need_a_source() -> None:
    with pytest.raises(InvalidInput, match="--logs DIR or --reference DIR"):
        call("paper", "tables")


def test_figures_that_need_recorded_data_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("paper", "figures", "--figure", "heuristic", "--output", str(tmp_path)) == 1
    assert "left out heuristic: it needs --logs" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="expected one of dimension, relaxed"):
        call("paper", "figures", "--figure", "dimensions", "--output", str(tmp_path))


def test_the_figure_of_theorem_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    call("paper", "figures", "--figure", "theorem-1", "--output", str(tmp_path), "--format", "svg")
    assert capsys.readouterr().out.strip() == str(tmp_path / "theorem-1.svg")
    assert (tmp_path / "theorem-1.svg").exists()


def test_theory_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--only", "gamma", "--only", "2", "--only", "6"]
    assert call("theory", *words) == 0
    text = capsys.readouterr().out
    assert "15.0  0.5033  0.5033" in text
    assert text.count("=> holds") == 3
    assert call("theory", *words, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gamma"]["holds"] is True
    assert len(document["2"]["numbers"]["growth"]) == 31
    assert document["6"]["numbers"]["first_impossible"]["1000"]["0.1"] == 4096


def test_what_cannot_be_drawn_is_left_out_and_the_rest_is_drawn(
    logs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    from dsrs.paper.figures import catalogue

    few = {name: catalogue.PAPER_FIGURES[name] for name in ("votes", "curves", "noise-norm")}
    monkeypatch.setattr(catalogue, "PAPER_FIGURES", few)
    assert call("paper", "figures", "--logs", str(logs), "--output", str(tmp_path), "--quiet") == 0
    shown = capsys.readouterr()
    assert shown.out.split() == [str(tmp_path / "curves.png")]
    assert "left out votes: " in shown.err
    assert "left out noise-norm: expected logs as" in shown.err
    damaged = logs / "landscape_sampling" / "cohen-mnist-380-1.00.pth"
    damaged.mkdir(parents=True)
    (damaged / "0.0-1.0-2-1000.txt").write_text("o 0 1\n")
    assert (
        call(
            "paper",
            "figures",
            "--logs",
            str(logs),
            "--output",
            str(tmp_path),
            "--quiet",
            "--overwrite",
        )
        == 1
    )
    assert "1000.txt, line 1: expected" in capsys.readouterr().err


def test_the_time_of_a_certificate(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = next((logs / "sampling").glob("*.pth"))
    for rule, ends in (("", "0.9 0.91"), ("-x+", "0.97 0.98")):
        name = f"general-gaussian-380-1.0-50000-0.0005{rule}.txt"
        rows = "".join(f"o {i} {ends}\n" for i in range(8))
        (model / name).write_text(HEADER.format(n=50_000, alpha=0.0005) + rows)
    times = logs / "new-radius" / model.name
    times.mkdir(parents=True)
    name = "time-new-rad-general-gaussian-th-380-1.0-x+-50000-0.0005.txt"
    (times / name).write_text("30.5\n31.5\n")
    assert call("paper", "time", "--logs", str(logs), "--inputs", "4", "--quiet") == 0
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:3] == ["mnist", "1", "4"]
    assert row[-2:] == ["10.53", "31.00"]
    # A millisecond or so here; seconds would mean that something compiled on the clock.
    assert 0 < float(row[3]) < 1000
    assert 0 < float(row[4]) < 1000
    with pytest.raises(InvalidInput, match="--inputs"):
        call("paper", "time", "--logs", str(logs), "--inputs", "0")

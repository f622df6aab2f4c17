"""What records show of themselves: a line, a small table, and never pixels or histograms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs.datasets import Dataset
from dsrs.reports import make_report, read_run
from dsrs.store import open_run
from known_classifiers import Linear

LAW = dsrs.GeneralizedGaussian(8, 0.5)
DATA = Dataset.from_arrays(
    np.zeros((3, 8), np.float32), [1, 1, 0], name="<zeros>", class_names=("off", "on")
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("readable") / "run"
    smoothed = dsrs.SmoothedClassifier(Linear(8, 0.5), LAW, n=256, method="np", seed=0)
    result = smoothed.certify(DATA, save=folder)
    summary = read_run(folder)
    run = open_run(folder)
    one = run.result(0)
    return {
        "SmoothedClassifier": smoothed,
        "CertifiedRun": result,
        "Certificate": result[0],
        "Dataset": DATA,
        "Run": run,
        "RunResult": one,
        "Votes": one.votes[0],
        "RunSummary": summary,
        "Outcome": summary.outcomes[0],
        "Report": make_report([summary]),
    }


def test_each_record_is_a_line(shown: dict[str, Any]) -> None:
    for name, record in shown.items():
        text = repr(record)
        assert text.startswith(f"{name}(")
        assert len(text) < 400, text
        assert "\n" not in text
        # No row of numbers: neither pixels nor bins.
        assert not re.search(r"(\b\d+(\.\d+)?[, ]+){9}", text), text


def test_each_record_is_a_table_in_a_notebook(shown: dict[str, Any]) -> None:
    for name, record in shown.items():
        if name == "Votes":
            continue
        table = record._repr_html_()
        assert f"<caption>{name}</caption>" in table
        assert table.count("<tr>") == table.count("</tr>") >= 3
        assert len(table) < 2000
    assert "&lt;zeros&gt;" in DATA._repr_html_()


def test_a_certificate_says_its_class_and_what_was_proved(shown: dict[str, Any]) -> None:
    text = repr(shown["Certificate"])
    assert "status: certified" in text
    assert "class: 1" in text
    assert "alpha: 0.001" in text
    radius = float(re.search(r"l2 radius: ([\d.]+)", text)[1])  # type: ignore[index]
    assert 0 <= shown["Certificate"].radius - radius < 1e-6


def test_the_bar_is_shown_to_those_who_watch(capsys: pytest.CaptureFixture[str]) -> None:
    smoothed = dsrs.SmoothedClassifier(Linear(8, 0.5), LAW, n=64, method="np")
    smoothed.certify(DATA)
    assert capsys.readouterr().err == ""  # nobody watches a pipe
    smoothed.certify(DATA, progress=True)
    assert "3/3" in capsys.readouterr().err


def test_a_notebook_has_one_line_that_is_updated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    class Cell:
        def update(self, content: dict[str, str], raw: bool) -> None:
            lines.append(content["text/plain"])

    monkeypatch.setattr("dsrs.certifying.progress.notebook_cell", Cell)
    monkeypatch.setattr("dsrs.certifying.progress.REDRAW_SECONDS", 0.0)
    smoothed = dsrs.SmoothedClassifier(Linear(8, 0.5), LAW, n=64, method="np")
    smoothed.certify(DATA, progress=True)
    assert [line for line in lines if "certifying" in line] == lines
    assert "1/3" in lines[0]
    assert "3/3" in lines[-1]
    assert capsys.readouterr().err == ""


def test_a_folder_is_named_where_it_is_saved(shown: dict[str, Any], tmp_path: Path) -> None:
    assert str(shown["CertifiedRun"].path) in repr(shown["CertifiedRun"])

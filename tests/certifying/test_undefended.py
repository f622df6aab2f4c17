"""The answer of the model without noise: asked once, kept everywhere, and shown in reports."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dsrs
from dsrs.certifying import certify_run, recertify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.errors import StoreCorrupted
from dsrs.exchange import export_run
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.reports import (
    UNDEFENDED_TITLE,
    Undefended,
    certified_accuracy,
    make_report,
    read_run,
    read_runs,
    report_fields,
)
from dsrs.store import STORE_NAME, merge_runs, open_run

D, BATCH = 16, 16
PLAN = Plan(GeneralizedGaussian(D, 0.5), ("np",), n=64, batch=BATCH, alpha=0.01)
VALUES, LABELS = [0.9, 0.6, -0.3, -0.9], [1, 1, 1, 0]
RIGHT = 0.75


class FirstValue:
    """Class 1 where the first value is positive; notes the rows of each pass."""

    def __init__(self) -> None:
        self.passes: list[int] = []

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        self.passes.append(len(batch))
        score = batch.reshape(len(batch), -1)[:, 0]
        return np.stack([-score, score], axis=1)


def certified(path: Path, *, labelled: bool = True, indices: tuple[int, ...] = (0, 1, 2, 3)) -> int:
    """Certify into `path`; how many single rows the model was asked."""
    images = np.zeros((4, D), dtype=np.float32)
    images[:, 0] = VALUES
    labels = np.array(LABELS) if labelled else None
    data = Dataset(images, labels, name="four", fingerprint="four", bounds=(-1.0, 1.0))
    asked = FirstValue()
    model = from_callable(asked, (D,), 2, bounds=(-1.0, 1.0), fingerprint="first value")
    asked.passes.clear()
    certify_run(model, data, PLAN, indices, path, workers=1)
    return asked.passes.count(1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undefended") / "run"
    assert certified(folder) == len(VALUES)
    return folder


def undefended(path: Path) -> list[int | None]:
    with open_run(path) as opened:
        return [result.sampled.undefended for result in opened.results()]


def test_each_labelled_input_is_asked_once_and_counted(run: Path, tmp_path: Path) -> None:
    assert undefended(run) == [1, 1, 0, 0]
    assert certified(tmp_path / "plain", labelled=False) == 0
    assert undefended(tmp_path / "plain") == [None] * 4
    with open_run(run) as opened:
        assert [result.queries for result in opened.results()] == [64 + 1] * 4
    assert certified(tmp_path / "part", indices=(0, 1)) == 2
    assert certified(tmp_path / "part") == 2  # continued: the first two are not asked again
    assert undefended(tmp_path / "part") == [1, 1, 0, 0]


def test_recertified_and_exported_results_keep_it(run: Path, tmp_path: Path) -> None:
    recertify_run(run, alpha=0.02, output=tmp_path / "again")
    assert undefended(tmp_path / "again") == [1, 1, 0, 0]
    merge_runs([run], tmp_path / "merged")
    assert undefended(tmp_path / "merged") == [1, 1, 0, 0]
    with open_run(run) as opened:
        for form in ("csv", "jsonl"):
            export_run(opened, tmp_path / f"table.{form}", form)
    for form in ("csv", "jsonl"):
        assert read_run(tmp_path / f"table.{form}").undefended_accuracy == RIGHT


def test_reports_show_it_where_all_inputs_have_it(run: Path) -> None:
    (summary,) = read_runs([str(run)])
    report = make_report([summary])
    assert report.series.undefended == (Undefended("", RIGHT),)
    assert report_fields(report)["runs"][0]["undefended_accuracy"] == RIGHT
    first, *others = summary.outcomes
    unknown = replace(summary, outcomes=(replace(first, undefended=None), *others))
    assert make_report([unknown]).series.undefended == ()
    worse = replace(first, undefended=0)
    other = replace(summary, name="other", outcomes=(worse, *others))
    assert make_report([summary, other]).series.undefended == (
        Undefended("run", RIGHT),
        Undefended("other", 0.5),
    )


def test_the_figure_has_a_point_at_radius_0(run: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    (axes,) = certified_accuracy(make_report(read_runs([str(run)]))).axes
    (point,) = (line for line in axes.get_lines() if line.get_label() == UNDEFENDED_TITLE)
    assert np.asarray(point.get_data()).tolist() == [[0], [100 * RIGHT]]


def test_a_changed_answer_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    certified(folder)
    for change in ("1", "NULL"):
        with sqlite3.connect(folder / STORE_NAME) as connection:
            connection.execute(f"UPDATE input SET undefended = {change} WHERE idx = 3")
        connection.close()
        with open_run(folder) as opened, pytest.raises(StoreCorrupted, match="checksum"):
            opened.result(3)
        (found,) = (each for each in dsrs.check(folder) if each.name == "input 3, np")
        assert "checksum" in found.reason

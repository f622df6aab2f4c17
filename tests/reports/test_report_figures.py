from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from dsrs.errors import InvalidInput, MissingExtra
from dsrs.laws import GeneralizedGaussian
from dsrs.reports import (
    FIGURES,
    Resampling,
    RunSummary,
    accuracy_gain,
    certified_accuracy,
    draw_figures,
    make_report,
    print_style,
    save_figures,
)

FAST = Resampling(100)
SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_every_figure_is_written(hand_run: RunSummary, tmp_path: Path) -> None:
    paths = save_figures(make_report([hand_run], [0.5], FAST), tmp_path, ["svg"])
    assert {path.stem for path in paths} == FIGURES.keys() - {"envelope", "attack-gap"}
    for path in paths:
        assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_figure_is_written_in_every_format(
    hand_run: RunSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsrs.reports.figures.FIGURES", {"accuracy-gain": accuracy_gain})
    report = make_report([hand_run], [0.5], FAST)
    for path in save_figures(report, tmp_path, ["png", "svg", "pdf"]):
        assert path.read_bytes().startswith(SIGNATURES[path.suffix[1:]])


def test_the_same_report_gives_the_same_file(
    hand_run: RunSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsrs.reports.figures.FIGURES", {"certified-accuracy": certified_accuracy})
    report = make_report([hand_run], [0.5], FAST)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        save_figures(report, folder, ["svg"])
    first, second = ((f / "certified-accuracy.svg").read_bytes() for f in folders)
    assert first == second
    text = " ".join(ElementTree.fromstring(first).itertext())
    assert "certified accuracy (%)" in text
    assert "DSRS truncated" in text


def test_the_curve_drops_right_after_a_certified_radius(hand_run: RunSummary) -> None:
    figure = draw_figures(make_report([hand_run], [0.5], FAST))["certified-accuracy"]
    baseline = figure.axes[0].get_lines()[0]
    assert baseline.get_drawstyle() == "steps-pre"
    assert np.asarray(baseline.get_xdata()).tolist() == [0.0, 0.25, 0.5, 1.0, 2.0, 2.0]
    assert np.asarray(baseline.get_ydata()).tolist() == [50.0, 50.0, 37.5, 25.0, 12.5, 0.0]


@pytest.mark.parametrize("name", ["s{}", "a long name of a run, sigma {}"])
def test_the_legend_of_several_runs_lies_below_and_inside(make_result, name: str) -> None:  # type: ignore[no-untyped-def]
    radii = {"np": 1.0, "truncated": 1.1, "rescaled": 1.1, "tailored": 1.2, "landscape": 1.0}
    runs = [
        RunSummary.from_results(
            name.format(sigma),
            [make_result(0, radii, law=GeneralizedGaussian(16, sigma))],
        )
        for sigma in (0.25, 0.5)
    ]
    drawn = draw_figures(make_report(runs, [0.5], FAST))
    assert drawn.keys() == FIGURES.keys() - {"attack-gap"}
    (legend,) = drawn["certified-accuracy"].legends
    assert len(legend.get_texts()) == 10
    for title, figure in drawn.items():
        with print_style():
            figure.draw_without_rendering()
        for legend in figure.legends:
            box, page = legend.get_window_extent(), figure.bbox
            assert page.x0 <= box.x0 < box.x1 <= page.x1
            assert page.y0 <= box.y0
            axes = figure.axes[-1].get_tightbbox()
            assert axes is not None
            assert box.y1 <= axes.y0, title


def test_points_at_radius_0_are_whole(hand_run: RunSummary) -> None:
    axes = draw_figures(make_report([hand_run], [0.5], FAST))["radius-comparison"].axes[0]
    assert axes.get_xlim()[0] < 0 > axes.get_ylim()[0]


def test_a_run_that_certifies_nothing_is_still_drawn(make_result, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lost = {"np": "abstained", "truncated": "abstained"}
    run = RunSummary.from_results("lost", [make_result(0, lost, hits_per_bin=0)])
    paths = save_figures(make_report([run], None, FAST), tmp_path, ["svg"])
    assert {path.stem for path in paths} == FIGURES.keys() - {
        "envelope",
        "accuracy-gain",
        "attack-gap",
    }


def test_an_unknown_format_is_refused(hand_run: RunSummary, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="png, svg, pdf, got 'gif'"):
        save_figures(make_report([hand_run], [0.5], FAST), tmp_path, ["gif"])


def test_without_matplotlib_the_extra_is_named(
    hand_run: RunSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"dsrs\[report\]"):
        draw_figures(make_report([hand_run], [0.5], FAST))

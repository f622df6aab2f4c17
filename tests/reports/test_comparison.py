"""Two runs over their common inputs: gains by hand, intervals, changes, and every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dsrs
from dsrs.cli.main import main
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.laws import GeneralizedGaussian
from dsrs.reports import (
    Resampling,
    RunSummary,
    caveats,
    compare,
    comparison_markdown,
    draw_figures,
    html_page,
    json_document,
    make_report,
)
from dsrs.store import RunResult
from reports.test_report_command import store

FAST = Resampling(200)
Make = Callable[..., RunResult]
SETTINGS = {"plan": {"n": 1000, "alpha": 0.001}}


@pytest.fixture
def old(make_result: Make) -> RunSummary:
    """Inputs 0 to 3, of which 3 is abstained and 2 predicted wrong."""
    results = [
        make_result(0, {"np": 0.5}),
        make_result(1, {"np": 1.0}),
        make_result(2, {"np": 0.7}, predicted=2),
        make_result(3, {"np": "abstained"}),
    ]
    return RunSummary.from_results("old", results, settings=SETTINGS)


@pytest.fixture
def new(make_result: Make) -> RunSummary:
    """Inputs 1 to 4."""
    results = [make_result(i, {"np": r}) for i, r in ((1, 0.4), (2, 0.7), (3, 0.3), (4, 9.0))]
    settings = {"plan": {"n": 2000, "alpha": 0.001}}
    return RunSummary.from_results("new", results, settings=settings)


def test_gains_by_hand_over_the_common_inputs(old: RunSummary, new: RunSummary) -> None:
    found = compare(old, new, [0.25, 0.5], resampling=FAST)
    assert (found.size, found.sizes) == (3, (4, 4))
    (np_gain,) = found.methods
    # At 0.25: 1 is kept, 2 and 3 are won. At 0.5: 1 is lost, 2 is won.
    assert [one.value for one in np_gain.gain.certified_accuracy] == [Fraction(2, 3), 0]
    assert float(np_gain.gain.average_radius.value) == pytest.approx((-0.6 + 0.7 + 0.3) / 3)
    assert np_gain.gain.abstention.value == Fraction(-1, 3)
    assert found.clean is not None
    assert found.clean.value == Fraction(1, 3)
    assert [(one.radius, one.gained, one.lost) for one in np_gain.changes] == [
        (0.0, (2, 3), ()),
        (0.25, (2, 3), ()),
        (0.5, (2,), (1,)),
    ]


def test_the_interval_of_a_gain_is_paired(make_result: Make) -> None:
    """Radii that differ much between inputs, and by 0.01 between runs: the gain is sure."""
    radii = np.random.default_rng(0).uniform(0.1, 3.0, 40)
    first, second = (
        RunSummary.from_results(
            name, [make_result(i, {"np": r + more}) for i, r in enumerate(radii)]
        )
        for name, more in (("old", 0.0), ("new", 0.01))
    )
    gain = compare(first, second, [0.5], resampling=FAST).methods[0].gain.average_radius
    assert gain.sign == 1
    assert float(gain.high - gain.low) < 1e-9
    back = compare(second, first, [0.5], resampling=FAST).methods[0].gain.average_radius
    assert back.sign == -1


def test_the_ratio_of_average_radii_is_paired(make_result: Make) -> None:
    """Radii that differ much between inputs, and are 1.5 times as large in the new run."""
    radii = np.random.default_rng(0).uniform(0.1, 3.0, 40)
    first, second = (
        RunSummary.from_results(
            name, [make_result(i, {"np": r * times}) for i, r in enumerate(radii)]
        )
        for name, times in (("old", 1.0), ("new", 1.5))
    )
    found = compare(first, second, [0.5], resampling=FAST)
    ratio = found.methods[0].ratio
    assert ratio is not None
    assert [float(part) for part in (ratio.low, ratio.value, ratio.high)] == pytest.approx(
        [1.5] * 3
    )
    text = "average radius of new, Neyman-Pearson: 1.50 times (1.50 to 1.50) that of old"
    assert text in comparison_markdown(found)
    (fields,) = json.loads(json_document(make_report([first, second], [0.5], FAST)))["comparisons"]
    assert fields["ratios"] == [{"method": "np", "ratio": 1.5, "low": 1.5, "high": 1.5}]


def test_the_interval_of_a_ratio_by_hand(make_result: Make) -> None:
    """Two inputs, (1, 1) and (1, 4): a resample has one of the ratios 1, 2.5 and 4."""
    first, second = (
        RunSummary.from_results(name, [make_result(i, {"np": r}) for i, r in enumerate(radii)])
        for name, radii in (("old", (1.0, 1.0)), ("new", (1.0, 4.0)))
    )
    ratio = compare(first, second, [0.5], resampling=FAST).methods[0].ratio
    assert ratio is not None
    assert [float(part) for part in (ratio.low, ratio.value, ratio.high)] == [1, 2.5, 4]


def test_there_is_no_ratio_to_what_may_be_nothing(make_result: Make) -> None:
    """A resample of two inputs may hold the abstained one alone."""
    first, second = (
        RunSummary.from_results(
            name, [make_result(0, {"np": radius}), make_result(1, {"np": "abstained"})]
        )
        for name, radius in (("old", 1.0), ("new", 2.0))
    )
    found = compare(first, second, [0.5], resampling=FAST)
    assert found.methods[0].ratio is None
    assert " times (" not in comparison_markdown(found)


def test_the_interval_covers_the_gain_of_the_population(make_result: Make) -> None:
    """Half of all inputs gain and a quarter lose: 1/4 lies in most of the 95% intervals."""
    generator = np.random.default_rng(3)
    inside = 0
    for _ in range(60):
        before = generator.choice([0.0, 1.0], 50)
        step = generator.choice([1.0, 1.0, 0.0, -1.0], 50)
        first, second = (
            RunSummary.from_results(
                name, [make_result(i, {"np": float(r)}) for i, r in enumerate(radii)]
            )
            for name, radii in (("old", before + 2), ("new", before + 2 + step))
        )
        gain = (
            compare(first, second, [0.5], resampling=Resampling(100)).methods[0].gain.average_radius
        )
        inside += gain.low <= Fraction(1, 4) <= gain.high
    assert inside >= 52  # 57 expected; fewer than 52 has probability 0.02 at a true 92.5%


def test_runs_that_cannot_be_compared(old: RunSummary, new: RunSummary, make_result: Make) -> None:
    apart = RunSummary.from_results("apart", [make_result(9, {"np": 1.0})])
    with pytest.raises(StoreMismatch, match="old and apart have no input in common"):
        compare(old, apart)
    other = RunSummary.from_results("other", [make_result(1, {"truncated": 1.0})])
    with pytest.raises(InvalidInput, match="no method in common: old has np; other has truncated"):
        compare(old, other)
    with pytest.raises(InvalidInput, match="not both the method 'tailored'"):
        compare(old, new, method="tailored")
    relabelled = RunSummary.from_results("x", [make_result(1, {"np": 1.0}, label=3)])
    with pytest.raises(StoreMismatch, match="input 1 has label 1"):
        compare(old, relabelled)


def test_a_report_of_different_runs_says_so(old: RunSummary, new: RunSummary) -> None:
    report = make_report([old, new], [0.25, 0.5], FAST)
    notes = " ".join(caveats(report))
    assert "old has 4, new has 4, and 3 of these are common to all" in notes
    assert "The runs differ in n (1,000 and 2,000)" in notes
    page = html_page(report)
    assert '<section id="comparison"' in page
    assert "new against old, over 3 inputs in common (of 4 and 4)" in page
    assert "r=0.5: gained 1 (2), lost 1 (1)" in page
    assert "sigma = 1, k = 2, n = 1,000, alpha = 0.001, 4 inputs" in page
    (fields,) = json.loads(json_document(report))["comparisons"]
    (at_half,) = (one for one in fields["gains"] if one["radius"] == 0.5)
    assert (at_half["old"], at_half["new"], at_half["gain"]) == (0.333333, 0.333333, 0.0)


def test_runs_without_common_inputs_are_shown_but_not_compared(make_result: Make) -> None:
    runs = [
        RunSummary.from_results(
            name, [make_result(i, {"np": 1.0}, law=GeneralizedGaussian(16, sigma))]
        )
        for i, (name, sigma) in enumerate((("a", 0.5), ("b", 1.0)))
    ]
    report = make_report(runs, [0.5], FAST)
    assert (report.comparisons, report.envelopes) == ((), ())
    assert "none of these are common to all. Their numbers in the summary do not compare." in (
        " ".join(caveats(report))
    )


def test_colours_tell_runs_apart_and_methods_within_a_run(make_result: Make) -> None:
    runs = [
        RunSummary.from_results(
            name,
            [make_result(0, {"np": 1.0, "truncated": 1.5}, law=GeneralizedGaussian(16, sigma))],
            family=None,
        )
        for name, sigma in (("a", 0.25), ("b", 0.5))
    ]
    lines = draw_figures(make_report(runs, [0.5], FAST))["certified-accuracy"].axes[0]
    colours = [line.get_color() for line in lines.get_lines()]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert "Neyman-Pearson, a (\u03c3 = 0.25)" in [line.get_label() for line in lines.get_lines()]
    alone = draw_figures(make_report(runs[:1], [0.5], FAST))["certified-accuracy"].axes[0]
    assert len({line.get_color() for line in alone.get_lines()}) == 2


def test_the_command_prints_and_writes(
    tmp_path: Path, make_result: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    first = store(tmp_path / "old", make_result, 1.0)
    second = store(tmp_path / "x" / "new", make_result, 0.5, count=3)
    words = ["compare", f"was (s=1)={first}", str(second), "--radii", "0.25,0.75"]
    words += ["--resamples", "100"]
    page, summary = tmp_path / "page.html", tmp_path / "summary.md"
    summary.write_text("what stood there\n")
    assert main([*words, "--output", str(page), "--summary", str(summary)]) == 0
    out = capsys.readouterr().out
    assert "new against was (s=1), over 3 inputs in common (of 5 and 3)" in out
    assert "the runs differ in sigma (1 and 0.5): a gain may come from that" in out
    assert "r=0.75: lost 3 (0, 1, 2)" in out
    assert "-0.500*" in out
    assert (
        "average radius of new, Neyman-Pearson: 0.50 times (0.50 to 0.50) that of was (s=1)" in out
    )
    assert "<title>new against was (s=1)</title>" in page.read_text()
    text = summary.read_text()
    assert text.startswith("what stood there\n")
    assert "| gain of new | Neyman-Pearson |" in text
    assert main([*words, "--json", "--method", "np"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == 3


def test_from_python_runs_are_named_by_their_folders(tmp_path: Path, make_result: Make) -> None:
    first, second = (store(tmp_path / name, make_result) for name in ("old", "new"))
    found = dsrs.compare(first, second, [0.5], resampling=FAST)
    assert "new against old, over 5 inputs in common" in comparison_markdown(found)

"""One colour has one meaning in all figures of a report, in print and on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from dsrs.laws import GeneralizedGaussian
from dsrs.methods import known_names
from dsrs.reports import (
    DARK_PALETTE,
    NEUTRAL,
    PALETTE,
    Looks,
    Report,
    Resampling,
    RunSummary,
    candidates_page,
    draw_figures,
    html_page,
    looks_of,
    make_report,
    method_color,
)
from dsrs.store import RunResult
from reports.headless_chromium import HeadlessChromium, needs_chromium

Make = Callable[..., RunResult]
RADII = {"np": 1.0, "truncated:0.5": 1.1, "truncated:0.6": 1.2, "landscape": 0.9}


def run(make: Make, name: str, sigma: float, family: str | None = "") -> RunSummary:
    law = GeneralizedGaussian(16, sigma, k=2.0)
    return RunSummary.from_results(name, [make(0, RADII, law=law)], family=family)


def drawn(report: Report) -> dict[str, list[tuple[str, Any]]]:
    """By figure, what stands in its legend: the label and the matplotlib artist."""
    return {
        name: [
            (str(artist.get_label()), artist)
            for artist in (*figure.axes[0].get_lines(), *figure.axes[0].collections)
            if not str(artist.get_label()).startswith("_")
        ]
        for name, figure in draw_figures(report).items()
    }


def color_of(artist: Any) -> str:
    found = artist.get_color() if hasattr(artist, "get_color") else artist.get_facecolor()[0]
    return str(to_hex(found)).upper()


def test_a_colour_of_several_runs_says_the_run_or_the_family(make_result: Make) -> None:
    runs = [
        run(make_result, f"{family}{sigma}", sigma, family)
        for family in ("g", "c")
        for sigma in (0.25, 0.5)
    ]
    meanings: dict[str, set[str]] = {}
    for entries in drawn(make_report(runs, [0.5], Resampling(100))).values():
        for label, artist in entries:
            if (place := color_of(artist)) in PALETTE:
                meanings.setdefault(place, set()).add(label.split(", ")[-1].split(" (")[0])
    assert sorted(meanings.values(), key=min) == [
        {"c"}, {"c0.25"}, {"c0.5"}, {"g"}, {"g0.25"}, {"g0.5"}
    ]  # fmt: skip


def test_every_curve_of_a_single_envelope_has_its_own_colour(make_result: Make) -> None:
    runs = [run(make_result, "a", 0.25), run(make_result, "b", 0.5)]
    looks = looks_of(make_report(runs, [0.5], Resampling(100)))
    assert list(looks.runs.values()) == [0, 1]
    assert list(looks.envelopes.values()) == [2, 3, 4, 5]


def test_a_colour_of_one_run_says_the_method_or_nothing(make_result: Make) -> None:
    figures = drawn(make_report([run(make_result, "one", 0.5)], [0.5], Resampling(100)))
    meanings: dict[str, set[str]] = {}
    for entries in figures.values():
        for label, artist in entries:
            if (place := color_of(artist)) in PALETTE[:NEUTRAL]:
                meanings.setdefault(place, set()).add(label)
    assert len(meanings) == len(RADII)
    assert all(len(labels) == 1 for labels in meanings.values()), meanings
    of_the_run = [artist for label, artist in figures["probability-distribution"] if label == "one"]
    assert [color_of(artist) for artist in of_the_run] == [PALETTE[NEUTRAL]]


def test_every_entry_of_a_figure_has_its_own_look(make_result: Make) -> None:
    runs = [run(make_result, "a", 0.5), run(make_result, "b", 1.0)]
    for name, entries in drawn(make_report(runs, [0.5], Resampling(100))).items():
        looks = {
            (
                color_of(artist),
                str(getattr(artist, "_unscaled_dash_pattern", None)),
                str([path.vertices.tolist() for path in getattr(artist, "get_paths", list)()][:1])
                if name in ("radius-comparison", "gain-by-probability")
                else "",
            )
            for _, artist in entries
        }
        assert len(looks) == len(entries), name


@pytest.mark.parametrize("number", [1, 2, 7])
def test_methods_that_nobody_knows_have_colours_of_their_own(number: int) -> None:
    methods = ["np", *(f"truncated:{i}" for i in range(number))]
    looks = Looks(["one"], methods)
    assert len(set(looks.methods.values())) == 1 + number
    assert [looks.pattern(method) for method in methods] == list(range(1 + number))
    assert NEUTRAL not in looks.methods.values()


def test_colours_are_all_different_on_light_and_on_dark_paper() -> None:
    assert len(set(PALETTE)) == len(PALETTE) == len(set(DARK_PALETTE)) == len(DARK_PALETTE)


def test_eight_runs_and_two_families_have_ten_colours(make_result: Make) -> None:
    runs = [run(make_result, str(i), 0.25 * (1 + i), "ab"[i % 2]) for i in range(8)]
    looks = looks_of(make_report(runs, [0.5], Resampling(100)))
    assert sorted({*looks.runs.values(), *looks.envelopes.values()}) == list(range(NEUTRAL))


def test_a_method_that_nobody_knows_is_drawn_by_tune() -> None:
    assert method_color("weighted") not in map(method_color, known_names())


def test_candidates_have_the_palette_of_the_page() -> None:
    tried = [
        {
            "name": f"way {place}",
            "law": {"sigma": 0.5, "k": 0},
            "method": "np",
            "radii": [0.0, 1.0],
            "predicted": {"value": 0.5, "interval": [0.4, 0.6], "certified_accuracy": [0.9, 0.1]},
        }
        for place in range(NEUTRAL + 1)
    ]
    gain = {"value": 0.1, "interval": [0.0, 0.2]}
    record = {"candidates": tried, "gain": gain, "objective": "acr", "best": "way 1", "failed": {}}
    page = candidates_page(record | {"n": 1, "alpha": 0.1, "inputs": [0], "denoise": None}, {})
    looks = re.findall(r'stroke="var\(--series-(\d+)\)" stroke-width="1.6" (\S+ ?\S*?")', page)
    assert len(set(looks)) == len(tried)
    assert {int(place) for place, _ in looks} == set(range(NEUTRAL))
    for palette in (PALETTE, DARK_PALETTE):
        assert all(f"--series-{place}:{color};" in page for place, color in enumerate(palette))


@needs_chromium
@pytest.mark.parametrize("number", [1, 2])
def test_the_page_has_the_colours_of_the_print_figures(
    browser: HeadlessChromium, make_result: Make, tmp_path: Path, number: int
) -> None:
    runs = [run(make_result, name, sigma) for name, sigma in (("a", 0.5), ("b", 1.0))[:number]]
    report = make_report(runs, [0.5], Resampling(100))
    (tmp_path / "page.html").write_text(html_page(report))
    browser.open(tmp_path / "page.html")
    swatches = """Object.fromEntries([...document.querySelectorAll("#figure-grid figure")].map((f) =>
      [f.id.replace("figure-", ""), Object.fromEntries([...f.querySelectorAll(".legend button")].map((b) => {
        const mark = b.querySelector("path, circle");
        return [b.textContent, mark.getAttribute("stroke") ?? mark.getAttribute("fill")];
      }))]))"""  # noqa: E501
    printed = {
        name: {
            label.removeprefix("mean, "): f"var(--series-{PALETTE.index(color_of(artist))})"
            for label, artist in entries
            if color_of(artist) in PALETTE
        }
        for name, entries in drawn(report).items()
    }
    assert printed == browser.evaluate(swatches)

"""Prediction sets: their sizes as a figure, and coverage with examples as a page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs import __version__
from dsrs.conformal import SHIFT_KINDS, CurvePoint, Evaluation, SetExample, Sets, ShiftOutcome
from dsrs.files import whole_file, write_whole
from dsrs.measures import MethodAccuracy, ceil_text, floor_text, percent
from dsrs.reports.figures import checked_formats, make_room
from dsrs.reports.page import GENERATOR
from dsrs.reports.style import dash, palette_css, print_style, run_color
from dsrs.reports.writing import check_page_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# ---- Mean size of prediction sets against radius, beside certified accuracy, as one figure


def draw_sizes(
    curves: Mapping[str, Sequence[CurvePoint]],
    accuracies: Mapping[str, MethodAccuracy],
    num_classes: int,
    path: Path,
) -> None:
    """Write the figure: sizes of sets by name above, certified accuracy of runs by name below."""
    suffix = path.suffix.removeprefix(".")
    checked_formats([suffix])
    with print_style(), whole_file(path) as stream:
        sizes_figure(curves, accuracies, num_classes).savefig(stream, format=suffix)


def sizes_figure(
    curves: Mapping[str, Sequence[CurvePoint]],
    accuracies: Mapping[str, MethodAccuracy],
    num_classes: int,
) -> Figure:
    """The same figure, not yet written."""
    from matplotlib.figure import Figure

    rows = 2 if accuracies else 1
    figure = Figure(figsize=(3.4, 1.9 * rows))
    panels = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for place, (name, points) in enumerate(curves.items()):
        # What holds at a radius holds at all smaller ones.
        panels[0].step(
            [point.radius for point in points],
            [point.mean_size for point in points],
            where="pre",
            color=run_color(place),
            dashes=dash(place),
            label=name,
        )
    panels[0].set_ylabel(f"mean size of sets, of {num_classes}")
    panels[0].set_ylim(0, 1.04 * num_classes)
    for place, (name, found) in enumerate(accuracies.items(), len(curves)):
        panels[1].step(
            found.radii,
            [100 * found.share(i) for i in range(len(found.radii))],
            where="pre",
            color=run_color(place),
            dashes=dash(place),
            label=name,
        )
    if accuracies:
        panels[1].set_ylabel("certified accuracy (%)")
        panels[1].set_ylim(0, 102)
    panels[-1].set_xlabel(r"$\ell_2$ radius $r$")
    panels[-1].set_xlim(left=0)
    for axes in panels:
        columns = make_room(figure, axes.get_legend_handles_labels()[1])
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)
    return figure


# ---- The report of prediction sets as one HTML file that needs no network and no script

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
CHART_WIDTH, BAR_HEIGHT, BAR_GAP = 420, 14, 4  # of the figure of sizes
SHIFT_CAPTIONS = {
    "none": "as it is",
    "random": "random shift",
    "attack": "attacked",
}  # beside pictures
STYLE = """
.summary thead th:nth-child(2) { text-align: right; }
.summary tbody th[scope="row"] { min-width: 8rem; white-space: normal; }
.votes th { min-width: 7rem; }
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); gap: 1.25rem; }
.pictures { display: flex; gap: 8px; }
.pictures figure { padding: 0; border: 0; }
.pictures img { display: block; width: 84px; height: 84px; object-fit: contain; image-rendering: pixelated; }
.missed { color: var(--down); font-weight: 600; }
.promise { border-left: 4px solid var(--focus); padding-left: .8rem; }
"""  # noqa: E501


def sets_page(
    sets: Sets, evaluation: Evaluation, title: str, class_names: Sequence[str] = ()
) -> str:
    """The whole page: the promise, coverage and sizes by shift, and examples with pictures."""
    rows = "".join(map(_row, evaluation.outcomes))
    figures = "".join(_figure(item, place) for place, item in enumerate(evaluation.outcomes))
    examples = "".join(_example(item, class_names) for item in evaluation.examples)
    promise = sets.guarantee[0].upper() + sets.guarantee[1:]
    caveats = "".join(f"<p>{escape(text)}</p>" for text in sets.caveats)
    heads = ("Inputs", "Number", "Coverage (%)", "95% interval", "Mean size", "Empty", "Moved (l2)")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    settings = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in _settings(sets)
    )
    body = f"""<p class="promise">{escape(promise)}.</p>
{caveats}
<h2>Coverage and size</h2>
<p>Measured on labelled inputs with this one calibration set. Coverage is the share of sets that
hold the label. Shifts were searched, and may not be the worst; the promise covers those too.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Coverage and size">
<table class="summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<h2>How many classes</h2>
<p>A bar for each number of classes; beside it how many sets have that many.</p>
<div class="figures">{figures}</div>
<h2>Examples</h2>
<p>The likeliest classes first. A set that does not hold the label is marked.</p>
<div class="examples">{examples}</div>
<h2>Settings</h2>
<table class="votes">{settings}</table>
"""
    return plain_page(title, STYLE, body)


def plain_page(title: str, style: str, body: str) -> str:
    """A page without scripts: the style of reports and `style`, the title, and the HTML `body`."""
    css = resources.files("dsrs.reports").joinpath("assets", "page.css").read_text("utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="{GENERATOR} {__version__}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{palette_css()}{css}{style}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main>
{body}</main>
</body>
</html>
"""


def write_sets_page(
    sets: Sets, evaluation: Evaluation, path: Path, title: str, class_names: Sequence[str] = ()
) -> None:
    """Write the page; an older report under that name is replaced in one step."""
    check_page_path(path)
    write_whole(path, sets_page(sets, evaluation, title, class_names).encode())


def _row(outcome: ShiftOutcome) -> str:
    low, high = outcome.interval
    cells = (
        f"{outcome.inputs:,}",
        percent(Fraction(outcome.held, outcome.inputs)),
        f"{floor_text(100 * low, 1)} to {ceil_text(100 * high, 1)}",
        f"{outcome.mean_size:.3f}",
        f"{outcome.sizes[0]:,}",
        f"{outcome.mean_distance:.3g}",
    )
    body = "".join(f"<td>{text}</td>" for text in cells)
    return f'<tr><th scope="row">{escape(SHIFT_KINDS[outcome.shift])}</th>{body}</tr>'


def _figure(outcome: ShiftOutcome, place: int) -> str:
    """A bar for each size of sets."""
    sizes = range(len(outcome.sizes))
    while len(sizes) > 1 and not outcome.sizes[sizes[-1]]:
        sizes = sizes[:-1]
    most = max(outcome.sizes)
    bars = []
    for row, size in enumerate(sizes):
        y, width = row * (BAR_HEIGHT + BAR_GAP), (CHART_WIDTH - 120) * outcome.sizes[size] / most
        bars.append(
            f'<text x="0" y="{y + 11}">{size}</text>'
            f'<rect x="24" y="{y}" width="{width:.1f}" height="{BAR_HEIGHT}" '
            f'fill="var(--series-{place})"/>'
            f'<text x="{width + 30:.1f}" y="{y + 11}">'
            f"{outcome.sizes[size]:,}</text>"
        )
    height = len(sizes) * (BAR_HEIGHT + BAR_GAP)
    return (
        f"<figure><figcaption>{escape(SHIFT_KINDS[outcome.shift])}</figcaption>"
        f'<svg viewBox="0 0 {CHART_WIDTH} {height}" role="img" aria-label="sizes of sets, '
        f'{escape(SHIFT_KINDS[outcome.shift])}">'
        f"{''.join(bars)}</svg></figure>"
    )


def _example(example: SetExample, class_names: Sequence[str]) -> str:
    def name(label: int) -> str:
        return escape(class_names[label] if label < len(class_names) else str(label))

    pictures = "".join(
        f'<figure><img alt="input {example.index}, {SHIFT_CAPTIONS[shift]}" '
        f'src="data:image/png;base64,{base64.b64encode(picture).decode("ascii")}">'
        f"<figcaption>{SHIFT_CAPTIONS[shift]}</figcaption></figure>"
        for shift, picture in example.pictures.items()
        if picture is not None
    )
    lines = "".join(
        f"<div{'' if example.label in classes else ' class=missed'}>{SHIFT_CAPTIONS[shift]}: "
        f"{', '.join(map(name, classes)) or 'no class'}</div>"
        for shift, classes in example.answers.items()
    )
    return (
        f'<div><div class="pictures">{pictures}</div>'
        f"<strong>input {example.index}, label {name(example.label)}</strong>{lines}</div>"
    )


def _settings(sets: Sets) -> list[tuple[str, str]]:
    counted, model = sets.calibration, sets.model
    draws = "1 draw" if counted.draws == 1 else f"{counted.draws} draws"
    return [
        ("noise", sets.law.describe()),
        ("grid", "none" if sets.grid is None else sets.grid.grid.text),
        ("radius, coverage", f"{sets.radius:g}, {sets.coverage:g}"),
        ("level of clean inputs", ceil_text(sets.level, 6)),
        ("score, threshold", f"{sets.score}, {sets.threshold:.6g}"),
        ("draws of an answer", str(sets.draws)),
        ("calibration", f"{counted.inputs:,} inputs of {counted.data}, {draws} each"),
        ("confidence", "none: on average" if sets.confidence is None else f"{sets.confidence:g}"),
        ("model", f"{model.description} ({model.fingerprint})"),
    ]

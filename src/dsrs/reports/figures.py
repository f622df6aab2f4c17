"""The print figures (matplotlib), drawn from the same series as the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dsrs import __version__
from dsrs.errors import InvalidInput
from dsrs.files import whole_file
from dsrs.reports.headers import in_scaled_units, legend_names
from dsrs.reports.report import Report
from dsrs.reports.series import UNDEFENDED_TITLE, GainBand, InputPoints, StepCurve, Undefended
from dsrs.reports.style import MARKERS, NEUTRAL, PALETTE, dash, looks_of, print_style
from dsrs.reports.summary import method_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_FORMATS = ("png", "svg", "pdf")
LEAST_GAIN = 1.0  # percentage points that the axis of gains shows at least
LEGEND_INSIDE = 3  # entries; a longer legend goes below the axes
LEGEND_ROW_INCHES = 0.14
POINT_SCALE = 2.0  # of the points of a legend, which are many and small in the axes
LEGEND_LETTERS = 24  # longer names do not fit twice into the width


def draw_figures(report: Report) -> dict[str, Figure]:
    """Every figure that the report has data for, by file name."""
    with print_style():
        drawn = {name: draw(report) for name, draw in FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def save_figures(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write every figure in every format into an existing folder; return the paths."""
    checked_formats(formats)
    paths = []
    for name, figure in draw_figures(report).items():
        for suffix in formats:
            path = folder / f"{name}.{suffix}"
            with print_style(), whole_file(path) as stream:
                figure.savefig(stream, format=suffix, metadata=_metadata(suffix))
            paths.append(path)
    return paths


def checked_formats(formats: Iterable[str]) -> None:
    """Refuse a format that is not offered."""
    for suffix in formats:
        if suffix not in FIGURE_FORMATS:
            raise InvalidInput(
                f"a figure format must be one of {', '.join(FIGURE_FORMATS)}, got {suffix!r}"
            )


def certified_accuracy(report: Report) -> Figure:
    """Certified accuracy against radius: one curve a method and run."""
    looks = looks_of(report)
    colors = [looks.line(curve.run, curve.method) for curve in report.series.curves]
    return _curves(report, report.series.curves, colors, report.series.undefended)


def envelope(report: Report) -> Figure | None:
    """Certified accuracy of the best sigma at each radius."""
    curves, looks = report.series.envelopes, looks_of(report)
    colors = [looks.envelopes[curve.run, curve.method] for curve in curves]
    return _curves(report, curves, colors) if curves else None


def accuracy_gain(report: Report) -> Figure | None:
    """Gain in certified accuracy against radius, with its paired bootstrap band."""
    bands = report.series.gains
    if not bands:
        return None
    figure, axes = _figure()
    looks = looks_of(report)
    axes.axhline(0, color="black", linewidth=0.6)
    for band in bands:
        color, dashes = PALETTE[looks.line(band.run, band.method)], dash(looks.pattern(band.method))
        low, high, gain = (100 * np.array(s) for s in (band.low, band.high, band.gain))
        # A difference of step functions, computed at these radii.
        axes.fill_between(band.radius, low, high, step="pre", color=color, alpha=0.1, linewidth=0)
        for end in (low, high):
            axes.step(band.radius, end, where="pre", color=color, linewidth=0.4)
        axes.step(
            band.radius, gain, where="pre", color=color, dashes=dashes, label=_label(report, band)
        )
    axes.set_xlabel(_radius_label(report))
    axes.set_ylabel("gain over Neyman-Pearson\n(percentage points)")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -LEAST_GAIN), max(high, LEAST_GAIN))
    axes.set_xlim(left=0)
    place_legend(figure, axes)
    return figure


def radius_comparison(report: Report) -> Figure | None:
    """Radius by double sampling against Neyman-Pearson, one point an input."""
    points = report.series.points
    if not points:
        return None
    figure, axes = _figure(size=(3.4, 3.4))
    limit = 1.04 * max([0.01, *(max(seen.baseline + seen.radius, default=0) for seen in points)])
    axes.plot([0, limit], [0, limit], color="black", linewidth=0.6, zorder=1)
    for seen in points:
        _scatter(axes, report, seen, seen.baseline, seen.radius)
    ends = (-0.02 * limit, limit)  # points at 0 keep their edge
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel("radius by Neyman-Pearson")
    axes.set_ylabel("radius by the other method")
    place_legend(figure, axes, POINT_SCALE)
    return figure


def gain_by_probability(report: Report) -> Figure | None:
    """Gain in radius against the estimate of P_A, one point an input."""
    points = [seen for seen in report.series.points if any(p is not None for p in seen.p)]
    if not points:
        return None
    figure, axes = _figure()
    axes.axhline(0, color="black", linewidth=0.6)
    for seen in points:
        pairs = [(p, g) for p, g in zip(seen.p, seen.gain, strict=True) if p is not None]
        shares, gains = zip(*pairs, strict=True)
        _scatter(axes, report, seen, shares, gains)
    axes.set_xlabel(r"estimate of $P_A$")
    axes.set_ylabel("gain in radius\nover Neyman-Pearson")
    axes.set_xlim(0.49, 1.01)  # below one half nothing can be certified; points keep their edge
    place_legend(figure, axes, POINT_SCALE)
    return figure


def probability_distribution(report: Report) -> Figure | None:
    """The share of inputs whose estimate of P_A is at most a value: one curve a run."""
    curves = report.series.probabilities
    if not curves:
        return None
    figure, axes = _figure()
    for seen in curves:
        look = _run_look(report, seen.run)
        shares = [0.0, *(100 * share for share in seen.share), 100.0]
        axes.step([0.0, *seen.p, 1.0], shares, where="post", **look)
    half = {"color": "#808080", "dashes": (1, 1), "label": "one half: a majority is above"}
    axes.axvline(0.5, linewidth=0.8, **half)
    axes.set(xlim=(0, 1.01), ylim=(0, 102))
    axes.set_xlabel(r"estimate of $P_A$")
    axes.set_ylabel("inputs with at most this (%)")
    place_legend(figure, axes, inside=0)
    return figure


def accuracy_by_norm(report: Report) -> Figure | None:
    """Accuracy under noise of each norm, above the density of that norm under P."""
    radial = report.series.radial
    if not radial:
        return None
    figure, (top, bottom) = _figure(size=(3.4, 3.0), rows=2, height_ratios=[3, 1], sharex=True)
    for seen in radial:
        look = _run_look(report, seen.run)
        color = look["color"]
        low, high, mean = (100 * np.array(s) for s in (seen.low, seen.high, seen.mean))
        top.fill_between(seen.norm, low, high, color=color, alpha=0.15, linewidth=0)
        top.plot(seen.norm, mean, **look | {"label": f"mean, {look['label']}"})
        bottom.fill_between(seen.norm, seen.density, color=color, alpha=0.25, linewidth=0)
        bottom.plot(seen.norm, seen.density, color=color, linewidth=0.8)
    top.set_ylabel("accuracy (%)")
    top.set_ylim(0, 102)
    bottom.set_ylabel("density")
    bottom.set_ylim(bottom=0)
    bottom.set_yticks([])
    bottom.set_xlabel("noise norm")
    top.fill_between([], [], color="#808080", alpha=0.25, linewidth=0, label="middle 80% of inputs")
    place_legend(figure, top)
    return figure


def attack_gap(report: Report) -> Figure | None:
    """Certified accuracy below, attacked accuracy above, and what is not known between them."""
    gaps = report.series.gaps
    if not gaps:
        return None
    figure, axes = _figure()
    for gap in gaps:
        look = _run_look(report, gap.run)
        color, name = look["color"], f", {look['label']}" if len(report.runs) > 1 else ""
        below, above = (100 * np.array(share) for share in (gap.certified, gap.attacked))
        axes.fill_between(
            gap.radius, below, above, step="pre", color=color, alpha=0.15, linewidth=0
        )
        axes.step(
            gap.radius, above, where="pre", color=color, dashes=(1, 1), label=f"attacked{name}"
        )
        axes.step(gap.radius, below, where="pre", color=color, label=f"certified{name}")
    axes.set_xlabel(_radius_label(report))
    axes.set_ylabel("accuracy (%)")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    place_legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Report], Figure | None]] = {
    "certified-accuracy": certified_accuracy,
    "envelope": envelope,
    "accuracy-gain": accuracy_gain,
    "radius-comparison": radius_comparison,
    "gain-by-probability": gain_by_probability,
    "probability-distribution": probability_distribution,
    "accuracy-by-norm": accuracy_by_norm,
    "attack-gap": attack_gap,
}


def _run_look(report: Report, run: str) -> dict[str, Any]:
    """Colour, dash and name of a line that stands for a run."""
    runs = looks_of(report).runs
    number = list(runs).index(run)
    name = legend_names(report.runs)[run]
    return {"color": PALETTE[runs[run]], "dashes": dash(number), "label": name}


def _radius_label(report: Report) -> str:
    units = " (scaled units)" if in_scaled_units(report.runs) else ""
    return r"$\ell_2$ radius $r$" + units


def _curves(
    report: Report,
    curves: Sequence[StepCurve],
    colors: Sequence[int],
    undefended: Sequence[Undefended] = (),
) -> Figure:
    figure, axes = _figure()
    looks = looks_of(report)
    for curve, color in zip(curves, colors, strict=True):
        axes.step(
            [*curve.radius, curve.radius[-1]],
            [*(100 * share for share in curve.accuracy), 0.0],
            where="pre",
            color=PALETTE[color],
            dashes=dash(looks.pattern(curve.method)),
            label=_label(report, curve),
        )
    for one in undefended:
        place = looks.runs[one.run] if one.run else NEUTRAL
        # Half of the marker would be cut off at the axis.
        look = {"marker": "D", "markersize": 3.5, "linestyle": "none", "clip_on": False}
        title = ", ".join(
            [UNDEFENDED_TITLE, *filter(None, [legend_names(report.runs).get(one.run)])]
        )
        axes.plot([0], [100 * one.accuracy], color=PALETTE[place], label=title, zorder=3, **look)
    axes.set_xlabel(_radius_label(report))
    axes.set_ylabel("certified accuracy (%)")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    place_legend(figure, axes)
    return figure


def _figure(
    size: tuple[float, float] | None = None, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    # `Figure` itself, not pyplot: no window system, and nothing global to close.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    return figure, figure.subplots(rows, 1, **options)


def place_legend(
    figure: Figure, axes: Axes, scale: float = 1.0, inside: int = LEGEND_INSIDE
) -> None:
    """Inside the axes up to `inside` entries; else below them, where it covers nothing.

    Markers are `scale` times as large as in the axes.
    """
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) <= inside:
        axes.legend(markerscale=scale)
        return
    columns = make_room(figure, labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, markerscale=scale)


def make_room(figure: Figure, labels: Sequence[str]) -> int:
    """Make a figure higher by a legend outside of its axes; return its number of columns."""
    columns = 2 if max(map(len, labels)) <= LEGEND_LETTERS else 1
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW_INCHES * (rows + 1))
    return columns


def _scatter(
    axes: Axes, report: Report, seen: InputPoints, x: Sequence[float], y: Sequence[float]
) -> None:
    looks = looks_of(report)
    axes.scatter(
        x,
        y,
        s=6,
        marker=MARKERS[(looks.pattern(seen.method) - 1) % len(MARKERS)],
        color=PALETTE[looks.line(seen.run, seen.method)],
        alpha=0.55,
        linewidths=0,
        label=_label(report, seen),
    )


def _label(report: Report, seen: StepCurve | GainBand | InputPoints) -> str:
    name = method_name(seen.method)
    run = legend_names(report.runs).get(seen.run, seen.run)
    return f"{name}, {run}" if len(report.runs) > 1 and seen.run else name


def _metadata(suffix: str) -> dict[str, Any]:
    maker = f"dsrs report {__version__}"
    if suffix == "png":
        return {"Software": maker}
    # No date, so that the same data gives the same file.
    return (
        {"Creator": maker, "Date": None}
        if suffix == "svg"
        else {"Creator": maker, "CreationDate": None}
    )

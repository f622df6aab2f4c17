"""Mean size of prediction sets against radius, beside certified accuracy, as one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.conformal import CurvePoint
from dsrs.files import whole_file
from dsrs.measures import MethodAccuracy
from dsrs.reports.figures import checked_formats, make_room
from dsrs.reports.style import dash, print_style, run_color

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

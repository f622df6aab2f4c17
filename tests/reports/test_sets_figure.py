"""The figure of the sizes of prediction sets: its legends lie beside the curves, inside."""

from __future__ import annotations

import pytest

from dsrs.conformal import CurvePoint
from dsrs.measures import MethodAccuracy
from dsrs.reports import print_style, sizes_figure

POINTS = [CurvePoint(radius, 0.95, 0.5, 10, size, 9) for radius, size in ((0.0, 1.0), (0.5, 2.0))]
ACCURACY = MethodAccuracy("np", 10, (0.0, 0.5), (9, 5), 1, 0, 0, 0.5)


@pytest.mark.parametrize("run", ["a", "a long name of a run, np, 10,000 queries"])
def test_legends_lie_within_the_page_and_leave_the_axes_wide(run: str) -> None:
    curves = {f"sigma {sigma}, 1 query": POINTS for sigma in (0.25, 0.5, 0.75)}
    with print_style():
        figure = sizes_figure(curves, {f"{run} {i}": ACCURACY for i in range(4)}, 10)
        figure.draw_without_rendering()
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        box, inside = legend.get_window_extent(), axes.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y1 >= box.y1 > box.y0 >= inside.y1 - 1
        assert inside.width > 0.8 * figure.bbox.width
        assert inside.height > 140

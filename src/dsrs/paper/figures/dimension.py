"""Figure 2a (radius against dimension for different n) and relaxed concentration (appendix)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.paper.dimension import DimensionCurve, neyman_pearson_radius, projected_radius
from dsrs.paper.figures.canvas import canvas
from dsrs.reports.style import method_color, run_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From pale to deep with n, because the curves are ordered.
SAMPLED_COLORS = ("#FDD0A2", "#FDAE6B", "#FD8D3C", "#F16913", "#D94801", "#A63603", "#7F2704")


def draw_sampled(curves: Sequence[DimensionCurve], path: Path) -> None:
    """Curves of kind `exact` and `sampled`."""
    with canvas(path, width=6.2) as [axes]:
        sampled = [curve for curve in curves if curve.kind == "sampled"]
        for place, curve in enumerate(sampled):
            label = f"$10^{{{round(math.log10(curve.parameter or 1))}}}$ votes"
            color = SAMPLED_COLORS[place % len(SAMPLED_COLORS)]
            axes.plot(curve.dimensions, curve.radii, color=color, label=label)
        _exact_and_baseline(axes, curves)
        _finish(axes)


def draw_relaxed(curves: Sequence[DimensionCurve], path: Path) -> None:
    """Curves of kind `exact` and `relaxed`, with the paper's projections dashed."""
    dimensions = max((curve.dimensions for curve in curves), key=len)
    with canvas(path, width=6.2) as [axes]:
        for place, curve in enumerate(c for c in curves if c.kind == "relaxed"):
            power = curve.parameter or 0.0
            color = run_color(place + 1)
            axes.plot(curve.dimensions, curve.radii, color=color, label=_failing(power))
            projected = [projected_radius(d, power) for d in dimensions]
            axes.plot(dimensions, projected, color=color, dashes=(4, 2), linewidth=0.8)
        axes.plot([], [], "k", dashes=(4, 2), linewidth=0.8, label="projected in the paper")
        _exact_and_baseline(axes, curves)
        _finish(axes)


def _exact_and_baseline(axes: Axes, curves: Sequence[DimensionCurve]) -> None:
    for curve in curves:
        if curve.kind == "exact":
            axes.plot(curve.dimensions, curve.radii, color="#000000", label="$Q_A = 1$")
    axes.axhline(
        neyman_pearson_radius(),
        color=method_color("np"),
        dashes=(1, 1.5),
        label="Neyman-Pearson, Gaussian noise",
    )


def _failing(power: float) -> str:
    return f"$Q_A = 1 - \\exp(-d^{{{power:g}}})$"


def _finish(axes: Axes) -> None:
    axes.set(
        xscale="log", yscale="log", xlabel="dimension $d$", ylabel=r"certified $\ell_2$ radius"
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

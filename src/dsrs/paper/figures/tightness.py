"""Theorem 1 and its corollary in pictures: the regions, and what each certificate proves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dsrs.measures.rounding import floor_text
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.multiclass import SECTOR, Multiclass
from dsrs.paper.planar import Region, lobes
from dsrs.paper.tightness import Tightness, regions
from dsrs.reports.style import PALETTE, method_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CIRCLE_ANGLES = np.linspace(0, 2 * math.pi, 721)


def draw_tightness(results: Sequence[Tightness], path: Path) -> None:
    """A panel a region: circles of radius NP < truncated < two discs < region = true."""
    with canvas(path, columns=len(results), width=5.2, height=2.9) as panels:
        for axes, result in zip(panels, results, strict=True):
            _region(axes, regions()[result.region])
            _circle(axes, result.disc, "#808080", "support of truncated Q", dashes=(1, 1.5))
            circles = (
                ("Neyman-Pearson", result.neyman_pearson, method_color("np"), ()),
                ("truncated Q", result.truncated, method_color("truncated"), ()),
                # Dashed, because it may lie on the circle before.
                ("two truncated Q", result.two_discs, PALETTE[3], (4, 3)),
                ("Q on the region", result.on_region, method_color("rescaled"), ()),
            )
            for label, radius, color, dashes in circles:
                _circle(axes, radius, color, f"{label}: {floor_text(radius, 3)}", dashes)
            axes.set_title(f"class A: {result.region}", fontsize=8)
            _loss(axes, result.true_radius, result.worst_direction)
            _finish(axes)


def draw_multiclass(result: Multiclass, path: Path) -> None:
    """Three classes: what the additional laws of the corollary prove."""
    with canvas(path, width=5.6, height=3.2) as [axes]:
        far = 4.0
        angles = np.linspace(*SECTOR, 200)
        axes.fill(
            far * np.cos(CIRCLE_ANGLES),
            far * np.sin(CIRCLE_ANGLES),
            color="#DCE9F5",
            label="class C",
        )
        sector_x = np.concatenate([[0.0], far * np.cos(angles)])
        sector_y = np.concatenate([[0.0], far * np.sin(angles)])
        axes.fill(sector_x, sector_y, color="#F8E6D4", label="class B")
        _region(axes, lobes())
        circles = (
            ("Neyman-Pearson", result.neyman_pearson, PALETTE[0]),
            ("$P_A$ and the runner-up", result.runner_up, PALETTE[5]),
            ("laws on A and B", result.laws_on_a_and_b, PALETTE[1]),
            ("laws on B and C", result.laws_on_the_rivals, PALETTE[2]),
        )
        for label, radius, color in circles:
            _circle(axes, radius, color, f"{label}: {floor_text(radius, 3)}")
        _loss(axes, result.true_radius, result.worst_direction)
        _finish(axes)
        axes.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))


def _region(axes: Axes, region: Region) -> None:
    reach = region.boundary(CIRCLE_ANGLES)
    axes.fill(
        reach * np.cos(CIRCLE_ANGLES),
        reach * np.sin(CIRCLE_ANGLES),
        color="#E8E8E8",
        label="class A",
    )


def _circle(
    axes: Axes, radius: float, color: str, label: str, dashes: tuple[float, ...] = ()
) -> None:
    axes.plot(
        radius * np.cos(CIRCLE_ANGLES),
        radius * np.sin(CIRCLE_ANGLES),
        color=color,
        dashes=dashes,
        linewidth=0.8 if dashes else 1.2,
        label=label,
    )


def _loss(axes: Axes, radius: float, direction: float) -> None:
    axes.plot(
        [radius * math.cos(direction)],
        [radius * math.sin(direction)],
        "x",
        color="#000000",
        label=f"smoothed class changes: {radius:.3f}",
    )
    axes.plot([0], [0], ".", color="#000000")


def _finish(axes: Axes) -> None:
    axes.set(aspect="equal", xlabel=r"$x_1 / \sigma$", ylabel=r"$x_2 / \sigma$")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

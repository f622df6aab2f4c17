"""Theorem 1 in a picture: the region, and what each certificate proves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dsrs.paper.figures.canvas import canvas
from dsrs.paper.tightness import Tightness, boundary
from dsrs.reports.style import method_color


def draw_tightness(result: Tightness, path: Path) -> None:
    """Decision region and its inscribed disc; circles of radius NP < truncated < region = true."""
    angle = np.linspace(0, 2 * math.pi, 721)
    reach = boundary(angle)
    circles = {
        f"Neyman-Pearson: {result.neyman_pearson:.3f}": (result.neyman_pearson, "np"),
        f"truncated Q: {result.truncated:.3f}": (result.truncated, "truncated"),
        f"Q on the region: {result.region:.3f}": (result.region, "rescaled"),
    }
    with canvas(path, width=5.6, height=3.2) as [axes]:
        axes.fill(reach * np.cos(angle), reach * np.sin(angle), color="#E8E8E8", label="class A")
        disc = result.disc
        axes.plot(
            disc * np.cos(angle),
            disc * np.sin(angle),
            color="#808080",
            dashes=(1, 1.5),
            linewidth=0.8,
            label="support of truncated Q",
        )
        for label, (radius, method) in circles.items():
            axes.plot(
                radius * np.cos(angle),
                radius * np.sin(angle),
                color=method_color(method),
                label=label,
            )
        x = result.true_radius * math.cos(result.worst_direction)
        y = result.true_radius * math.sin(result.worst_direction)
        axes.plot(
            [x],
            [y],
            "x",
            color="#000000",
            label=f"smoothed class changes: {result.true_radius:.3f}",
        )
        axes.plot([0], [0], ".", color="#000000")
        axes.set(aspect="equal", xlabel=r"$x_1 / \sigma$", ylabel=r"$x_2 / \sigma$")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

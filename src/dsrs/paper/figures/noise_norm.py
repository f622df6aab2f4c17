"""Accuracy against the norm of the noise, the look at a model that shows its concentration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsrs.paper.figures.canvas import canvas
from dsrs.paper.recorded import AccuracyByNorm
from dsrs.paper.titles import model_title
from dsrs.reports.style import method_color

PANELS_PER_ROW = 3


def draw_accuracy_by_norm(curves: Sequence[AccuracyByNorm], path: Path) -> None:
    """One panel a model: a line for each input, and the density of the noise norm under P.

    P is the law that the model was trained for, and its density is scaled to height 1.
    """
    ordered = sorted(curves, key=lambda curve: curve.model)
    columns = 2 if len(ordered) == 4 else min(PANELS_PER_ROW, len(ordered))
    rows = -(-len(ordered) // columns)
    with canvas(path, columns, rows, width=2.9, height=2.2, dpi=130) as panels:
        for axes, curve in zip(panels, ordered, strict=False):
            inputs = np.unique(curve.index)
            for index in inputs:
                of_input = curve.index == index
                axes.plot(
                    curve.noise_norm[of_input],
                    100 * curve.accuracy[of_input],
                    color=method_color("np"),
                    # Few lines may be strong, many must let each other be seen.
                    alpha=max(0.15, min(1.0, 8 / len(inputs))),
                    linewidth=0.6,
                )
            norms = np.linspace(0, float(curve.noise_norm.max()), 400)
            # Its height is that over all norms, also where the spheres do not reach the noise.
            usual = curve.law.radial_quantile(np.linspace(0.01, 0.99, 99))
            height = 100 * curve.law.radial_pdf(norms) / curve.law.radial_pdf(usual).max()
            axes.fill_between(
                norms,
                height,
                color=method_color("rescaled"),
                alpha=0.25,
                linewidth=0,
                label="density of the noise norm",
            )
            axes.set(xlabel=f"noise norm ({len(inputs)} inputs)", ylim=(0, 102))
            axes.set_title(model_title(curve.model), fontsize=7)
        for axes in panels[len(ordered) :]:
            axes.set_axis_off()
        for axes in panels[::columns]:
            axes.set_ylabel("accuracy (%)")
        panels[0].plot([], [], color=method_color("np"), linewidth=0.6, label="an input")
        handles, labels = panels[0].get_legend_handles_labels()
        axes.figure.legend(handles, labels, loc="outside lower center", ncols=2)

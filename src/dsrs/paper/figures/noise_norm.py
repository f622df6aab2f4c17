"""Accuracy against the norm of the noise, the look at a model that shows its concentration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsrs.paper.figures.canvas import canvas
from dsrs.paper.reference_tables import AccuracyByNorm
from dsrs.reports.style import method_color


def draw_accuracy_by_norm(curves: Sequence[AccuracyByNorm], path: Path) -> None:
    """One panel a model: a line for each input, and the density of the noise norm under P."""
    with canvas(path, columns=len(curves), width=2.6, height=2.4, dpi=130) as panels:
        for axes, curve in zip(panels, curves, strict=True):
            for index in np.unique(curve.index):
                of_input = curve.index == index
                axes.plot(
                    curve.noise_norm[of_input],
                    curve.accuracy[of_input],
                    color=method_color("np"),
                    alpha=0.15,
                    linewidth=0.6,
                )
            norms = np.linspace(0, float(curve.noise_norm.max()), 400)
            density = curve.law.radial_pdf(norms)
            axes.fill_between(
                norms, density / density.max(), color=method_color("rescaled"), alpha=0.25
            )
            axes.set(title=curve.model, xlabel="noise norm", ylim=(0, 1.02))
        panels[0].set_ylabel("accuracy")

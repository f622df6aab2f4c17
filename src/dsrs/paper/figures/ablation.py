"""The pictures of the authors' ablation: the (P_A, Q_A) plane, densities, the ideal bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsrs.laws import GeneralizedGaussian
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.probability_plane import SHIFT, IdealCurve, ProbabilityPlane
from dsrs.reports.style import method_color, run_color

# Dimension and exponent of each panel of densities; sigma of P and of Q.
DENSITIES = ((10, 0.0), (3072, 0.0), (3072, 1531.0))
ABLATION_SIGMAS = (0.5, 0.45)


def draw_planes(least: ProbabilityPlane, radii: ProbabilityPlane, path: Path) -> None:
    """C_delta on the left, the radius on the right, as colours over what is possible."""
    titles = (rf"$C_\delta(P_A, Q_A)$ at $|\delta|$ = {SHIFT:g}", "certified radius")
    with canvas(path, 2, 1, width=3.4, height=2.8) as panels:
        for axes, plane, title in zip(panels, (least, radii), titles, strict=True):
            colors = axes.pcolormesh(plane.p, plane.q, plane.value, shading="gouraud")
            axes.contour(plane.p, plane.q, plane.value, colors="#FFFFFF", linewidths=0.5)
            axes.figure.colorbar(colors, ax=axes)
            axes.set(xlabel="$P_A$", ylabel="$Q_A$")
            axes.set_title(title, fontsize=8)
            axes.grid(visible=False)


def draw_densities(path: Path) -> None:
    """The density of the noise norm under P and under a rescaled Q, each with height 1."""
    with canvas(path, len(DENSITIES), 1, width=2.6, height=2.1) as panels:
        for axes, (d, k) in zip(panels, DENSITIES, strict=True):
            sizes = np.linspace(1e-3, 1.2, 1500)
            for sigma, name, method in zip(ABLATION_SIGMAS, "PQ", ("np", "rescaled"), strict=True):
                density = GeneralizedGaussian(d, sigma, k).radial_pdf(sizes * np.sqrt(d))
                label = rf"${name}$, $\sigma$ = {sigma:g}"
                axes.plot(sizes, density / density.max(), color=method_color(method), label=label)
            axes.set(xlabel=r"norm / $\sqrt{d}$", ylim=(0, 1.05))
            axes.set_title(f"$d$ = {d}, $k$ = {k:g}", fontsize=8)
        panels[0].set_ylabel("density of the norm\n(largest = 1)")
        panels[0].legend()


def draw_ideal(curves: Sequence[IdealCurve], path: Path) -> None:
    """The true radius of a ball classifier against that which P_A alone proves."""
    with canvas(path) as [axes]:
        for place, curve in enumerate(curves):
            label, color = f"$d$ = {curve.d:,}", run_color(place)
            axes.plot(curve.neyman_pearson, curve.ideal, color=color, label=label)
        line = np.linspace(0.05, max(float(curve.neyman_pearson.max()) for curve in curves), 50)
        axes.plot(line, line, color="#000000", dashes=(1, 2), label="equal")
        axes.set(xlabel=r"Neyman-Pearson radius / $\sigma$", yscale="log")
        axes.set_ylabel(r"true radius / $\sigma$")
        axes.legend()

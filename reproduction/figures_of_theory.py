"""The paper's figures that need no data: how the theorems look, and the authors' ablation.

- Figure 2a, radius against dimension for different n, and relaxed concentration (appendix).
- Theorem 1 and its corollary: the regions, and what each certificate proves.
- The ablation: C_delta and the radius over the plane of (P_A, Q_A), densities, the ideal bound.

The plane: Gaussian noise in three dimensions with sigma = 0.5, Q rescaled to 0.4, and a shift of
length 0.5. For one P_A not every Q_A is possible: the ball with that much of P has the most of Q,
because the density of Q over that of P falls with the norm; the outside of a ball has the least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InfeasibleBox
from dsrs.files import whole_file
from dsrs.laws import GeneralizedGaussian, Rescaled
from dsrs.measures import floor_text
from dsrs.proofs import Interval, Observation, certify, least_probability
from dsrs.reports import PALETTE, method_color, print_style, run_color
from reproduction.growth import DimensionCurve, ball_radius, neyman_pearson_radius, projected_radius
from reproduction.plane import SECTOR, Multiclass, Region, Tightness, lobes, regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def canvas(
    path: Path,
    columns: int = 1,
    rows: int = 1,
    width: float = 4.2,
    height: float = 3.0,
    dpi: int = 200,
) -> Iterator[list[Axes]]:
    """Axes in rows, `width` x `height` inches each; saved to `path` at the end."""
    with print_style():
        # Not pyplot: a figure of our own needs no display and leaves no global state.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width * columns, height * rows))
        FigureCanvasAgg(figure)
        yield list(figure.subplots(rows, columns, squeeze=False).ravel())
        with whole_file(path) as stream:
            figure.savefig(stream, format=path.suffix.removeprefix("."), dpi=dpi)


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
        _log_log(axes)


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
        _log_log(axes)


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


def _log_log(axes: Axes) -> None:
    axes.set(
        xscale="log", yscale="log", xlabel="dimension $d$", ylabel=r"certified $\ell_2$ radius"
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


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


Floats = NDArray[np.float64]

PLANE_LAW = GeneralizedGaussian(3, 0.5)
PLANE_ADDITIONAL = Rescaled(PLANE_LAW, 0.4)
SHIFT = 0.5
PLANE_COLUMNS, PLANE_ROWS = 18, 9  # values of P_A, and of Q_A for each
PLANE_EDGE = 1e-6  # how far inside the possible Q_A the first and the last lie
IDEAL_DIMENSIONS = (10, 40, 160, 640, 2560)
IDEAL_M = 5.0  # d / 2 - k


@dataclass(frozen=True, slots=True)
class ProbabilityPlane:
    """One value at each point; rows have one P_A and Q_A from the least to the most possible."""

    p: Floats
    q: Floats
    value: Floats


@dataclass(frozen=True, slots=True)
class IdealCurve:
    """Largest radius of a ball classifier against its Neyman-Pearson radius, both over sigma."""

    d: int
    neyman_pearson: Floats
    ideal: Floats


def possible_q(p: float) -> tuple[float, float]:
    """The least and the largest Q_A of a classifier with this P_A."""
    least = 1 - float(PLANE_ADDITIONAL.radial_cdf(PLANE_LAW.radial_quantile(1 - p)))
    return least, float(PLANE_ADDITIONAL.radial_cdf(PLANE_LAW.radial_quantile(p)))


def least_probability_plane(
    columns: int = PLANE_COLUMNS, rows: int = PLANE_ROWS
) -> ProbabilityPlane:
    """C_delta(P_A, Q_A) at the shift SHIFT, for P_A from 0 to 1."""

    def value(p: float, seen: Observation) -> float:
        return least_probability(PLANE_LAW, Interval(p, p), seen, radius=SHIFT).dual_bound

    return _plane(np.linspace(0.05, 0.95, columns), rows, value)


def radius_plane(columns: int = PLANE_COLUMNS, rows: int = PLANE_ROWS) -> ProbabilityPlane:
    """The certified radius, for P_A from 1/2 to 1."""

    def value(p: float, seen: Observation) -> float:
        return certify(PLANE_LAW, Interval(p, p), seen).radius

    return _plane(np.linspace(0.52, 0.98, columns), rows, value)


def ideal_curves() -> list[IdealCurve]:
    """What a classifier that is right on a ball has, and what P_A alone proves of it."""
    curves = []
    for d in IDEAL_DIMENSIONS:
        law = GeneralizedGaussian(d, 1.0, d / 2 - IDEAL_M)
        masses = np.linspace(0.52, 0.995, 24)
        single = [certify(law, Interval(float(p), 1.0)).radius for p in masses]
        ideal = [ball_radius(law, float(law.radial_quantile(p))) for p in masses]
        curves.append(IdealCurve(d, np.array(single), np.array(ideal)))
    return curves


def _plane(
    shares: Floats, rows: int, value: Callable[[float, Observation], float]
) -> ProbabilityPlane:
    points = []
    for p in shares.tolist():
        least, most = possible_q(p)
        for q in np.linspace(least + PLANE_EDGE, most - PLANE_EDGE, rows).tolist():
            try:
                found = value(p, Observation(PLANE_ADDITIONAL, Interval(q, q)))
            except InfeasibleBox:  # at the very edge, by rounding
                found = np.nan
            points.append((p, q, found))
    grid = np.array(points).reshape(len(shares), rows, 3)
    return ProbabilityPlane(grid[..., 0], grid[..., 1], grid[..., 2])


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

"""C_delta and the radius over the plane of (P_A, Q_A), with the settings of the authors' ablation.

Gaussian noise in three dimensions with sigma = 0.5, Q rescaled to 0.4, and a shift of length 0.5.
For one P_A not every Q_A is possible: the ball with that much of P has the most of Q, because the
density of Q over that of P falls with the norm; the outside of a ball has the least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InfeasibleBox
from dsrs.laws import GeneralizedGaussian, Rescaled
from dsrs.paper.concentration import ball_radius
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation
from dsrs.proofs.least_probability import least_probability

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

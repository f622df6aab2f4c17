"""The law of the angle between a uniform direction and a fixed one, tabled once a dimension.

The cosine c has (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2). It is walked as c = sin phi: the density of phi
is proportional to cos(phi)^(d-2), smooth even for d = 2 (where it is uniform).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.kernel import inlined

Floats = NDArray[np.float64]
ANGLE_REACH = 10.0  # in standard deviations: leaves out 1e-23
CELLS = 1024


class AngleTable(NamedTuple):
    """cdf, pdf h and pdf' h^2 of the angle at CELLS + 1 points of [-reach, 0], h apart."""

    reach: float  # the angle is tabled over [-reach, reach]
    values: Floats


@functools.lru_cache(maxsize=64)
def angle_table(d: int) -> AngleTable:
    """The table of dimension d.

    The cdf is summed from the far end over 8 Gauss nodes a cell: all terms are positive, so even
    the smallest values keep their digits.
    """
    reach = min(math.pi / 2, ANGLE_REACH / math.sqrt(max(d - 2, 1)))
    log_peak = log_gamma_half_step((d - 1) / 2) - 0.5 * math.log(math.pi)
    step = reach / CELLS
    starts = -reach + step * np.arange(CELLS)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    inside = starts[:, None] + step * (0.5 + 0.5 * nodes)
    masses = _density(d, log_peak, inside) @ (0.5 * step * weights)
    # What lies beyond the reach: a geometric tail of rate (d - 2) tan(reach), 0 at a quarter turn.
    beyond = 0.0
    if reach < math.pi / 2:
        end = _density(d, log_peak, np.array([reach]))[0]
        beyond = end / ((d - 2) * math.tan(reach)) * (1 - 1 / ANGLE_REACH**2)
    cdf = beyond + np.concatenate([[0.0], np.cumsum(masses)])
    cdf *= 0.5 / cdf[-1]
    angle = np.append(starts, 0.0)
    density = _density(d, log_peak, angle)
    bend = np.zeros(CELLS + 1)
    if d > 2:
        bend = -(d - 2) * np.sin(angle) * _density(d - 1, log_peak, angle)
    return AngleTable(reach, np.stack([cdf, density * step, bend * step * step], axis=1))


def _density(d: int, log_peak: float, angle: Floats) -> Floats:
    sine = np.sin(angle)
    if d == 2:
        return np.full_like(angle, math.exp(log_peak))
    with np.errstate(divide="ignore"):
        density: Floats = np.exp(log_peak + 0.5 * (d - 2) * np.log1p(-sine * sine))
    return density


def log_gamma_half_step(x: float) -> float:
    """ln Gamma(x + 1/2) - ln Gamma(x), by its asymptotic series from 50 on."""
    if x < 50:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    square = x * x
    return 0.5 * math.log(x) - (1 / 8 - (1 / 192 - 1 / (640 * square)) / square) / x


@inlined
def angle_law(table: AngleTable, phi: float) -> tuple[float, float, float]:
    """Pr[angle < phi], Pr[angle > phi] and the density there.

    Quintic Hermite between tabled points: the smaller probability has a relative error below
    1e-10 (about (z/100)^6/46080 at z standard deviations), or an absolute one below 1e-26 (1e-19
    where d < 64).
    """
    below = -abs(phi)
    if not below > -table.reach:
        small, density = 0.0, 0.0
    else:
        per_cell = CELLS / table.reach
        place = (below + table.reach) * per_cell
        cell = min(int(place), CELLS - 1)
        x = place - cell
        values = table.values
        f0, d0, s0 = values[cell, 0], values[cell, 1], values[cell, 2]
        f1, d1, s1 = values[cell + 1, 0], values[cell + 1, 1], values[cell + 1, 2]
        rise = f1 - f0
        c2 = 0.5 * s0
        c3 = 10.0 * rise - 6.0 * d0 - 4.0 * d1 - 1.5 * s0 + 0.5 * s1
        c4 = -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 1.5 * s0 - s1
        c5 = 6.0 * rise - 3.0 * (d0 + d1) - 0.5 * (s0 - s1)
        small = f0 + x * (d0 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
        density = d0 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
        density *= per_cell
    if phi <= 0.0:
        return small, 1.0 - small, density
    return 1.0 - small, small, density

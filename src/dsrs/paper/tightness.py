"""Theorem 1 in the plane: Q on the decision region certifies the true radius.

A binary classifier says class A inside a star-shaped region around the input, whose boundary lies
at distance R(angle). With Q = P restricted to that region, P_A = P(region) and Q_A = 1 leave only
one classifier (up to sets of mass 0), so the certificate is the true radius of the smoothed
classifier. Here the certificate is computed as the paper defines it, without duality: the plane is
cut into cells, and a linear program looks for the classifier f in [0, 1]^cells that has the
observed probabilities and the least probability at the shifted input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dsrs.errors import DsrsError

Floats = NDArray[np.float64]

ANGLES = 96
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def boundary(angle: Floats) -> Floats:
    """R(angle), in units of sigma: three lobes, pushed to one side."""
    return 1.6 + 0.2 * np.cos(3 * angle) + 0.3 * np.cos(angle - 0.5)


@dataclass(frozen=True, slots=True)
class Cells:
    """The plane in cells: position, mass under P = N(0, 1), and where the cell lies.

    No cell crosses the boundary of the region or of its inscribed disc.
    """

    x: Floats
    y: Floats
    p: Floats
    in_disc: NDArray[np.bool_]
    in_region: NDArray[np.bool_]

    def shifted(self, radius: float, direction: float) -> Floats:
        """Mass of the cells under P moved by `radius` in `direction`."""
        along = self.x * math.cos(direction) + self.y * math.sin(direction)
        return np.asarray(self.p * np.exp(radius * along - radius**2 / 2))


@dataclass(frozen=True, slots=True)
class Tightness:
    """Radii in units of sigma for the example of Theorem 1."""

    p_a: float
    disc: float  # radius of the inscribed disc, where truncated Q has Q_A = 1
    disc_mass: float
    true_radius: float
    worst_direction: float
    neyman_pearson: float
    truncated: float
    region: float


def planar_cells() -> Cells:
    """Gauss nodes in the mass of every radial piece, equal steps in the angle."""
    angles = 2 * math.pi * np.arange(ANGLES) / ANGLES
    disc = inscribed_disc()
    inner = np.full(ANGLES, _mass_within(np.array(disc)))
    outer = _mass_within(boundary(angles))
    pieces = []
    for start, stop, in_disc, in_region in (
        (np.zeros(ANGLES), inner, True, True),
        (inner, outer, False, True),
        (outer, np.ones(ANGLES), False, False),
    ):
        half = (stop - start)[:, None] / 2
        mass = start[:, None] + half * (1 + _NODES)
        radius = np.sqrt(-2 * np.log1p(-mass))
        pieces.append(
            Cells(
                (radius * np.cos(angles)[:, None]).ravel(),
                (radius * np.sin(angles)[:, None]).ravel(),
                (half * _WEIGHTS / ANGLES).ravel(),
                np.full(mass.size, in_disc),
                np.full(mass.size, in_region),
            )
        )
    return Cells(
        *(
            np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("x", "y", "p", "in_disc", "in_region")
        )
    )


def inscribed_disc() -> float:
    """The largest disc around the input inside the region."""
    return float(boundary(np.linspace(0, 2 * math.pi, 3601)).min())


def least_probability(
    cells: Cells, radius: float, direction: float, support: NDArray[np.bool_] | None
) -> float:
    """Least class probability at the shifted input among all f with the observed P_A and Q_A.

    Q is P restricted to `support`; None leaves only the constraint of P (Neyman-Pearson).
    """
    rows, values = [cells.p], [float(cells.p[cells.in_region].sum())]
    if support is not None:
        q = np.where(support, cells.p, 0.0) / cells.p[support].sum()
        rows.append(q)
        values.append(float(q[cells.in_region].sum()))
    solution = optimize.linprog(
        cells.shifted(radius, direction), A_eq=np.array(rows), b_eq=values, bounds=(0, 1)
    )
    if not solution.success or solution.fun is None:
        raise DsrsError(f"the linear program of Theorem 1 failed: {solution.message}")
    return float(solution.fun)


def true_radius(cells: Cells) -> tuple[float, float]:
    """Radius and direction of the nearest input where class A loses its majority."""
    directions = 2 * math.pi * np.arange(ANGLES) / ANGLES

    def nearest_loss(direction: float) -> float:
        return _crossing(lambda r: float(cells.shifted(r, direction)[cells.in_region].sum()))

    radii = [nearest_loss(direction) for direction in directions]
    nearest = int(np.argmin(radii))
    return radii[nearest], float(directions[nearest])


@cache
def check_theorem_1() -> Tightness:
    """All four radii of the example."""
    cells = planar_cells()
    radius, direction = true_radius(cells)

    def certified(support: NDArray[np.bool_] | None) -> float:
        return _crossing(lambda r: least_probability(cells, r, direction, support), 1e-6)

    disc = inscribed_disc()
    return Tightness(
        p_a=float(cells.p[cells.in_region].sum()),
        disc=disc,
        disc_mass=float(_mass_within(np.array(disc))),
        true_radius=radius,
        worst_direction=direction,
        neyman_pearson=certified(None),
        truncated=certified(cells.in_disc),
        region=certified(cells.in_region),
    )


def _mass_within(radius: Floats) -> Floats:
    return np.asarray(-np.expm1(-(radius**2) / 2))


def _crossing(probability: Callable[[float], float], tolerance: float = 1e-9) -> float:
    """The first radius at which the class probability falls to 1/2."""
    upper = 0.25
    while probability(upper) > 0.5:
        upper += 0.25
    return float(
        optimize.brentq(lambda r: probability(r) - 0.5, upper - 0.25, upper, xtol=tolerance)
    )

"""Classifiers in the plane, small enough for a linear program over all of them.

Class A is a star-shaped region around the input, whose boundary lies at distance R(angle) in units
of sigma. P = N(0, 1). The plane is cut into cells that no boundary crosses, so a classifier is one
number in [0, 1] for each cell, and its probabilities are sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

DIRECTIONS = 96
FAR = 7.0  # beyond it P has 1e-11 of its mass, and 1e-8 when it is moved by 1
SCALE = 1e4  # of the rows of a linear program: the solver forgets coefficients below 1e-9
PLANAR_ROUNDING = 1e-10  # of a sum of some thousand cells, and of the solver
_RADIAL_NODES, _RADIAL_WEIGHTS = np.polynomial.legendre.leggauss(16)
_ANGLE_NODES, _ANGLE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_PIECES = 6  # of a boundary without corners


@dataclass(frozen=True, slots=True)
class Region:
    """Where class A is; `corners` are the angles between which its boundary is smooth."""

    name: str
    boundary: Callable[[Floats], Floats]
    corners: tuple[float, ...] = tuple(2 * math.pi * np.arange(_PIECES) / _PIECES)

    def inscribed_disc(self) -> float:
        """Radius of the largest disc around the input inside the region."""
        return float(self._distances().min())

    def circumscribed_disc(self) -> float:
        """Radius of the smallest disc around the input that holds the region."""
        return float(self._distances().max())

    def _distances(self) -> Floats:
        angles = np.concatenate([np.linspace(0, 2 * math.pi, 3601), np.array(self.corners)])
        return self.boundary(angles)


@dataclass(frozen=True, slots=True)
class Cells:
    """Position and mass of each cell, and whether it lies in the inscribed disc and the region."""

    x: Floats
    y: Floats
    p: Floats
    in_disc: Booleans
    in_region: Booleans

    def shifted(self, radius: float, direction: float) -> Floats:
        """Mass of the cells under P moved by `radius` in `direction`."""
        along = self.x * math.cos(direction) + self.y * math.sin(direction)
        return np.asarray(self.p * np.exp(radius * along - radius**2 / 2))


def lobes() -> Region:
    """A smooth region: three lobes, pushed to one side."""
    return Region("smooth", lambda a: 1.6 + 0.2 * np.cos(3 * a) + 0.3 * np.cos(a - 0.5))


def pointed_star() -> Region:
    """A region with corners, half of them pointing inward: a five-pointed star, off the axes."""
    outer, inner, turn = 2.9, 1.45, 0.3
    corners = turn + math.pi * np.arange(10) / 5
    radii = np.where(np.arange(10) % 2 == 0, outer, inner)
    x, y = radii * np.cos(corners), radii * np.sin(corners)

    def boundary(angle: Floats) -> Floats:
        edge = np.floor((np.asarray(angle) - turn) % (2 * math.pi) / (math.pi / 5)).astype(int) % 10
        x0, y0, x1, y1 = x[edge], y[edge], x[(edge + 1) % 10], y[(edge + 1) % 10]
        # The point of the ray that lies on the line through both ends of the edge.
        cross = (x1 - x0) * np.sin(angle) - (y1 - y0) * np.cos(angle)
        return np.asarray((y0 * (x1 - x0) - x0 * (y1 - y0)) / cross)

    return Region("with corners", boundary, tuple(corners.tolist()))


def planar_cells(region: Region) -> Cells:
    """Gauss nodes along every ray, inside and outside of the region, and in the angle."""
    corners = np.array([*region.corners, region.corners[0] + 2 * math.pi])
    half = np.diff(corners)[:, None] / 2
    angles = (corners[:-1, None] + half * (1 + _ANGLE_NODES)).ravel()
    shares = (half * _ANGLE_WEIGHTS).ravel() / (2 * math.pi)
    disc = np.full(len(angles), region.inscribed_disc())
    edge = region.boundary(angles)
    pieces = []
    for start, stop, in_disc, in_region in (
        (np.zeros(len(angles)), disc, True, True),
        (disc, edge, False, True),
        (edge, np.full(len(angles), FAR), False, False),
    ):
        width = (stop - start)[:, None] / 2
        radius = start[:, None] + width * (1 + _RADIAL_NODES)
        density = radius * np.exp(-(radius**2) / 2)
        pieces.append(
            Cells(
                (radius * np.cos(angles)[:, None]).ravel(),
                (radius * np.sin(angles)[:, None]).ravel(),
                (density * width * _RADIAL_WEIGHTS * shares[:, None]).ravel(),
                np.full(radius.size, in_disc),
                np.full(radius.size, in_region),
            )
        )
    return Cells(
        *(
            np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("x", "y", "p", "in_disc", "in_region")
        )
    )


def mass_within(radius: Floats) -> Floats:
    """P of the disc of this radius."""
    return np.asarray(-np.expm1(-(radius**2) / 2))


def first_loss(margin: Callable[[float], float], tolerance: float = 1e-9) -> float:
    """The first radius at which the margin of the class falls to 0; 0 if it has none."""
    if margin(0.0) <= 0:
        return 0.0
    upper = 0.25
    while margin(upper) > 0:
        upper += 0.25
    return float(optimize.brentq(margin, upper - 0.25, upper, xtol=tolerance))


def nearest_loss(margin: Callable[[float, float], float]) -> tuple[float, float]:
    """Least radius, over `DIRECTIONS`, at which `margin(radius, direction)` is lost; and where."""
    directions = 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS
    radii = [first_loss(lambda r, at=at: margin(r, at)) for at in directions.tolist()]  # type: ignore[misc]
    nearest = int(np.argmin(radii))
    return radii[nearest], float(directions[nearest])

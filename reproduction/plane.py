"""Theorem 1 and its corollary in the plane, by a linear program over all classifiers.

Class A is a star-shaped region around the input, whose boundary lies at distance R(angle) in units
of sigma. P = N(0, 1). The plane is cut into cells that no boundary crosses, so a classifier is one
number in [0, 1] for each cell, and its probabilities are sums.

Theorem 1: Q on the decision region certifies the true radius. With Q = P restricted to the region
of class A, P_A = P(region) and Q_A = 1 leave only one classifier (up to sets of mass 0), so the
certificate is the true radius of the smoothed classifier. This certificate is computed as the paper
defines it, without duality: a linear program looks for the classifier that has the observed
probabilities and the least probability at the shifted input. Beside it stand the radii that the
package certifies from laws that can be sampled.

The corollary of Theorem 1 for more than two classes, with three. A is the region of Theorem 1
around the input; outside of it B is a sector and C the rest. The smoothed classifier keeps class A
where f_A > f_B and f_A > f_C, further than where f_A > 1/2. The corollary takes C - 1 = 2
additional laws, each on the region of one class, where the class has probability 1. Which two
matters:

- on B and C, the rivals: with P_A nothing is left to choose, and the true radius is certified;
- on A and B: a classifier may still give any part of C's region to B, so that B and C together
  are one rival and the radius is that of Theorem 1. The corollary's proof also uses f_B under P,
  which the votes under P give; with it the true radius comes back.

As for Theorem 1 each certificate is a linear program over all classifiers, here with a share of
every cell for every class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from dsrs.errors import DsrsError
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.proofs import Interval, Observation, certify

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


@dataclass(frozen=True, slots=True)
class Tightness:
    """Radii in units of sigma for one region of Theorem 1."""

    region: str
    p_a: float
    disc: float  # radius of the inscribed disc, where truncated Q has Q_A = 1
    disc_mass: float
    true_radius: float
    worst_direction: float
    neyman_pearson: float
    truncated: float
    two_discs: float  # Q truncated to the inscribed disc, and another to the circumscribed one
    on_region: float


def regions() -> dict[str, Region]:
    """The examples: a smooth region, and one with corners."""
    return {region.name: region for region in (lobes(), pointed_star())}


def least_probability(
    cells: Cells, radius: float, direction: float, support: Booleans | None
) -> float:
    """Least class probability at the shifted input among all f with P_A and Q_A = 1.

    Q is P restricted to `support`, a part of the region: the class has all of it. None leaves only
    the constraint of P (Neyman-Pearson).
    """
    lowest = np.zeros(len(cells.p)) if support is None else support.astype(np.float64)
    # "At least P_A" is enough for the least f, and does not fail by a rounding error.
    solution = optimize.linprog(
        cells.shifted(radius, direction),
        A_ub=-SCALE * cells.p[None, :],
        b_ub=[SCALE * (PLANAR_ROUNDING - float(cells.p[cells.in_region].sum()))],
        bounds=np.column_stack([lowest, np.ones_like(lowest)]),
    )
    if not solution.success or solution.fun is None:
        raise DsrsError(f"the linear program of Theorem 1 failed: {solution.message}")
    return float(solution.fun)


def true_radius(cells: Cells) -> tuple[float, float]:
    """Radius and direction of the nearest input where class A loses its majority."""
    return nearest_loss(
        lambda r, direction: float(cells.shifted(r, direction)[cells.in_region].sum()) - 0.5
    )


def certified_radius(p_a: float, discs: Mapping[float, float]) -> float:
    """What the package certifies from P_A and from P truncated to discs, {radius: Q_A}."""
    law = GeneralizedGaussian(2, 1.0)
    seen = [
        Observation(Truncated.at_radius(law, disc), Interval(q_a, q_a))
        for disc, q_a in discs.items()
    ]
    return certify(law, Interval(p_a, p_a), *seen).radius


@cache
def check_theorem_1(name: str = "smooth") -> Tightness:
    """All radii of one of the examples.

    The inscribed disc lies in the region, so Q_A = 1 there; the circumscribed one holds all of it,
    so Q_A = P_A / P(disc).
    """
    region = regions()[name]
    cells = planar_cells(region)
    radius, direction = true_radius(cells)
    p_a = float(cells.p[cells.in_region].sum())
    inner, outer = region.inscribed_disc(), region.circumscribed_disc()
    share = p_a / float(mass_within(np.array(outer)))
    return Tightness(
        region=name,
        p_a=p_a,
        disc=inner,
        disc_mass=float(mass_within(np.array(inner))),
        true_radius=radius,
        worst_direction=direction,
        neyman_pearson=certified_radius(p_a, {}),
        truncated=certified_radius(p_a, {inner: 1.0}),
        two_discs=certified_radius(p_a, {inner: 1.0, outer: share}),
        on_region=linear_program_radius(cells, direction, cells.in_region),
    )


def linear_program_radius(cells: Cells, direction: float, support: Booleans | None) -> float:
    """The first radius in `direction` at which some classifier with P_A and Q_A = 1 loses."""
    return first_loss(lambda r: least_probability(cells, r, direction, support) - 0.5, 1e-6)


SECTOR = (-2.7, 0.7)  # angles of class B
TOY_CLASSES = ("A", "B", "C")


@dataclass(frozen=True, slots=True)
class Multiclass:
    """Radii in units of sigma for the example of the corollary."""

    probabilities: tuple[float, float, float]
    neyman_pearson: float  # P_A > 1/2
    runner_up: float  # P_A against the larger of P_B and P_C
    theorem_1: float  # Q on A, f_A > 1/2
    laws_on_a_and_b: float
    laws_on_a_and_b_with_p_b: float
    laws_on_the_rivals: float
    true_radius: float
    worst_direction: float


def multiclass_region() -> Region:
    """The smooth region of Theorem 1, with the edges of the sector among its corners."""
    region = lobes()
    corners = sorted({*region.corners, *(angle % (2 * math.pi) for angle in SECTOR)})
    return replace(region, corners=tuple(corners))


def class_regions(cells: Cells) -> dict[str, Booleans]:
    """Which cells each class has."""
    angle = np.arctan2(cells.y, cells.x)
    in_sector = (angle > SECTOR[0]) & (angle < SECTOR[1])
    return {
        "A": cells.in_region,
        "B": ~cells.in_region & in_sector,
        "C": ~cells.in_region & ~in_sector,
    }


def least_margin(
    cells: Cells,
    radius: float,
    direction: float,
    laws_on: tuple[str, ...],
    known_under_p: tuple[str, ...] = ("A",),
) -> float:
    """Least f_A - max(f_B, f_C) at the shifted input among all classifiers that fit.

    `laws_on`: classes with an additional law on their region, where they have probability 1.
    `known_under_p`: classes whose probability under P is known.
    """
    has = class_regions(cells)
    fixed = np.logical_or.reduce([has[name] for name in laws_on])
    size = int(np.count_nonzero(~fixed))
    # One share for each class of every cell that no law fixes.
    known = []
    for name in known_under_p:
        inside = float(cells.p[has[name] & ~fixed].sum())
        outside = float(cells.p[~has[name] & ~fixed].sum())
        # Of the class and its complement the smaller: the solver crawls where nearly all is given.
        takes_part = [(name == other) == (inside <= outside) for other in TOY_CLASSES]
        row = np.concatenate([cells.p[~fixed] * taken for taken in takes_part])
        known.append((row, min(inside, outside)))
    shifted = cells.shifted(radius, direction)
    margins = []
    for rival in ("B", "C"):
        sign_of = {"A": 1.0, rival: -1.0}
        solution = optimize.linprog(
            np.concatenate([sign_of.get(name, 0.0) * shifted[~fixed] for name in TOY_CLASSES]),
            A_eq=sparse.hstack([sparse.identity(size)] * len(TOY_CLASSES)),
            b_eq=np.ones(size),
            # Both sides of each known probability, as wide as a rounding error.
            A_ub=np.array([sign * SCALE * row for row, _ in known for sign in (1, -1)]),
            b_ub=[SCALE * (sign * p + PLANAR_ROUNDING) for _, p in known for sign in (1, -1)],
            bounds=(0, 1),
        )
        if not solution.success or solution.fun is None:
            raise DsrsError(f"the linear program of the corollary failed: {solution.message}")
        certain = sum(
            sign * float(shifted[has[name] & fixed].sum()) for name, sign in sign_of.items()
        )
        margins.append(certain + float(solution.fun))
    return min(margins)


def true_margin(cells: Cells, radius: float, direction: float) -> float:
    """f_A - max(f_B, f_C) of the classifier itself at the shifted input."""
    shifted = cells.shifted(radius, direction)
    f = {name: float(shifted[cells_in].sum()) for name, cells_in in class_regions(cells).items()}
    return f["A"] - max(f["B"], f["C"])


@cache
def check_multiclass() -> Multiclass:
    """Every radius of the example."""
    cells = planar_cells(multiclass_region())
    radius, direction = nearest_loss(lambda r, at: true_margin(cells, r, at))
    p_a, p_b, p_c = (float(cells.p[has].sum()) for has in class_regions(cells).values())

    # The nearest loss of the class to either rival, and to both as one, bound what can be proved.
    binary = check_theorem_1()
    towards = (direction, binary.worst_direction)

    def certified(laws_on: tuple[str, ...], known_under_p: tuple[str, ...] = ("A",)) -> float:
        return min(
            first_loss(lambda r: least_margin(cells, r, at, laws_on, known_under_p), 1e-6)  # noqa: B023
            for at in towards
        )

    top = float(special.ndtri(p_a))
    return Multiclass(
        probabilities=(p_a, p_b, p_c),
        neyman_pearson=top,
        runner_up=(top - float(special.ndtri(max(p_b, p_c)))) / 2,
        theorem_1=binary.true_radius,
        laws_on_a_and_b=certified(("A", "B")),
        laws_on_a_and_b_with_p_b=certified(("A", "B"), ("A", "B")),
        laws_on_the_rivals=certified(("B", "C")),
        true_radius=radius,
        worst_direction=direction,
    )

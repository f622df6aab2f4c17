"""The corollary of Theorem 1 for more than two classes, in the plane with three.

A is the region of Theorem 1 around the input; outside of it B is a sector and C the rest. The
smoothed classifier keeps class A where f_A > f_B and f_A > f_C, further than where f_A > 1/2. The
corollary takes C - 1 = 2 additional laws, each on the region of one class, where the class has
probability 1. Which two matters:

- on B and C, the rivals: with P_A nothing is left to choose, and the true radius is certified;
- on A and B: a classifier may still give any part of C's region to B, so that B and C together
  are one rival and the radius is that of Theorem 1. The corollary's proof also uses f_B under P,
  which the votes under P give; with it the true radius comes back.

As in `tightness` each certificate is a linear program over all classifiers, here with a share of
every cell for every class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import optimize, sparse, special

from dsrs.errors import DsrsError
from dsrs.paper.planar import (
    PLANAR_ROUNDING,
    SCALE,
    Booleans,
    Cells,
    Region,
    first_loss,
    lobes,
    nearest_loss,
    planar_cells,
)
from dsrs.paper.tightness import check_theorem_1

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

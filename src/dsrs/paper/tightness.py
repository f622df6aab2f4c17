"""Theorem 1 in the plane: Q on the decision region certifies the true radius.

With Q = P restricted to the region of class A, P_A = P(region) and Q_A = 1 leave only one
classifier (up to sets of mass 0), so the certificate is the true radius of the smoothed
classifier. This certificate is computed as the paper defines it, without duality: a linear program
looks for the classifier that has the observed probabilities and the least probability at the
shifted input. Beside it stand the radii that the package certifies from laws that can be sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize

from dsrs.errors import DsrsError
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.paper.planar import (
    PLANAR_ROUNDING,
    SCALE,
    Booleans,
    Cells,
    Region,
    first_loss,
    lobes,
    mass_within,
    nearest_loss,
    planar_cells,
    pointed_star,
)
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation


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

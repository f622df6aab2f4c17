"""What bounds are charged for noise in double precision on a grid (docs/grid.md).

    variation = e (4 d + 2 E|y|_1 / step),

where E|y|_1 is replaced by its largest value for this mean norm: sqrt(d) E|y| for l2, E|y| for l1
and d E|y| for l-infinity; e is the relative error of the noise that was made, counted in units of
2^-53. How large e is was measured and has some room; it is not proved, here or elsewhere. E|y| is:
charges that are smaller by more than `ROOM` are refuted.

The formula holds for noise of l2 in three dimensions and more, and elsewhere for laws whose density
falls with the norm: then no coordinate is likelier near an edge of its cell than nearer to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsrs.audit.balls import arb, exact
from dsrs.audit.falling import shape_of
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import Mixture
from dsrs.audit.quadrature import integral
from dsrs.audit.reading import field, number
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import Law, Piece, PieceDensity, additional_law, ends_of

# Relative errors in units of 2^-53: of Gaussian coordinates, of directions, of other norms.
NORMAL_ERROR, NORM_ERROR, NORM_ERROR_BY_SHAPE = 16, 32, 16
DIRECTION_ERRORS = {"l2": 24, "l1": 96, "linf": 8}
ROOM = 0.01  # of the charge: the mean norm is computed roughly where the charge is made


def variation(shells: Shells, law: Mapping[str, Any] | None, step: float) -> arb:
    """A lower bound of how much probabilities under a law are to be charged; None is P.

    It is `ROOM` below the formula, in which the mean norm is not known to the last digit.
    """
    if law is None or field(law, "kind", str) == "rescaled":
        factor = arb(1)
        if law is not None:
            factor = exact(number(law, "beta")) / shells.sigma
        mean = factor * _mean_norm_of_p(shells)
        units = arb(NORMAL_ERROR) if shells.gaussian else _units(shells)
    else:
        named = additional_law(law, shells)
        if shells.d == 2 or shells.norm != "l2":
            _demand_falling(named, shells)
        mean = sum((_mean_norm(piece, shells) for piece in named.pieces), arb(0))
        units = _units(shells)
    d = exact(shells.d)
    widest = {"l1": arb(1), "l2": d.sqrt(), "linf": d}[shells.norm]
    charge = units * arb(2) ** -53 * (4 * d + 2 * widest * mean / exact(step))
    return (charge * (1 - exact(ROOM))).min(arb(1)).lower()


def _demand_falling(law: Law, shells: Shells) -> None:
    """Raise Undecided unless the density of a law is shown to fall with the norm."""
    mixture = Mixture(shells, (1.0,), (law,))
    if shape_of(mixture, *mixture.covered(arb(0))).rise is None:
        raise Undecided(
            "what noise on a grid costs is not known in two dimensions, nor in l1 and l-infinity, "
            "for a law whose density is not shown to fall with the norm"
        )


def _units(shells: Shells) -> arb:
    return DIRECTION_ERRORS[shells.norm] + NORM_ERROR + NORM_ERROR_BY_SHAPE / shells.m


def _mean_norm_of_p(shells: Shells) -> arb:
    """E|y| = s E t^(1/eta)."""
    half = shells.power / 2
    return shells.unit * ((shells.m + half).lgamma() - shells.m.lgamma()).exp()


def _mean_norm(piece: Piece, shells: Shells) -> arb:
    """A lower bound of the part of a piece in the mean norm: what lies beyond its ends is left
    out."""
    low, high = ends_of(piece, shells, 60.0)
    return shells.unit * integral(PieceDensity(shells, piece, by_norm=True), low, high, Budget())

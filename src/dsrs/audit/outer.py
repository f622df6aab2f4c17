"""An upper bound of the dual bound B at little cost, which refutes most forgeries at once.

    B = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i).

On every set of shells the integral is at most that of g and at most that of p shifted. Let N be
the integral of g over some shells where it is negative. Then the integral of the minimum is at most
N over those shells, and over the others at most 1 and at most (sum of l_i) - N. So

    B <= min(sum of l_i, 1 + N) - sum_i l_i (1 - X_i).

No curve is followed and the shift plays no part. Laws too narrow to be found by chance are found
here by their own parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from dsrs.audit.balls import arb, exact
from dsrs.audit.integrands import Density
from dsrs.audit.limits import Budget, tick
from dsrs.audit.mixture import Mixture
from dsrs.audit.quadrature import integral
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import ends_of

NEGATIVE_DEPTH = 24.0  # negative laws are looked at where their density exceeds e^-NEGATIVE_DEPTH
CELL_EVALUATIONS = 1500  # of g on one cell


def outer_bound(mixture: Mixture, ends: Sequence[tuple[float, float]]) -> arb:
    """An upper bound of B, with X_i in `ends`; positive infinity where a multiplier is infinite."""
    multipliers = mixture.multipliers
    if not all(map(math.isfinite, multipliers)):
        return arb.pos_inf()
    total = paid = arb(0)
    for value, (lower, upper) in zip(multipliers, ends, strict=True):
        total += exact(value)
        paid += exact(value) * (1 - exact(lower if value > 0 else upper))
    most = total.min(arb(1))
    if any(value < 0 for value in multipliers):
        most = total.min(1 + _negative_part(mixture))
    return (most - paid).upper()


def _negative_part(mixture: Mixture) -> arb:
    """The integral of g over cells around the negative laws on which it is negative."""
    total = arb(0)
    for low, high in _cells(mixture):
        middle = ((low + high) / 2).mid()
        if not (low < middle and middle < high):
            continue
        terms = mixture.terms_at(middle)
        try:
            part = integral(Density(mixture.shells, terms), low, high, Budget(CELL_EVALUATIONS))
        except Undecided:
            continue  # nothing is known of this cell, and nothing is taken from it
        if part < 0:
            total += part
    return total


def _cells(mixture: Mixture) -> list[tuple[arb, arb]]:
    """Return intervals of shells around negative laws such that no law begins or ends inside.

    An interval is left out where its ends, or those beside it, cannot be told apart.
    """
    ranges = []
    for value, law in zip(mixture.multipliers, mixture.laws, strict=True):
        for piece in law.pieces if value < 0 else ():
            ranges.append(ends_of(piece, mixture.shells, NEGATIVE_DEPTH, min(abs(value), 1e300)))
    # Ends that are not edges of laws are exact numbers.
    own = {float(end): end for pair in ranges for end in pair if end.is_exact()}
    cuts = sorted([*mixture.edges().values(), *own.values()], key=float)
    apart = [True, *(bool(a < b) for a, b in pairwise(cuts)), True]
    cells = []
    for place, (a, b) in enumerate(pairwise(cuts)):
        tick()
        near = any(not (a < low or high < b) for low, high in ranges)
        if near and all(apart[place : place + 3]):
            cells.append((a, b))
    return cells

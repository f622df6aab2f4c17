"""Where g is positive, with a guarantee, and whether its positive part falls with |x|.

The sign of two terms has a closed form (two_terms.py). For more, and for whether g falls, cells of
u are settled by Taylor's theorem: a term exp(L) of g has a concave L, so its largest value on a
cell is known, and with it a bound of the second derivative. A cell is halved until g has one sign
on it, or is monotone on it (then it has at most one zero, found by bisection), or is within
rounding of 0 all over (then no sign is claimed, and what it might take is charged).
No zero can hide between two cells; docs/math.md 6 has the argument.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.arrays import room_for, whole
from dsrs.duality.base import Base, Floats
from dsrs.duality.density import Components, Integers, Pieces, active_on, density_at
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.two_terms import (
    NEGATIVE,
    POSITIVE,
    UNSURE,
    add_strip,
    largest_log,
    net_multiplier,
    signs_of_two,
)

MOST_CELLS = 20_000
MOST_FALL_CELLS = 2_000
# A step up of g by this share, as rounding makes it between two components that meet, is none.
EVEN = 1e-13


class Signs(NamedTuple):
    """Strips of one piece from left to right: rows of low, high and sign."""

    rows: Floats
    charge: float  # what the unsure strips, and zeros that rounding moves, may take at most
    settled: bool  # False: too many cells, nothing may be claimed


class CellBounds(NamedTuple):
    """What holds on a whole cell."""

    gross: float  # of the sum of the magnitudes of the terms of g
    grade: float  # of the sum of the magnitudes of their slopes
    bend: float  # of |g''|
    tilt: float  # of |S'|, see `positive_part_falls`


@kernel
def cell_bounds(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
    noise: float,
) -> CellBounds:
    """Bounds of the derivatives on [low, high]; `outer` is the exponent of the volume element."""
    gross, grade, bend, tilt = 0.0, 0.0, 0.0, 0.0
    for j in active:
        net, net_gross = net_multiplier(parts, active, multipliers, j)
        if net_gross == 0.0:
            continue
        a, decay = parts.exponent[j], parts.decay[j]
        first = decay * math.exp(low - parts.anchor[j])
        last = decay * math.exp(min(high - parts.anchor[j], 700.0))
        # The slope of the term's logarithm is a - first on the left, a - last on the right.
        most = math.exp(min(largest_log(parts, j, low, high), 700.0))
        steep = max(abs(a - first), abs(a - last))
        gross += most * net_gross
        # The slope of the logarithm is a difference: its rounding is below a hundredth of noise.
        grade += most * net_gross * (steep + 0.01 * (abs(a) + last))
        most *= abs(net) + noise * net_gross
        bend += most * (steep * steep + last)
        tilt += most * (last + steep * max(abs(a - outer - first), abs(a - outer - last)))
    return CellBounds(gross, grade, bend, tilt)


@kernel
def same_sign(parts: Components, active: Integers, multipliers: Floats) -> float:
    """The sign of all active multipliers (POSITIVE if one is infinite), UNSURE if they differ."""
    least, most = 0.0, 0.0
    for j in active:
        multiplier = multipliers[parts.owner[j]]
        least, most = min(least, multiplier), max(most, multiplier)
    if least == 0.0 or most == np.inf:
        return POSITIVE if most > 0.0 else NEGATIVE
    return NEGATIVE if most == 0.0 else UNSURE


@kernel
def zero_between(
    parts: Components, active: Integers, multipliers: Floats, low: float, high: float
) -> float:
    """The zero of g on a cell where g is monotone and has different signs at the ends."""
    rising = density_at(parts, active, multipliers, low)[0] < 0.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if (density_at(parts, active, multipliers, middle)[0] < 0.0) == rising:
            low = middle
        else:
            high = middle


@kernel
def signs_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    noise: float,
    work: Floats,
) -> Signs:
    """The sign of g on [low, high]; `noise` is the relative rounding of a term."""
    rows = np.empty((64, 3))
    common = same_sign(parts, active, multipliers)
    if common != UNSURE:
        rows[0, 0], rows[0, 1], rows[0, 2] = low, high, common
        return Signs(rows[:1], 0.0, True)
    n, charge = signs_of_two(parts, active, multipliers, low, high, noise, rows)
    if n > 0:
        work[0] += 4.0
        return Signs(rows[:n], charge, True)
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_CELLS):
        work[0] += 1.0
        right = ends[depth - 1]
        centre, half = 0.5 * (left + right), 0.5 * (right - left)
        value, slope, gross = density_at(parts, active, multipliers, centre)
        bounds = cell_bounds(parts, active, multipliers, left, right, 0.0, noise)
        bend, slope_rounding = bounds.bend, noise * bounds.grade
        reach = (abs(slope) + slope_rounding) * half + 0.5 * bend * half * half
        rounding = noise * gross
        rows = room_for(rows, n, whole(2))
        if abs(value) > reach + rounding or bend == 0.0:
            n = add_strip(rows, n, left, right, POSITIVE if value > 0.0 else NEGATIVE)
        elif abs(slope) > bend * half + slope_rounding:
            first = density_at(parts, active, multipliers, left)[0]
            last = density_at(parts, active, multipliers, right)[0]
            if first < 0.0 < last or last < 0.0 < first:
                zero = zero_between(parts, active, multipliers, left, right)
                n = add_strip(rows, n, left, zero, POSITIVE if first > 0.0 else NEGATIVE)
                n = add_strip(rows, n, zero, right, POSITIVE if last > 0.0 else NEGATIVE)
            else:
                n = add_strip(rows, n, left, right, POSITIVE if value > 0.0 else NEGATIVE)
            # Next to its zero, or to an end, rounding may hide the sign of g as long as g is small.
            hidden = 2.0 * noise * bounds.gross
            charge += hidden * min(2.0 * half, hidden / (abs(slope) - bend * half - slope_rounding))
        elif reach < 4.0 * rounding or not left < centre < right or depth == len(ends):
            n = add_strip(rows, n, left, right, UNSURE)
            charge += 2.0 * half * max(reach + rounding - value, 0.0)
        else:
            ends[depth] = centre
            depth += 1
            continue
        left = right
        depth -= 1
        if depth == 0:
            return Signs(rows[:n], charge, True)
    return Signs(rows[:0], 0.0, False)


@kernel
def falls_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
    noise: float,
) -> bool:
    """Whether g, as a density of x, provably falls with |x| wherever it is positive, on a piece.

    Its slope has the sign of S = sum_j l_j (a_j - outer - rate_j t) exp(L_j).
    """
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_FALL_CELLS):
        right = ends[depth - 1]
        centre, half = 0.5 * (left + right), 0.5 * (right - left)
        value, slope, gross = density_at(parts, active, multipliers, centre)
        bounds = cell_bounds(parts, active, multipliers, left, right, outer, noise)
        fall, rounding = 0.0, 0.0
        for j in active:
            w = centre - parts.anchor[j]
            growth = math.expm1(w)
            level = parts.log_height[j] + parts.exponent[j] * w - parts.decay[j] * growth
            factor = parts.exponent[j] - outer - parts.decay[j] * (growth + 1.0)
            term = multipliers[parts.owner[j]] * math.exp(min(level, 700.0)) * factor
            fall += term
            rounding += noise * abs(term)
        falling = fall + bounds.tilt * half + rounding <= 0.0
        reach = (abs(slope) + noise * bounds.grade) * half + 0.5 * bounds.bend * half * half
        missing = value + reach + noise * gross <= 0.0
        if falling or missing:
            left = right
            depth -= 1
            if depth == 0:
                return True
        elif depth == len(ends) or not left < centre < right:
            return False
        else:
            ends[depth] = centre
            depth += 1
    return False


@inlined
def positive_part_falls(
    base: Base, parts: Components, pieces: Pieces, multipliers: Floats, falls: Floats, noise: float
) -> bool:
    """Whether the positive part of g provably falls with |x| (docs/math.md 5).

    `falls` says of each constraint whether its law does (1) or not (0).
    """
    simple = True
    for i in range(len(multipliers)):
        simple = simple and (multipliers[i] == 0.0 or (multipliers[i] > 0.0 and falls[i] == 1.0))
    if simple:
        return True
    outer = 0.5 * base.d * base.power
    for i in range(len(multipliers)):
        if not math.isfinite(multipliers[i]):
            return False
    before, edge = 0.0, -np.inf
    for j in range(len(pieces.low)):
        low, high = pieces.low[j], pieces.high[j]
        active = active_on(parts, pieces, j, multipliers)
        # At one u the volume element is common to both sides of a cut.
        at_start = density_at(parts, active, multipliers, low)[0]
        if j > 0 and low > edge:
            before = 0.0
        starts = j > 0
        for i in active:
            starts = starts or parts.start[i] == low
        if starts and at_start > max(before, 0.0) * (1.0 + EVEN):
            return False
        if same_sign(parts, active, multipliers) != NEGATIVE and not falls_on(
            parts, active, multipliers, low, high, outer, noise
        ):
            return False
        before, edge = density_at(parts, active, multipliers, high)[0], high
    return True

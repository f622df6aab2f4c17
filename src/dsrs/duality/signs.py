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
from dsrs.duality.density import Components, Integers, Pieces, active_on, density_at, log_term
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

MOST_SIGN_CELLS = 20_000
MOST_FALL_CELLS = 2_000
# Steps up of g by such shares, all of them together, as rounding makes them where components meet.
LARGEST_LOSS = 1e-6
SUM_ROUNDING = 2e-16


class Signs(NamedTuple):
    """Strips of one piece from left to right: rows of low, high and sign."""

    rows: Floats
    charge: float  # what the unsure strips, and zeros that rounding moves, may take at most
    settled: bool  # False: too many cells, nothing may be claimed


class CellBounds(NamedTuple):
    """Upper bounds that hold on a whole cell."""

    gross: float  # of the sum of the magnitudes of the terms of g
    grade: float  # of the sum of the magnitudes of their slopes
    bend: float  # of |g''|
    tilt: float  # of |S'|, see `fall_at`


@kernel
def cell_bounds(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
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
        most *= abs(net) + parts.noise * net_gross
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
def settled_cell(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    left: float,
    right: float,
    rows: Floats,
    n: int,
    last_chance: bool,
) -> tuple[int, float]:
    """Append the sign of g on a cell to `rows`: the new number of rows, and what g may take where
    rounding hides its sign; (-1, 0) if the cell must be halved first."""
    noise = parts.noise
    centre, half = 0.5 * (left + right), 0.5 * (right - left)
    value, slope, gross = density_at(parts, active, multipliers, centre)
    bounds = cell_bounds(parts, active, multipliers, left, right, 0.0)
    bend, slope_rounding = bounds.bend, noise * bounds.grade
    reach = (abs(slope) + slope_rounding) * half + 0.5 * bend * half * half
    rounding = noise * gross
    if abs(value) > reach + rounding or bend == 0.0:
        return add_strip(rows, n, left, right, POSITIVE if value > 0.0 else NEGATIVE), 0.0
    if abs(slope) > bend * half + slope_rounding:
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
        return n, hidden * min(2.0 * half, hidden / (abs(slope) - bend * half - slope_rounding))
    if reach < 4.0 * rounding or not left < centre < right or last_chance:
        charge = 2.0 * half * max(reach + rounding - value, 0.0)
        return add_strip(rows, n, left, right, UNSURE), charge
    return -1, 0.0


@kernel
def signs_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    work: Floats,
) -> Signs:
    """The sign of g on [low, high]."""
    rows = np.empty((64, 3))
    common = same_sign(parts, active, multipliers)
    if common != UNSURE:
        rows[0, 0], rows[0, 1], rows[0, 2] = low, high, common
        return Signs(rows[:1], 0.0, True)
    n, charge = signs_of_two(parts, active, multipliers, low, high, rows)
    if n > 0:
        work[0] += 4.0
        return Signs(rows[:n], charge, True)
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_SIGN_CELLS):
        work[0] += 1.0
        right = ends[depth - 1]
        rows = room_for(rows, n, whole(2))
        last_chance = depth == len(ends)
        sign, taken = settled_cell(parts, active, multipliers, left, right, rows, n, last_chance)
        if sign < 0:
            ends[depth] = 0.5 * (left + right)
            depth += 1
            continue
        n, charge, left = sign, charge + taken, right
        depth -= 1
        if depth == 0:
            return Signs(rows[:n], charge, True)
    return Signs(rows[:0], 0.0, False)


@kernel
def fall_at(
    parts: Components, active: Integers, multipliers: Floats, outer: float, u: float
) -> tuple[float, float]:
    """S = sum_j l_j (a_j - outer - rate_j t) exp(L_j), which has the sign of the slope of g as a
    density of x; and the sum of the magnitudes of its terms."""
    fall, gross = 0.0, 0.0
    for j in active:
        w = u - parts.anchor[j]
        growth = math.expm1(w)
        level = parts.log_height[j] + parts.exponent[j] * w - parts.decay[j] * growth
        factor = parts.exponent[j] - outer - parts.decay[j] * (growth + 1.0)
        term = multipliers[parts.owner[j]] * math.exp(min(level, 700.0)) * factor
        fall += term
        gross += abs(term)
    return fall, gross


@kernel
def falls_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
) -> bool:
    """Whether g, as a density of x, provably falls with |x| wherever it is positive, on a piece."""
    noise = parts.noise
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_FALL_CELLS):
        right = ends[depth - 1]
        centre, half = 0.5 * (left + right), 0.5 * (right - left)
        value, slope, gross = density_at(parts, active, multipliers, centre)
        bounds = cell_bounds(parts, active, multipliers, left, right, outer)
        fall, fall_gross = fall_at(parts, active, multipliers, outer, centre)
        falling = fall + bounds.tilt * half + noise * fall_gross <= 0.0
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


@kernel
def rise_at_cut(
    parts: Components, before: Integers, after: Integers, multipliers: Floats, u: float
) -> float:
    """By which share max(g, 0) may rise at u, where the components `before` give way to `after`;
    inf where it rises from 0.

    Components that are on both sides are the same numbers there. Of the others the rounding counts:
    where two components of a weighted law meet, g rises by rounding only, but by a share that
    cancellation can make large.
    """
    noise = parts.noise
    inner, _, inner_gross = density_at(parts, before, multipliers, u)
    outer, _, outer_gross = density_at(parts, after, multipliers, u)
    if outer + noise * outer_gross <= 0.0:
        return 0.0
    changed = 0.0
    for j in before:
        if parts.stop[j] == u:
            changed += abs(multipliers[parts.owner[j]]) * math.exp(
                min(log_term(parts, j, u), 700.0)
            )
    for j in after:
        if parts.start[j] == u:
            changed += abs(multipliers[parts.owner[j]]) * math.exp(
                min(log_term(parts, j, u), 700.0)
            )
    count = len(before) + len(after)
    rise = outer - inner + noise * changed + SUM_ROUNDING * count * (inner_gross + outer_gross)
    least = inner - noise * inner_gross
    if rise <= 0.0:
        return 0.0
    return rise / least if least > 0.0 else np.inf


@inlined
def loss_inside(base: Base, parts: Components, pieces: Pieces, multipliers: Floats) -> float:
    """By how much at most B is lower at a shorter shift; inf where g, or its positive part, does
    not provably fall with |x| but for rounding (docs/math.md 5)."""
    outer = 0.5 * base.d * base.power
    for i in range(len(multipliers)):
        if not math.isfinite(multipliers[i]):
            return np.inf
    loss, edge = 0.0, -np.inf
    before = np.empty(0, dtype=np.int64)
    for j in range(len(pieces.low)):
        low, high = pieces.low[j], pieces.high[j]
        active = active_on(parts, pieces, j, multipliers)
        if low > edge:
            before = active[:0]
        starts = j > 0
        for i in active:
            starts = starts or parts.start[i] == low
        if starts:
            loss += rise_at_cut(parts, before, active, multipliers, low)
        if not loss < LARGEST_LOSS or (
            same_sign(parts, active, multipliers) != NEGATIVE
            and not falls_on(parts, active, multipliers, low, high, outer)
        ):
            return np.inf
        before, edge = active, high
    # (1 + share) times (1 + share) ... - 1, and a little more for rounding.
    return math.expm1(1.001 * loss)

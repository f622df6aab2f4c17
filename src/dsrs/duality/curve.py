"""The curve v = V(u) that bounds R = {g(x) > p(x - delta)}: where it is smooth, where it jumps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    Base,
    Floats,
    crossing,
    gamma_of,
    half_square,
    log_p,
    moved,
    room_for,
    whole,
)
from dsrs.duality.density import Components, Integers, Pieces, active_on, density_at
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.signs import POSITIVE, signs_on

# Where R takes up a shell the law of the angle has a kink of order (d - 1)/2.
KINKED_DIMENSION = 64
# What R has of a shell u: none, a part or all of it; if all of it, the shell V(u) of y is then out
# of reach of u, within it, or shrunk to 0.
NONE, PART, BEYOND, WITHIN, POINT = 1, 2, 3, 4, 5
STATE_CELLS, BEND_CELLS = 64, 24
STATE_WIDTH, MOST_STATE_CELLS = 16.0, 64.0  # as many cells again for so many standard deviations
SLIVER = 3e-8  # of a piece; what it holds is the square of that
MOST_STRIPS = 20_000
POINT_THINNING = 24.0  # strips towards where the curve ends in a point
# Where V runs to minus infinity the mass of P on shells below this is charged. For m = 1/4, the
# smallest there is with kappa = 0, that is 1e-6; enclosures show errors below 1e-9 there.
POINT_ROUNDING = 1e-24


class Cutting(NamedTuple):
    """What the strips of a curve depend on, beside the pieces."""

    base: Base
    parts: Components
    multipliers: Floats
    rho: float
    thinning: float  # how many ever thinner strips lead to a zero of g
    near: bool  # whether they lead as well to a zero of g a little beyond the end of a strip
    edge: float  # the cosine from which on R has a whole shell, where that cuts strips; else 0
    work: Floats


class Ends(NamedTuple):
    """An interval of u, and whether g vanishes at its ends."""

    low: float
    high: float
    zero_before: bool
    zero_after: bool


class Strips(NamedTuple):
    """Intervals of u on which the integrand is smooth, from left to right."""

    ends: Floats  # rows of low, high, V at both; V = inf where g is not positive
    piece: Floats  # the piece it lies on
    sign: Floats  # of g: POSITIVE, NEGATIVE or UNSURE
    state: Floats  # what R has of its shells, where the strips were cut by that; else PART
    charge: float  # what unsure strips and the end of the curve in a point may take at most
    settled: bool  # False: nothing may be claimed


@kernel
def log_ratio(
    base: Base, parts: Components, active: Integers, multipliers: Floats, u: float
) -> float:
    """Return a = ln(g/p) on shell u; -inf where g is not positive."""
    for j in active:
        if multipliers[parts.owner[j]] == np.inf:
            return np.inf
    density = density_at(parts, active, multipliers, u)[0]
    return math.log(density) - log_p(base, u) if density > 0.0 else -np.inf


@kernel
def curve_at(
    base: Base, parts: Components, active: Integers, multipliers: Floats, u: float
) -> float:
    """Height V(u) of the edge of R; inf where R has nothing of shell u."""
    a = log_ratio(base, parts, active, multipliers, u)
    return u + crossing(base, gamma_of(base, u), a)[0]


# Inlined because it is called for every look: copying its arguments would take as long as the look.
@inlined
def state(
    base: Base,
    parts: Components,
    active: Integers,
    multipliers: Floats,
    rho: float,
    edge: float,
    u: float,
) -> int:
    """What R has of shell u; a cosine counts as extreme from `edge` on."""
    t = gamma_of(base, u)
    e, growth = crossing(base, t, log_ratio(base, parts, active, multipliers, u))
    if e == -np.inf:
        return POINT
    if e == np.inf:
        return NONE
    h = half_square(base, t)
    climb, _ = moved(base, h, e, growth)
    # A law of a small shape has shells that round to the point 0.
    cosine = (climb / rho + 0.5 * rho) / math.sqrt(2.0 * h) if h > 0.0 else np.inf
    if cosine < edge:
        return NONE if cosine <= -edge else PART
    return BEYOND if climb < 0.5 * rho * rho else WITHIN


@inlined
def state_change(cutting: Cutting, active: Integers, low: float, high: float) -> tuple[float, int]:
    """Return the first u in [low, high] from which on the state is another, or `high`; and the old
    state.

    A look at some places: what it misses costs the quadrature nodes. Kinks (edge = 1) are found to
    rounding, bends roughly.
    """
    base, parts, multipliers, work = cutting.base, cutting.parts, cutting.multipliers, cutting.work
    rho, edge = cutting.rho, cutting.edge
    cells, closeness = (STATE_CELLS, 1e-14) if edge == 1.0 else (BEND_CELLS, 1e-4)
    if edge == 1.0:
        cells *= math.ceil(min((high - low) * parts.sharpness / STATE_WIDTH, MOST_STATE_CELLS))
    before = state(base, parts, active, multipliers, rho, edge, low)
    for cell in range(cells):
        right = low + (high - low) * (cell + 1) / cells
        work[0] += 0.5
        if state(base, parts, active, multipliers, rho, edge, right) != before:
            left = low + (high - low) * cell / cells
            while right - left > closeness * (high - low):
                work[0] += 0.5
                middle = 0.5 * (left + right)
                if not left < middle < right:
                    break
                if state(base, parts, active, multipliers, rho, edge, middle) == before:
                    left = middle
                else:
                    right = middle
            return right, before
    return high, before


@kernel
def graded_end(start: float, stop: float, first: float, last: float, step: int) -> float:
    """End of strip number `step` of [start, stop], cut ever thinner by 4 towards its ends.

    `first` and `last` say how many cuts there are towards start and stop.
    """
    half = 0.5 * (stop - start)
    if step < first:
        return start + half * math.pow(4.0, step + 1.0 - first)
    if step < first + last:
        return stop - half * math.pow(4.0, first - step)
    return stop


@inlined
def segments(cutting: Cutting, active: Integers, low: float, high: float) -> Floats:
    """Rows of start, stop and state: an interval cut where R takes up whole shells, if wanted."""
    rows = np.empty((8, 3))
    n, start = whole(0), low
    while start < high:
        stop, state_there = high, PART
        if cutting.edge > 0.0:
            stop, state_there = state_change(cutting, active, start, high)
        rows = room_for(rows, n, whole(1))
        rows[n, 0], rows[n, 1], rows[n, 2] = start, stop, state_there
        n += 1
        start = stop
    return rows[:n]


@kernel
def cuts_towards(half: float, distance: float, most: float) -> float:
    """How many ever thinner strips lead to the end of a segment, of which `half` is half the width.

    At this distance beyond the end V runs to infinity, as fast as the logarithm of the distance:
    nodes see that on a strip that is at most 16 times as wide. For a distance of 0 there are `most`
    strips.
    """
    if half <= 4.0 * distance:
        return 0.0
    if distance <= 0.0:
        return most
    return min(most, math.ceil(0.5 * math.log2(half / distance)) - 1.0)


@inlined
def cuts_of(cutting: Cutting, found: Floats, i: int, ends: Ends) -> tuple[float, float]:
    """How many thinner strips lead to the start and to the end of segment i: to zeros of g at the
    ends of the interval, and to points where the curve ends, beside the segment or near it.

    Only where R has a part of the shells does the integrand follow V. Where it has nothing of them
    the integrand is g, where it has all of them an integral over v.
    """
    start, stop = found[i, 0], found[i, 1]
    half = 0.5 * (stop - start)
    first, last = 0.0, 0.0
    if found[i, 2] != PART:
        return first, last
    if ends.zero_before and (cutting.near or start == ends.low):
        first = cuts_towards(half, start - ends.low, cutting.thinning)
    if ends.zero_after and (cutting.near or stop == ends.high):
        last = cuts_towards(half, ends.high - stop, cutting.thinning)
    for j in range(len(found) if cutting.base.kappa == 0.0 else 0):
        if found[j, 2] == POINT and j < i and (cutting.near or j == i - 1):
            first = max(first, cuts_towards(half, start - found[j, 1], POINT_THINNING))
        elif found[j, 2] == POINT and j > i and (cutting.near or j == i + 1):
            last = max(last, cuts_towards(half, found[j, 0] - stop, POINT_THINNING))
    return first, last


@inlined
def add_positive(
    cutting: Cutting, rows: Floats, n: int, active: Integers, piece: int, ends: Ends
) -> tuple[Floats, int]:
    """Append the strips of an interval on which g is positive; rows as in `strips`."""
    base, parts, multipliers = cutting.base, cutting.parts, cutting.multipliers
    found = segments(cutting, active, ends.low, ends.high)
    for i in range(len(found)):
        start, stop, state_there = found[i, 0], found[i, 1], found[i, 2]
        first, last = cuts_of(cutting, found, i, ends)
        rows = room_for(rows, n, int(first + last) + 1)
        at_point = state_there == POINT
        end, v = start, -np.inf if at_point else curve_at(base, parts, active, multipliers, start)
        for step in range(int(first + last) + 1):
            cut = graded_end(start, stop, first, last, step)
            if cut > end:
                rows[n, 0], rows[n, 1], rows[n, 2] = end, cut, v
                # The next state begins a little before `cut`: there V is no longer -inf.
                v = -np.inf if at_point else curve_at(base, parts, active, multipliers, cut)
                rows[n, 3], rows[n, 4], rows[n, 5], rows[n, 6] = v, piece, POSITIVE, state_there
                end = cut
                n += 1
    return rows, n


@kernel
def strips(cutting: Cutting, pieces: Pieces) -> Strips:
    """Cut the pieces at the zeros of g and, for `edge` > 0, where R takes up whole shells.

    Where g falls to 0 the curve runs to infinity, for large kappa within a distance that no
    quadrature sees. There the strips grow thinner by 4, `thinning` times, and end a SLIVER before:
    min(g, p) >= 0 is left out, and the curve jumps.
    """
    parts, multipliers, work = cutting.parts, cutting.multipliers, cutting.work
    # Rows of low, high, V at both, piece, sign and state.
    rows = np.empty((len(pieces.low) * 2 + 64, 7))
    n, charge = whole(0), 0.0
    for j in range(len(pieces.low)):
        active = active_on(parts, pieces, j, multipliers)
        signs = signs_on(parts, active, multipliers, pieces.low[j], pieces.high[j], work)
        if not signs.settled or n > MOST_STRIPS:
            return Strips(rows[:0, :4], rows[:0, 4], rows[:0, 5], rows[:0, 6], 0.0, False)
        charge += signs.charge
        sliver = SLIVER * (pieces.high[j] - pieces.low[j])
        for i in range(len(signs.rows)):
            low, high, sign = signs.rows[i, 0], signs.rows[i, 1], signs.rows[i, 2]
            if sign != POSITIVE:
                rows = room_for(rows, n, whole(1))
                rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = low, high, np.inf, np.inf
                rows[n, 4], rows[n, 5], rows[n, 6] = j, sign, NONE
                n += 1
                continue
            before, after = i > 0, i < len(signs.rows) - 1
            low = min(low + sliver, high) if before else low
            high = max(high - sliver, low) if after else high
            rows, n = add_positive(cutting, rows, n, active, j, Ends(low, high, before, after))
    if cutting.base.kappa == 0.0 and np.any(rows[:n, 6] == POINT):
        charge += mass_at_point(cutting.base)
    return Strips(rows[:n, :4], rows[:n, 4], rows[:n, 5], rows[:n, 6], charge, True)


@kernel
def mass_at_point(base: Base) -> float:
    """An upper bound of the mass of P on shells t <= POINT_ROUNDING: t^m / Gamma(m + 1)."""
    return math.exp(base.m * math.log(POINT_ROUNDING) - math.lgamma(base.m + 1.0))


@kernel
def jumps(ends: Floats) -> Floats:
    """Where the curve jumps from strip to strip: rows of u, V before and V after.

    Before the first strip it jumps nowhere: there P, shifted or not, has no mass.
    """
    rows = np.empty((2 * len(ends), 3))
    n = 0
    for j in range(len(ends)):
        low, high, v_low, v_high = ends[j]
        if j > 0 and low == ends[j - 1, 1]:
            rows[n - 1, 2] = v_low
        elif j > 0:
            rows[n, 0], rows[n, 1], rows[n, 2] = low, np.inf, v_low
            n += 1
        rows[n, 0], rows[n, 1], rows[n, 2] = high, v_high, np.inf
        n += 1
    return rows[:n]

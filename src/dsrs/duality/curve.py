"""The curve s = S(t) that bounds R (see shell.py): where it is smooth, and where it jumps.

The density that the multipliers put on x is called g, as in bound.py.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.shell import crossing, present

# Where R takes up a shell the law of the angle has a kink of order (d - 1)/2.
KINKED_DIMENSION = 64
NEGATIVE = 0
STATE_CELLS = 64
MOST_CHANGES = 16
SLIVER = 3e-8  # of a piece; what it holds is the square of that


@njit(cache=True, nogil=True)
def density_on(laws: Floats, multipliers: Floats, u: float) -> tuple[float, float, float, float]:
    """g in u, its derivative, the sum of the magnitudes of its terms, and ln p."""
    total, slope, gross, log_p = 0.0, 0.0, 0.0, 0.0
    for i in range(len(multipliers)):
        if i > 0 and multipliers[i] == 0.0:
            continue
        v = u + laws[i, 1]
        growth = math.expm1(v)
        log_density = laws[i, 0] * (v - growth) + laws[i, 2]
        if i == 0:
            log_p = log_density
        if multipliers[i] != 0.0:
            term = multipliers[i] * math.exp(log_density)
            total += term
            slope -= term * laws[i, 0] * growth
            gross += abs(term)
    return total, slope, gross, log_p


@njit(cache=True, nogil=True)
def curve_end(g: Geometry, laws: Floats, multipliers: Floats, u: float) -> float:
    """v on the curve at u; inf where R has nothing of shell u."""
    density, _, _, log_p = density_on(laws, multipliers, u)
    if density <= 0.0:
        return np.inf
    a = math.log(density) - log_p
    _, _, shift = crossing(g.k, g.m * math.exp(u), a)
    return u + shift


@njit(cache=True, nogil=True)
def active_on(laws: Floats, multipliers: Floats, low: float, high: float) -> Floats:
    """The multipliers of the laws that are present on [low, high]; 0 for the others."""
    active = multipliers.copy()
    for i in range(len(laws)):
        if not present(laws, i, low, high):
            active[i] = 0.0
    return active


@njit(cache=True, nogil=True)
def one_sign(multipliers: Floats) -> bool:
    """Whether no two multipliers are of opposite signs."""
    least, most = 0.0, 0.0
    for multiplier in multipliers:
        least, most = min(least, multiplier), max(most, multiplier)
    return least * most == 0.0


@njit(cache=True, nogil=True)
def state(g: Geometry, laws: Floats, active: Floats, rho: float, edge: float, u: float) -> int:
    """NEGATIVE where g <= 0; else which caps of shells u and S(u) are whole, or nearly.

    A cap counts as whole from the cosine `edge` on; 0 ignores the caps.
    """
    density, _, _, log_p = density_on(laws, active, u)
    if density <= 0.0:
        return NEGATIVE
    if edge == 0.0:
        return 2
    t = g.m * math.exp(u)
    climb, s, _ = crossing(g.k, t, math.log(density) - log_p)
    if s == 0.0:
        return 5
    cosine = (climb / rho + 0.5 * rho) / math.sqrt(2.0 * t)
    if cosine < edge:
        return 1 if cosine <= -edge else 2
    return 3 if climb < 0.5 * rho * rho else 4


@njit(cache=True, nogil=True)
def state_change(
    g: Geometry, laws: Floats, active: Floats, rho: float, edge: float, low: float, high: float
) -> float:
    """The first u in [low, high] from which on the state is another, or `high`."""
    several = 0
    for multiplier in active:
        several += multiplier != 0.0
    if (one_sign(active) and edge == 0.0) or (several < 2 and g.d >= KINKED_DIMENSION):
        return high
    before = state(g, laws, active, rho, edge, low)
    for cell in range(STATE_CELLS):
        right = low + (high - low) * (cell + 1) / STATE_CELLS
        if state(g, laws, active, rho, edge, right) != before:
            left = low + (high - low) * cell / STATE_CELLS
            while True:
                middle = 0.5 * (left + right)
                if not left < middle < right:
                    return right
                if state(g, laws, active, rho, edge, middle) == before:
                    left = middle
                else:
                    right = middle
    return high


@njit(cache=True, nogil=True)
def strips(
    g: Geometry,
    laws: Floats,
    pieces: Floats,
    multipliers: Floats,
    rho: float,
    thinning: int,
    edge: float,
) -> Floats:
    """Intervals of u on which the integrand is smooth: rows of low, high, v at both.

    Where g falls to 0 the curve runs to infinity, for large k within a distance that no quadrature
    sees. There the strips grow thinner by 4, `thinning` times, and end a SLIVER before:
    min(g, p) >= 0 is left out, and the curve jumps.
    """
    rows = np.empty(((len(pieces) + MOST_CHANGES) * (2 * thinning + 1), 4))
    n, changes = 0, 0
    for j in range(len(pieces)):
        low, end = pieces[j]
        active = active_on(laws, multipliers, low, end)
        sliver = SLIVER * (end - low)
        before = state(g, laws, active, rho, edge, low)
        while low < end:
            high = end
            if changes < MOST_CHANGES:
                high = state_change(g, laws, active, rho, edge, low, end)
                changes += 1
            now = state(g, laws, active, rho, edge, 0.5 * (low + high))
            after = state(g, laws, active, rho, edge, high) if high < end else now
            if now == NEGATIVE:
                rows[n] = low, high, np.inf, np.inf
                n += 1
            else:
                start = low + sliver if before == NEGATIVE else low
                stop = high - sliver if after == NEGATIVE else high
                first = thinning if before == NEGATIVE else 0
                last = thinning if after == NEGATIVE else 0
                n = add_strips(g, laws, active, start, stop, first, last, rows, n)
            low, before = high, now
    return rows[:n]


@njit(cache=True, nogil=True)
def add_strips(
    g: Geometry,
    laws: Floats,
    active: Floats,
    low: float,
    high: float,
    first: int,
    last: int,
    rows: Floats,
    n: int,
) -> int:
    """Add [low, high] to `rows`, with `first` ever thinner strips towards low, `last` to high."""
    start, v_start, half = low, curve_end(g, laws, active, low), 0.5 * (high - low)
    for cut in range(first + last + 1):
        end = high
        if cut < first:
            end = low + half * 4.0 ** (cut + 1 - first)
        elif cut < first + last:
            end = high - half * 4.0 ** (first - cut)
        if end > start:
            v_end = curve_end(g, laws, active, end)
            rows[n] = start, end, v_start, v_end
            start, v_start = end, v_end
            n += 1
    return n


@njit(cache=True, nogil=True)
def jumps(parts: Floats) -> Floats:
    """Where the curve jumps from strip to strip: rows of u, v before and v after.

    Before the first strip it jumps nowhere: there P, shifted or not, has no mass.
    """
    rows = np.empty((2 * len(parts), 3))
    n = 0
    for j in range(len(parts)):
        low, high, v_low, v_high = parts[j]
        if j > 0 and low == parts[j - 1, 1]:
            rows[n - 1, 2] = v_low
        elif j > 0:
            rows[n] = low, np.inf, v_low
            n += 1
        rows[n] = high, v_high, np.inf
        n += 1
    return rows[:n]

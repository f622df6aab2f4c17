"""B as the search sees it: its value, slopes and curvature at given multipliers, on Gauss nodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    EVERYWHERE,
    FEW_NODES,
    FEW_WEIGHTS,
    GAUSS_NODES,
    GAUSS_WEIGHTS,
    STEEP,
    Base,
    Floats,
    cap,
    copy_into,
    crossing,
    curve_speed,
    fill,
    gamma_of,
    half_square,
    log_p,
    moved,
)
from dsrs.duality.curve import BEYOND, WITHIN, Cutting, Strips, jumps, log_ratio, strips
from dsrs.duality.density import Components, Integers, active_on, density_at, log_term
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.signs import POSITIVE, UNSURE
from dsrs.duality.thresholds import Search, line_value, panel_count

SEARCH_THINNING = 5.0  # strips towards where g vanishes: enough for a search
NOWHERE = np.inf
THIN = 0.01  # of a piece: a strip next to a zero of g that counts as the zero
FEW_WIDTH = 1.5  # panels no wider, in standard deviations of ln t, get 8 nodes
MANY_PIECES = 8  # from which on pieces are so short that caps need no cuts of their own


class Sums(NamedTuple):
    """What `measure` adds up, one number or row for each constraint."""

    masses: Floats  # scratch space: of the shell at hand
    hits: Floats
    sweeps: Floats
    curvature: Floats


@kernel
def measure(
    search: Search,
    rho: float,
    multipliers: Floats,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """The integral of min(g, p) and its derivative in rho; of R under every law, the probability,
    its derivative in rho and those in the multipliers (the curvature of B).

    (-inf, 0) where the signs of g are not known.
    """
    base, parts, pieces = search.problem.base, search.problem.parts, search.pieces
    fill(hits, 0.0)
    fill(sweeps, 0.0)
    for i in range(len(multipliers)):
        fill(curvature[i], 0.0)
    # Where a cap is whole to 8 standard deviations the integrand bends, the more the smaller rho.
    edge = min(1.0, STEEP / math.sqrt(base.d)) if len(pieces.low) < MANY_PIECES else 0.0
    work = search.problem.work
    cutting = Cutting(base, parts, multipliers, rho, SEARCH_THINNING, False, edge, work)
    along = strips(cutting, pieces)
    if not along.settled:
        return -np.inf, 0.0
    wide = np.inf
    if len(along.ends) > len(pieces.low):
        wide = 0.05 * (pieces.high[-1] - pieces.low[0])
    value, slope = 0.0, 0.0
    sums = Sums(np.empty(len(multipliers)), hits, sweeps, curvature)
    for j in range(len(along.ends)):
        if along.sign[j] != UNSURE:
            part, by_rho = measure_strip(search, rho, multipliers, along, j, wide, sums)
            value += part
            slope += by_rho
    for i in range(len(multipliers)):
        for h in range(i):
            curvature[h, i] = curvature[i, h]
    for line, start, stop in jumps(along.ends):
        part, by_rho = line_value(search, rho, line, start, stop)
        value += part
        slope += by_rho
    return value, slope


@inlined
def measure_strip(
    search: Search,
    rho: float,
    multipliers: Floats,
    along: Strips,
    j: int,
    wide: float,
    sums: Sums,
) -> tuple[float, float]:
    """What strip j adds to the integral of min(g, p) and to its derivative in rho, and, in place,
    to the other sums of `measure`; strips longer than `wide` get three panels at least.

    Next to a zero of g the share of R falls to 0 within a distance that no nodes see: it is a step,
    and the derivative of what it cuts off is in closed form. Where R has all of a shell the
    integrand is p(V) dV, if V lies within the shell, or 0: an integral over v.
    """
    base, parts, pieces = search.problem.base, search.problem.parts, search.pieces
    low, high, piece = along.ends[j, 0], along.ends[j, 1], int(along.piece[j])
    active = active_on(parts, pieces, piece, multipliers)
    if len(active) == 0:
        return 0.0, 0.0
    members = pieces.members[pieces.first[piece] : pieces.first[piece + 1]]
    panels = max(panel_count(base, parts, low, high), 3 if high - low > wide else 1)
    few = (high - low) * parts.sharpness < FEW_WIDTH * panels
    nodes, weights = (FEW_NODES, FEW_WEIGHTS) if few else (GAUSS_NODES, GAUSS_WEIGHTS)
    half = 0.5 * (high - low) / panels
    search.problem.work[0] += len(nodes) * panels
    zero, covered = zero_beside(along, j), along.state[j] >= BEYOND
    elsewhere = sums.curvature if zero == NOWHERE else sums.curvature.copy()
    value, slope = 0.0, 0.0
    if along.state[j] >= WITHIN:
        value, slope = line_value(search, rho, EVERYWHERE, along.ends[j, 2], along.ends[j, 3])
    for panel in range(panels):
        for i in range(len(nodes)):
            u, weight = low + half * (2 * panel + 1 + nodes[i]), half * weights[i]
            density, tilt = weigh_shell(parts, multipliers, members, u, weight, sums.masses)
            if covered:
                for k in range(len(multipliers)):
                    sums.hits[k] += sums.masses[k]
            elif density <= 0.0:
                value += density
            else:
                part, by_rho = measure_shell(base, rho, u, weight, density, tilt, sums)
                value += part
                slope += by_rho
    if zero != NOWHERE:
        # In a thin strip nodes do not see the step; a wide one ends where it begins.
        thin = high - low < THIN * (pieces.high[piece] - pieces.low[piece])
        for i in range(len(multipliers) if thin else 0):
            copy_into(sums.curvature[i], elsewhere[i])
        begin = low + high - zero if thin else zero
        share = share_of_shell(base, parts, active, multipliers, rho, begin)
        add_step(parts, active, members, multipliers, zero, share, sums)
    return value, slope


@kernel
def zero_beside(along: Strips, j: int) -> float:
    """The end of strip j beyond which, after a gap, g is 0; NOWHERE if there is none."""
    if along.sign[j] != POSITIVE:
        return NOWHERE
    for other, end, beyond in ((j - 1, 0, 1), (j + 1, 1, 0)):
        inside = 0 <= other < len(along.ends) and along.piece[other] == along.piece[j]
        if inside and along.ends[other, beyond] != along.ends[j, end]:
            return along.ends[j, end]  # type: ignore[no-any-return]
    return NOWHERE


@kernel
def add_step(
    parts: Components,
    active: Integers,
    members: Integers,
    multipliers: Floats,
    zero: float,
    share: float,
    sums: Sums,
) -> None:
    """Add to the curvature that R, which has `share` of the shells, ends at a zero of g."""
    steep = abs(density_at(parts, active, multipliers, zero)[1])
    masses, curvature = sums.masses, sums.curvature
    weigh_shell(parts, multipliers, members, zero, 1.0, masses)
    for i in range(len(masses) if steep > 0.0 else 0):
        for k in range(i + 1):
            curvature[i, k] += masses[i] * masses[k] * share / steep


@kernel
def share_of_shell(
    base: Base, parts: Components, active: Integers, multipliers: Floats, rho: float, u: float
) -> float:
    """Return the share of shell u that lies in R."""
    t = gamma_of(base, u)
    h = half_square(base, t)
    e, growth = crossing(base, t, log_ratio(base, parts, active, multipliers, u))
    climb, _ = moved(base, h, e, growth)
    return cap(base, rho, h, climb, 1.0)[0]


@kernel
def weigh_shell(
    parts: Components,
    multipliers: Floats,
    members: Integers,
    u: float,
    weight: float,
    masses: Floats,
) -> tuple[float, float]:
    """Write `weight` times the density of every law on shell u into `masses`; return g and its
    slope."""
    density, tilt = 0.0, 0.0
    fill(masses, 0.0)
    for j in members:
        i = parts.owner[j]
        mass = weight * math.exp(min(log_term(parts, j, u), 700.0))
        masses[i] += mass
        if multipliers[i] != 0.0:
            density += multipliers[i] * mass
            fall = parts.decay[j] * math.exp(u - parts.anchor[j])
            tilt += multipliers[i] * mass * (parts.exponent[j] - fall)
    return density, tilt


@inlined
def measure_shell(
    base: Base, rho: float, u: float, weight: float, density: float, tilt: float, sums: Sums
) -> tuple[float, float]:
    """What shell u, where g is positive, adds to the integral of min(g, p) and to its derivative in
    rho, and, in place, to the other sums of `measure`; the numbers are those of `weigh_shell`."""
    t = gamma_of(base, u)
    h = half_square(base, t)
    e, growth = crossing(base, t, math.log(density / weight) - log_p(base, u))
    climb, h_moved = moved(base, h, e, growth)
    below, above, by_climb, by_rho = cap(base, rho, h, climb, 1.0)
    value = density * above if above > 0.0 else 0.0
    slope = -density * by_rho if by_rho != 0.0 else 0.0
    bend = 0.0
    if h_moved > 0.0:
        s = t * (1.0 + growth)
        bend = by_climb * base.power * h_moved / ((s + base.kappa) * density)
        arriving = weight * math.exp(log_p(base, u + e))
        arriving *= curve_speed(base, t, growth, tilt / density - (base.m - t))
        within, _, _, within_by_rho = cap(base, rho, h_moved, climb, -1.0)
        value += arriving * within
        slope += arriving * within_by_rho
    masses = sums.masses
    for i in range(len(masses)):
        sums.hits[i] += masses[i] * below
        sums.sweeps[i] += masses[i] * by_rho
        for k in range(i + 1):
            sums.curvature[i, k] += masses[i] * masses[k] * bend
    return value, slope

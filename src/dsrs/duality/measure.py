"""B as the search sees it: its value, slopes and curvature at given multipliers, on Gauss nodes."""

from __future__ import annotations

import math

import numpy as np

from dsrs.duality.arrays import copy_into, fill
from dsrs.duality.base import (
    STEEP,
    Base,
    Floats,
    cap,
    crossing,
    curve_speed,
    gamma_of,
    half_square,
    log_p,
    moved,
)
from dsrs.duality.bound import rounding_of
from dsrs.duality.curve import Strips, jumps, log_ratio, strips
from dsrs.duality.density import Components, Integers, active_on, density_at, log_term
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.nodes import Search, panel_count
from dsrs.duality.rules import FEW_NODES, FEW_WEIGHTS, GAUSS_NODES, GAUSS_WEIGHTS
from dsrs.duality.thresholds import line_value
from dsrs.duality.two_terms import POSITIVE, UNSURE

THINNING = 5.0  # strips towards where g vanishes: enough for a search
NOWHERE = np.inf
THIN = 0.01  # of a piece: a strip next to a zero of g that counts as the zero
FEW_WIDTH = 1.5  # panels no wider, in standard deviations of ln t, get 8 nodes
MANY_PIECES = 8  # from which on pieces are so short that caps need no cuts of their own


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

    Next to a zero of g the share of R falls to 0 within a distance that no nodes see: it is a step,
    and the derivative of what it cuts off is in closed form. (-inf, 0) where the signs of g are not
    known.
    """
    base, parts, pieces = search.problem.base, search.problem.parts, search.pieces
    fill(hits, 0.0)
    fill(sweeps, 0.0)
    for i in range(len(multipliers)):
        fill(curvature[i], 0.0)
    # Where a cap is whole to 8 standard deviations the integrand bends, the more the smaller rho.
    edge = min(1.0, STEEP / math.sqrt(base.d)) if len(pieces.low) < MANY_PIECES else 0.0
    noise, work = rounding_of(parts), search.problem.work
    along = strips(base, parts, pieces, multipliers, rho, THINNING, edge, noise, work)
    if not along.settled:
        return -np.inf, 0.0
    wide = np.inf
    if len(along.ends) > len(pieces.low):
        wide = 0.05 * (pieces.high[-1] - pieces.low[0])
    value, slope, masses = 0.0, 0.0, np.empty(len(multipliers))
    for j in range(len(along.ends)):
        low, high, piece = along.ends[j, 0], along.ends[j, 1], int(along.piece[j])
        if along.sign[j] == UNSURE:
            continue
        active = active_on(parts, pieces, piece, multipliers)
        if len(active) == 0:
            continue
        members = pieces.members[pieces.first[piece] : pieces.first[piece + 1]]
        panels = max(panel_count(base, parts, low, high), 3 if high - low > wide else 1)
        few = (high - low) * parts.sharpness < FEW_WIDTH * panels
        nodes, weights = (FEW_NODES, FEW_WEIGHTS) if few else (GAUSS_NODES, GAUSS_WEIGHTS)
        half = 0.5 * (high - low) / panels
        work[0] += len(nodes) * panels
        zero = zero_beside(along, j)
        elsewhere = curvature if zero == NOWHERE else curvature.copy()
        for panel in range(panels):
            for i in range(len(nodes)):
                u = low + half * (2 * panel + 1 + nodes[i])
                part, by_rho = measure_shell(
                    base,
                    parts,
                    rho,
                    multipliers,
                    members,
                    u,
                    half * weights[i],
                    masses,
                    hits,
                    sweeps,
                    curvature,
                )
                value += part
                slope += by_rho
        if zero != NOWHERE:
            # In a thin strip nodes do not see the step; a wide one ends where it begins.
            thin = high - low < THIN * (pieces.high[piece] - pieces.low[piece])
            for i in range(len(multipliers) if thin else 0):
                copy_into(curvature[i], elsewhere[i])
            begin = low + high - zero if thin else zero
            share = share_of_shell(base, parts, active, multipliers, rho, begin)
            add_step(parts, active, members, multipliers, zero, share, masses, curvature)
    for i in range(len(multipliers)):
        for h in range(i):
            curvature[h, i] = curvature[i, h]
    for line, start, stop in jumps(along.ends):
        part, by_rho = line_value(search, rho, line, start, stop)
        value += part
        slope += by_rho
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
    masses: Floats,
    curvature: Floats,
) -> None:
    """Add to the curvature that R, which has `share` of the shells, ends at a zero of g; `masses`
    is scratch space."""
    steep = abs(density_at(parts, active, multipliers, zero)[1])
    fill(masses, 0.0)
    for j in members:
        masses[parts.owner[j]] += math.exp(min(log_term(parts, j, zero), 700.0))
    for i in range(len(masses) if steep > 0.0 else 0):
        for k in range(i + 1):
            curvature[i, k] += masses[i] * masses[k] * share / steep


@kernel
def share_of_shell(
    base: Base, parts: Components, active: Integers, multipliers: Floats, rho: float, u: float
) -> float:
    """What R has of shell u."""
    t = gamma_of(base, u)
    h = half_square(base, t)
    e, growth = crossing(base, t, log_ratio(base, parts, active, multipliers, u))
    climb, _ = moved(base, h, e, growth)
    return cap(base, rho, h, climb, 1.0)[0]


@inlined
def measure_shell(
    base: Base,
    parts: Components,
    rho: float,
    multipliers: Floats,
    members: Integers,
    u: float,
    weight: float,
    masses: Floats,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """What shell u adds to the integral of min(g, p) and to its derivative in rho, and, in place,
    to the other sums of `measure`; `masses` is scratch space."""
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
    if density <= 0.0:
        return density, 0.0
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
    for i in range(len(masses)):
        hits[i] += masses[i] * below
        sweeps[i] += masses[i] * by_rho
        for k in range(i + 1):
            curvature[i, k] += masses[i] * masses[k] * bend
    return value, slope

"""Multipliers of any list of laws: damped Newton on the concave dual bound, else a scan."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.bound import chosen_ends
from dsrs.duality.curve import active_on, jumps, strips
from dsrs.duality.geometry import Floats
from dsrs.duality.nodes import Problem, panel_count
from dsrs.duality.rules import GAUSS_NODES, GAUSS_WEIGHTS
from dsrs.duality.shell import cap, crossing, log_shell_density, present
from dsrs.duality.thresholds import STEEP, alone_multipliers, line_value

THINNING = 5  # strips towards where g vanishes: enough for a search
# What Newton's step may still gain in B when the search stops. Away from the optimum B is far from
# quadratic, and gains are much larger than predicted.
ENOUGH = 1e-13
NEWTON_STEPS = 40
LINE_STEPS = 12
SCAN_STEPS = 40
STEEPEST = 1e-5  # slope of B at which a small gain is not believed


@njit(cache=True, nogil=True)
def measure(
    problem: Problem,
    rho: float,
    multipliers: Floats,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """The integral of min(g, p) and its derivative in rho; of R under every law, the probability,
    its derivative in rho and those in the multipliers (the curvature of B)."""
    g, laws = problem.g, problem.laws
    hits[:], sweeps[:], curvature[:, :] = 0.0, 0.0, 0.0
    # Where a cap is whole to 8 standard deviations the integrand bends, the more the smaller rho.
    edge = min(1.0, STEEP / math.sqrt(g.d))
    parts = strips(g, laws, problem.pieces, multipliers, rho, THINNING, edge)
    wide = np.inf
    if len(parts) > len(problem.pieces):
        wide = 0.05 * (problem.pieces[-1, 1] - problem.pieces[0, 0])
    value, slope, masses = 0.0, 0.0, np.empty(len(multipliers))
    for j in range(len(parts)):
        low, high = parts[j, 0], parts[j, 1]
        active = active_on(laws, multipliers, low, high)
        panels = max(panel_count(g, laws, low, high), 3 if high - low > wide else 1)
        half = 0.5 * (high - low) / panels
        for panel in range(panels):
            for i in range(24):
                u = low + half * (2 * panel + 1 + GAUSS_NODES[i])
                weight = half * GAUSS_WEIGHTS[i]
                part, by_rho = measure_shell(
                    problem, rho, active, u, weight, masses, hits, sweeps, curvature
                )
                value += part
                slope += by_rho
    for i in range(len(multipliers)):
        for h in range(i):
            curvature[h, i] = curvature[i, h]
    for line, start, stop in jumps(parts):
        part, by_rho = line_value(problem, rho, line, start, stop)
        value += part
        slope += by_rho
    return value, slope


@njit(cache=True, nogil=True)
def measure_shell(
    problem: Problem,
    rho: float,
    active: Floats,
    u: float,
    weight: float,
    masses: Floats,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """What shell u adds to the integral of min(g, p) and to its derivative in rho, and, in place,
    to the other sums of `measure`; `masses` is scratch space."""
    g, laws = problem.g, problem.laws
    density, tilt, log_p = 0.0, 0.0, log_shell_density(laws, 0, u)
    for i in range(len(active)):
        masses[i] = 0.0
        if present(laws, i, u, u):
            masses[i] = weight * math.exp(log_shell_density(laws, i, u))
        if active[i] != 0.0:
            density += active[i] * masses[i]
            tilt -= active[i] * masses[i] * laws[i, 0] * math.expm1(u + laws[i, 1])
    if density <= 0.0:
        return density, 0.0
    t = g.m * math.exp(u)
    climb, s, shift = crossing(g.k, t, math.log(density / weight) - log_p)
    below, above, by_climb, by_rho = cap(g, rho, t, climb, 1.0)
    value = density * above if above > 0.0 else 0.0
    slope = -density * by_rho if by_rho != 0.0 else 0.0
    bend = 0.0
    if s > 0.0:
        bend = by_climb * s / ((s + g.k) * density)
        moved = weight * math.exp(log_shell_density(laws, 0, u + shift))
        moved *= (g.m + g.k - tilt / density) / (s + g.k)
        within, _, _, within_by_rho = cap(g, rho, s, climb, -1.0)
        value += moved * within
        slope += moved * within_by_rho
    for i in range(len(active)):
        hits[i] += masses[i] * below
        sweeps[i] += masses[i] * by_rho
        for h in range(i + 1):
            curvature[i, h] += masses[i] * masses[h] * bend
    return value, slope


@njit(cache=True, nogil=True)
def slope_of(problem: Problem, multipliers: Floats, hits: Floats, slope: Floats) -> None:
    """Ascent slope of B in each multiplier; 0 where a multiplier rests at its kink at 0."""
    for i in range(len(multipliers)):
        upward = problem.lowers[i] - hits[i]
        downward = problem.uppers[i] - hits[i]
        if multipliers[i] > 0.0:
            slope[i] = upward
        elif multipliers[i] < 0.0:
            slope[i] = downward
        else:
            slope[i] = upward if upward > 0.0 else min(downward, 0.0)


@njit(cache=True, nogil=True)
def newton_step(multipliers: Floats, slope: Floats, curvature: Floats) -> Floats:
    """Newton's step on the multipliers that are free to move."""
    count = len(multipliers)
    matrix, step, scale = curvature.copy(), slope.copy(), np.empty(count)
    for i in range(count):
        # A ridge keeps saturated directions from blowing up; the line search does the rest.
        matrix[i, i] = matrix[i, i] * (1.0 + 1e-12) + 1e-300
        if multipliers[i] == 0.0 and slope[i] == 0.0:
            matrix[i, :] = 0.0
            matrix[:, i] = 0.0
            matrix[i, i] = 1.0
    for i in range(count):
        scale[i] = math.sqrt(matrix[i, i])
    for i in range(count):
        step[i] /= scale[i]
        for h in range(count):
            matrix[i, h] /= scale[i] * scale[h]
        matrix[i, i] += 1e-13
    # Gaussian elimination; the matrix is positive definite, so no pivot is needed.
    for i in range(count):
        for h in range(i + 1, count):
            factor = matrix[h, i] / matrix[i, i]
            step[h] -= factor * step[i]
            for j in range(i, count):
                matrix[h, j] -= factor * matrix[i, j]
    for i in range(count - 1, -1, -1):
        for h in range(i + 1, count):
            step[i] -= matrix[i, h] * step[h]
        step[i] /= matrix[i, i]
    for i in range(count):
        step[i] /= scale[i]
        if multipliers[i] == 0.0 and step[i] * slope[i] <= 0.0:
            step[i] = 0.0
    return step


@njit(cache=True, nogil=True)
def inner(left: Floats, right: Floats) -> float:
    """The sum of left_i right_i."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@njit(cache=True, nogil=True)
def same_signs(found: Floats, step: Floats) -> bool:
    """Whether the step takes no multiplier through 0."""
    same = True
    for i in range(len(found)):
        same = same and found[i] * (found[i] + step[i]) >= 0.0
    return same


@njit(cache=True, nogil=True)
def line_search(
    problem: Problem,
    rho: float,
    found: Floats,
    step: Floats,
    gain: float,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """Go along Newton's step, at most to the first kink on the way; what `measure` says there."""
    stride, blocked = 1.0, -1
    for i in range(len(found)):
        if found[i] * (found[i] + stride * step[i]) < 0.0:
            stride, blocked = -found[i] / step[i], i
    for _ in range(LINE_STEPS):
        trial = found + stride * step
        if blocked >= 0:
            trial[blocked] = 0.0
        value, by_rho = measure(problem, rho, trial, hits, sweeps, curvature)
        ahead = inner(chosen_ends(problem.lowers, problem.uppers, trial) - hits, step)
        if blocked >= 0:
            edge = problem.lowers if step[blocked] < 0.0 else problem.uppers
            ahead += (edge[blocked] - problem.uppers[blocked]) * step[blocked]
        if ahead >= -0.5 * gain:
            break
        stride *= min(max(gain / (gain - ahead), 0.1), 0.8)
        blocked = -1
    found[:] = trial
    return value, by_rho


@njit(cache=True, nogil=True)
def slope_at(problem: Problem, rho: float, multipliers: Floats, i: int, side: float) -> float:
    """Slope of B in multiplier i, seen from its positive or negative side."""
    count = len(multipliers)
    hits, unused, curvature = np.empty(count), np.empty(count), np.empty((count, count))
    measure(problem, rho, multipliers, hits, unused, curvature)
    return (problem.lowers[i] if side > 0.0 else problem.uppers[i]) - hits[i]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def best_second(problem: Problem, rho: float, multipliers: Floats, size: float) -> None:
    """Put the last multiplier at the maximum of B, the others fixed; `size` is a first guess."""
    i = len(multipliers) - 1
    side = 0.0
    for sign in (1.0, -1.0):
        multipliers[i] = 0.0
        if side == 0.0 and sign * slope_at(problem, rho, multipliers, i, sign) > 0.0:
            side = sign
    low, high, y = -np.inf, np.inf, math.log(max(size, 1e-12))
    f_low, f_high, last = 0.0, 0.0, 0
    for attempt in range(SCAN_STEPS if side != 0.0 else 0):
        multipliers[i] = side * math.exp(y)
        f = side * slope_at(problem, rho, multipliers, i, side)
        if f > 0.0:
            if last == 1:
                f_high *= 0.5
            low, f_low, last = y, f, 1
        else:
            if last == 2:
                f_low *= 0.5
            high, f_high, last = y, f, 2
        if high - low < 1e-9 or f == 0.0:
            break
        if low == -np.inf or high == np.inf:
            y += 2.0 if f > 0.0 else -2.0
        elif attempt % 3 == 2:
            y = 0.5 * (low + high)
        else:
            y = (low * f_high - high * f_low) / (f_high - f_low)


@njit(cache=True, nogil=True)
def scan_multipliers(problem: Problem, rho: float, found: Floats) -> None:
    """Two laws where Newton gives up: B is a thin curved ridge when g changes its sign.

    The best l2 for each l1, and the best l1 by bisection: slow but sure, for the maximum over l2
    of a concave B is concave in l1.
    """
    low, high = -np.inf, np.inf
    size, side, x = max(abs(found[1]), 1e-3), 1.0, math.log(max(abs(found[0]), 1e-6))
    for step in range(2 * SCAN_STEPS):
        found[0] = side * math.exp(x)
        best_second(problem, rho, found, size)
        size = max(abs(found[1]), 1e-12)
        if side * slope_at(problem, rho, found, 0, side) > 0.0:
            low = x
        else:
            high = x
        if high - low < 1e-7:
            break
        if low == -np.inf or high == np.inf:
            x += 1.0 if high == np.inf else -1.0
        else:
            x = 0.5 * (low + high)
        if x < -12.0:
            # No positive l1 is best: the other side.
            low, high, x, side = -np.inf, np.inf, 0.0, -side
            if step >= SCAN_STEPS:
                break


@njit(cache=True, nogil=True)
def general_multipliers(
    problem: Problem, rho: float, warm: Floats, found: Floats, rates: Floats
) -> tuple[float, float]:
    """Any list of laws: damped Newton on the concave B, stopping at the kinks l_i = 0.

    Starts from `found`, or from Neyman-Pearson when that is empty.
    """
    count = len(problem.lowers)
    if inner(found, found) == 0.0:
        alone_multipliers(problem, rho, warm, found, rates)
    hits, sweeps, slope = np.empty(count), np.empty(count), np.empty(count)
    curvature = np.empty((count, count))
    value, by_rho = measure(problem, rho, found, hits, sweeps, curvature)
    last_step, settled = np.zeros(count), False
    for _ in range(NEWTON_STEPS):
        slope_of(problem, found, hits, slope)
        step = newton_step(found, slope, curvature)
        gain = inner(slope, step)
        if not gain > ENOUGH:
            if same_signs(found, step):
                last_step, value = step, value + 0.5 * max(gain, 0.0)
            settled = inner(slope, slope) < STEEPEST * STEEPEST
            break
        value, by_rho = line_search(problem, rho, found, step, gain, hits, sweeps, curvature)
    if not settled and count == 2:
        last_step[:] = 0.0
        scan_multipliers(problem, rho, found)
        value, by_rho = measure(problem, rho, found, hits, sweeps, curvature)
    ends = chosen_ends(problem.lowers, problem.uppers, found)
    for i in range(count):
        value -= found[i] * (1.0 - ends[i])
        sweeps[i] *= -1.0 if found[i] != 0.0 else 0.0
    rates[:] = newton_step(found, sweeps, curvature)
    found += last_step
    return value, by_rho

"""The search for the best multipliers at one radius: fast, and allowed to be sloppy.

Whatever it returns is only a candidate; `bound.dual_bound` decides what it proves.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.bound import LARGE, chosen_ends, dual_bound
from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.nodes import ALONE, SPLIT, Problem
from dsrs.duality.shell import (
    angle_cdf,
    angle_density,
    angle_tail,
    shortfall_fast,
    threshold_angle,
)

# ln lambda of a region whose classifier must be right almost everywhere; see `split_multipliers`.
HIGHEST = 11.0
NEWTON_STEPS = 60
# Newton's predicted gain of B at which the search stops.
ENOUGH = 1e-13


@njit(cache=True, nogil=True)
def region_threshold(
    g: Geometry, rho: float, t: Floats, mass: Floats, target: float, rest: float, start: float
) -> float:
    """ln lambda at which E[F_t(lambda)] over a region equals `target`; `rest` is what is left.

    Newton on the logarithm of the smaller of the two, inside a bracket.
    """
    if target <= 0.0:
        return -np.inf
    if rest <= 0.0:
        return np.inf
    upper = rest < target
    goal = math.log(rest if upper else target)
    low, high = -np.inf, np.inf
    a, stride = start, 1.0
    for _ in range(NEWTON_STEPS):
        total, slope = 0.0, 0.0
        for j in range(len(t)):
            phi, rate = threshold_angle(g, rho, t[j], a)
            total += mass[j] * (angle_tail(g, phi) if upper else angle_cdf(g, phi))
            if rate > 0.0:
                slope += mass[j] * angle_density(g, phi) * rate
        miss = math.log(total) - goal if total > 0.0 else -np.inf
        if (miss > 0.0) == upper:
            low = a
        else:
            high = a
        step = np.inf
        if total > 0.0 and slope > 0.0:
            step = miss * total / slope if upper else -miss * total / slope
        if not low < a + step < high or abs(step) > 20.0 * stride:
            if math.isfinite(low) and math.isfinite(high):
                step = 0.5 * (low + high) - a
            else:
                step = stride if math.isfinite(low) else -stride
                stride *= 2.0
        a += step
        # Newton squares its error, and B is flat at its maximum: this is far more than enough.
        if abs(step) < 1e-6 * (1.0 + abs(a)):
            break
    return a


@njit(cache=True, nogil=True)
def region_value(
    g: Geometry, rho: float, t: Floats, mass: Floats, target: float, a: float
) -> float:
    """lambda target - E[Phi_t(lambda)] over a region."""
    if a == -np.inf:
        return 0.0
    total = target
    for j in range(len(t)):
        if mass[j] > 0.0:
            total -= mass[j] * shortfall_fast(g, rho, t[j], a)
    return math.exp(a) * total


@njit(cache=True, nogil=True)
def alone_multipliers(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """Neyman-Pearson: only the lower bound of P_A counts. Writes `found`, returns B."""
    g, low = problem.g, problem.lowers[0]
    found[:] = 0.0
    warm[0] = region_threshold(g, rho, problem.t, problem.mass[0], low, 1.0 - low, warm[0])
    found[0] = math.exp(warm[0])
    return region_value(g, rho, problem.t, problem.mass[0], low, warm[0])


@njit(cache=True, nogil=True)
def split_multipliers(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """One truncated law: two thresholds, each from an equation of its own (MATH 3).

    First with Q-; if that asks for a negative l2, with Q+; if that asks for a positive one,
    l2 = 0. B is concave, so exactly one of the three is the maximum. l1 < 0 never helps: then
    the outer threshold is 0, and raising l1 to 0 raises B, since P+ >= Q- inside.
    """
    g, inside, cut = problem.g, problem.inside, problem.split
    p = problem.lowers[0]
    for side in range(2):
        q = problem.lowers[1] if side == 0 else problem.uppers[1]
        inner = q * inside
        outer = p - inner
        spare = (1.0 - inside) - outer
        # On the edge P_A = 1 - (1 - Q_A) inside the outer threshold has no finite optimum.
        if side == 0 and spare <= 0.0:
            continue
        warm[1] = region_threshold(
            g, rho, problem.t[:cut], problem.mass[0, :cut], inner, (1.0 - q) * inside, warm[1]
        )
        warm[2] = region_threshold(
            g, rho, problem.t[cut:], problem.mass[0, cut:], outer, max(spare, 1e-300), warm[2]
        )
        a_in, a_out = warm[1], warm[2]
        if side == 1:
            a_out = min(a_out, HIGHEST)
        for i in range(1, 3):
            if not math.isfinite(warm[i]):
                warm[i] = 0.0
        if (side == 0 and a_in >= a_out) or (side == 1 and a_in <= a_out):
            found[0] = math.exp(a_out)
            found[1] = (math.exp(a_in) - found[0]) * inside
            if a_in == np.inf or found[1] > LARGE:
                return dual_bound(g, problem.laws, problem.lowers, problem.uppers, found, rho)
            value = region_value(g, rho, problem.t[:cut], problem.mass[0, :cut], inner, a_in)
            value += region_value(g, rho, problem.t[cut:], problem.mass[0, cut:], outer, a_out)
            return value
    return alone_multipliers(problem, rho, warm, found)


@njit(cache=True, nogil=True)
def measure(
    problem: Problem, rho: float, multipliers: Floats, hits: Floats, curvature: Floats
) -> None:
    """E_i[F] under every law, and the (positive) curvature of B, at the given multipliers."""
    hits[:] = 0.0
    curvature[:, :] = 0.0
    count = len(multipliers)
    for j in range(len(problem.t)):
        total = 0.0
        for i in range(count):
            total += multipliers[i] * problem.mass[i, j]
        if total <= 0.0:
            continue
        a = math.log(total) - math.log(problem.mass[0, j]) if problem.mass[0, j] > 0.0 else np.inf
        phi, rate = (0.5 * math.pi, 0.0)
        if a < np.inf:
            phi, rate = threshold_angle(problem.g, rho, problem.t[j], a)
        probability = angle_cdf(problem.g, phi)
        bend = angle_density(problem.g, phi) * rate / total if rate > 0.0 else 0.0
        for i in range(count):
            hits[i] += problem.mass[i, j] * probability
            for h in range(i + 1):
                curvature[i, h] += problem.mass[i, j] * problem.mass[h, j] * bend
    for i in range(count):
        for h in range(i):
            curvature[h, i] = curvature[i, h]


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
    step = np.zeros(count)
    matrix = curvature.copy()
    for i in range(count):
        # A ridge keeps saturated directions from blowing up; the line search does the rest.
        matrix[i, i] = matrix[i, i] * (1.0 + 1e-12) + 1e-300
        if multipliers[i] == 0.0 and slope[i] == 0.0:
            matrix[i, :] = 0.0
            matrix[:, i] = 0.0
            matrix[i, i] = 1.0
    scale = np.sqrt(np.diag(matrix))
    for i in range(count):
        for h in range(count):
            matrix[i, h] /= scale[i] * scale[h]
        matrix[i, i] += 1e-13
    step = np.linalg.solve(matrix, slope / scale) / scale
    for i in range(count):
        if multipliers[i] == 0.0 and step[i] * slope[i] <= 0.0:
            step[i] = 0.0
    return step


@njit(cache=True, nogil=True)
def general_multipliers(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """Any list of laws: damped Newton on the concave B, stopping at the kinks l_i = 0.

    Starts from `found`, or from Neyman-Pearson when that is empty.
    """
    count = len(problem.lowers)
    if not np.any(found != 0.0):
        alone_multipliers(problem, rho, warm, found)
    hits, slope = np.empty(count), np.empty(count)
    curvature = np.empty((count, count))
    measure(problem, rho, found, hits, curvature)
    for _ in range(NEWTON_STEPS):
        slope_of(problem, found, hits, slope)
        step = newton_step(found, slope, curvature)
        gain = np.dot(slope, step)
        if not gain > ENOUGH:
            break
        # Stop short of the first kink on the way.
        stride, blocked = 1.0, -1
        for i in range(count):
            if found[i] * (found[i] + stride * step[i]) < 0.0:
                stride, blocked = -found[i] / step[i], i
        for _ in range(40):
            trial = found + stride * step
            if blocked >= 0:
                trial[blocked] = 0.0
            measure(problem, rho, trial, hits, curvature)
            ahead = np.dot(chosen_ends(problem.lowers, problem.uppers, trial) - hits, step)
            if blocked >= 0:
                edge = problem.lowers if step[blocked] < 0.0 else problem.uppers
                ahead += (edge[blocked] - problem.uppers[blocked]) * step[blocked]
            if ahead >= -0.5 * gain:
                break
            stride *= min(max(gain / (gain - ahead), 0.1), 0.8)
            blocked = -1
        found[:] = trial
    total = 0.0
    ends = chosen_ends(problem.lowers, problem.uppers, found)
    for i in range(count):
        if abs(found[i]) > LARGE:
            return dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)
        total += found[i] * ends[i]
    for j in range(len(problem.t)):
        mass = 0.0
        for i in range(count):
            mass += found[i] * problem.mass[i, j]
        if mass > 0.0:
            a = np.inf
            if problem.mass[0, j] > 0.0:
                a = math.log(mass) - math.log(problem.mass[0, j])
            total -= mass * (shortfall_fast(problem.g, rho, problem.t[j], a) if a < 600.0 else 1.0)
    return total


@njit(cache=True, nogil=True)
def best_multipliers(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """Multipliers (into `found`) that nearly maximise B at shift rho, and that B.

    `warm` carries ln lambda from one radius to the next; three zeros to begin with.
    """
    if problem.kind == ALONE:
        return alone_multipliers(problem, rho, warm, found)
    if problem.kind == SPLIT:
        return split_multipliers(problem, rho, warm, found)
    return general_multipliers(problem, rho, warm, found)

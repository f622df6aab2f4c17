"""Multipliers of any list of laws: damped Newton on the concave dual bound."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.bound import chosen_ends
from dsrs.duality.curve import jumps, strips
from dsrs.duality.geometry import Floats
from dsrs.duality.nodes import Problem
from dsrs.duality.shell import cap, crossing, log_shell_density
from dsrs.duality.thresholds import ENOUGH, NEWTON_STEPS, alone_multipliers, line_value


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
    count = len(multipliers)
    value, slope = 0.0, 0.0
    for j in range(len(problem.t)):
        t, p_mass = problem.t[j], problem.mass[0, j]
        total, tilt = 0.0, 0.0
        for i in range(count):
            term = multipliers[i] * problem.mass[i, j]
            total += term
            tilt -= term * laws[i, 0] * math.expm1(problem.u[j] + laws[i, 1])
        if total <= 0.0:
            value += total
            continue
        a = math.log(total / p_mass) if p_mass > 0.0 else np.inf
        climb, s, shift = crossing(g.k, t, a)
        below, above, by_climb, by_rho = cap(g, rho, t, climb, 1.0)
        value += total * above
        slope -= total * by_rho
        bend = 0.0
        if s > 0.0:
            bend = by_climb * s / ((s + g.k) * total)
            mass = math.exp(log_shell_density(laws, 0, problem.u[j] + shift))
            mass *= problem.weight[j] * (g.m + g.k - tilt / total) / (s + g.k)
            within, _, _, by_rho_within = cap(g, rho, s, climb, -1.0)
            value += mass * within
            slope += mass * by_rho_within
        for i in range(count):
            hits[i] += problem.mass[i, j] * below
            sweeps[i] += problem.mass[i, j] * by_rho
            for h in range(i + 1):
                curvature[i, h] += problem.mass[i, j] * problem.mass[h, j] * bend
    for i in range(count):
        for h in range(i):
            curvature[h, i] = curvature[i, h]
    for line, start, stop in jumps(strips(g, laws, problem.pieces, multipliers, rho)):
        part, by_rho = line_value(problem, rho, line, start, stop)
        value += part
        slope += by_rho
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
    last_step = np.zeros(count)
    for _ in range(NEWTON_STEPS):
        slope_of(problem, found, hits, slope)
        step = newton_step(found, slope, curvature)
        gain = inner(slope, step)
        if not gain > ENOUGH:
            if same_signs(found, step):
                last_step, value = step, value + 0.5 * max(gain, 0.0)
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
    ends = chosen_ends(problem.lowers, problem.uppers, found)
    for i in range(count):
        value -= found[i] * (1.0 - ends[i])
        sweeps[i] *= -1.0 if found[i] != 0.0 else 0.0
    rates[:] = newton_step(found, sweeps, curvature)
    found += last_step
    return value, by_rho

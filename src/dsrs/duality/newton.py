"""Multipliers of any list of laws: damped Newton on the concave dual bound, else a scan.

Whatever the search returns is only a candidate; `bound.dual_bound` decides what it proves.
"""

from __future__ import annotations

import math

import numpy as np

from dsrs.duality.base import Floats, copy_into, fill, whole
from dsrs.duality.bound import chosen_ends, is_spent
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.measure import measure
from dsrs.duality.thresholds import Search, rough_normal_quantile

# ---- Where Newton gives up: one multiplier at a time, slow but sure

SCAN_STEPS = 40
SWEEPS = 3


@inlined
def slope_at(search: Search, rho: float, multipliers: Floats, i: int, side: float) -> float:
    """Slope of B in multiplier i, seen from its positive or negative side."""
    count = len(multipliers)
    hits, unused, curvature = np.empty(count), np.empty(count), np.empty((count, count))
    measure(search, rho, multipliers, hits, unused, curvature)
    return (search.problem.lowers[i] if side > 0.0 else search.problem.uppers[i]) - hits[i]  # type: ignore[no-any-return]


@kernel
def best_alone(search: Search, rho: float, multipliers: Floats, i: int, size: float) -> None:
    """Put multiplier i at the maximum of B, the others fixed; `size` is a first guess."""
    side = 0.0
    for sign in (1.0, -1.0):
        multipliers[i] = 0.0
        if side == 0.0 and sign * slope_at(search, rho, multipliers, i, sign) > 0.0:
            side = sign
    low, high, y = -np.inf, np.inf, math.log(max(size, 1e-12))
    f_low, f_high, last = 0.0, 0.0, 0
    for attempt in range(SCAN_STEPS if side != 0.0 else 0):
        multipliers[i] = side * math.exp(y)
        f = side * slope_at(search, rho, multipliers, i, side)
        if f > 0.0:
            if last == 1:
                f_high *= 0.5
            low, f_low, last = y, f, 1
        else:
            if last == 2:
                f_low *= 0.5
            high, f_high, last = y, f, 2
        if high - low < 1e-9 or f == 0.0 or is_spent(search.problem):
            break
        if low == -np.inf or high == np.inf:
            y += 2.0 if f > 0.0 else -2.0
        elif attempt % 3 == 2:
            y = 0.5 * (low + high)
        else:
            y = (low * f_high - high * f_low) / (f_high - f_low)


@inlined
def scan_multipliers(search: Search, rho: float, multipliers: Floats) -> None:
    """Scan both multipliers of two laws: where g changes its sign, B is a thin curved ridge.

    The best l2 for each l1, and the best l1 by bisection: slow but sure, for the maximum over l2
    of a concave B is concave in l1.
    """
    low, high = -np.inf, np.inf
    first, second = whole(0), whole(1)
    size, side, x = max(abs(multipliers[1]), 1e-3), 1.0, math.log(max(abs(multipliers[0]), 1e-6))
    for step in range(2 * SCAN_STEPS):
        multipliers[0] = side * math.exp(x)
        best_alone(search, rho, multipliers, second, size)
        size = max(abs(multipliers[1]), 1e-12)
        if side * slope_at(search, rho, multipliers, first, side) > 0.0:
            low = x
        else:
            high = x
        if high - low < 1e-7 or is_spent(search.problem):
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


@inlined
def sweep_multipliers(search: Search, rho: float, multipliers: Floats) -> None:
    """Three laws or more: each multiplier in turn. The kinks of B lie at l_i = 0, one multiplier
    each, so a maximum along every axis is the maximum."""
    for _ in range(SWEEPS):
        for i in range(len(multipliers)):
            best_alone(search, rho, multipliers, i, max(abs(multipliers[i]), 1e-6))


# ---- Newton's method

# What Newton's step may still gain in B when the search stops. Away from the optimum B is far from
# quadratic, and gains are much larger than predicted.
SMALLEST_GAIN = 1e-13
DUAL_NEWTON_STEPS = 40
FEW_NEWTON_STEPS = 8  # where one multiplier alone counts, and bisection is nearly as fast
LINE_STEPS = 12
LONGEST_STEP = 4.0  # in multiples of the sum of all multipliers
LARGEST_SETTLED_SLOPE = 1e-5  # slope of B at which a small gain is not believed
# A B so far above 1 grows without end: no classifier fits the box.
UNBOUNDED = 2.0


@kernel
def slope_of(search: Search, multipliers: Floats, hits: Floats, slope: Floats) -> None:
    """Ascent slope of B in each multiplier; 0 where a multiplier rests at its kink at 0."""
    for i in range(len(multipliers)):
        upward = search.problem.lowers[i] - hits[i]
        downward = search.problem.uppers[i] - hits[i]
        if multipliers[i] > 0.0:
            slope[i] = upward
        elif multipliers[i] < 0.0:
            slope[i] = downward
        else:
            slope[i] = upward if upward > 0.0 else min(downward, 0.0)


@kernel
def cost_of(search: Search, multipliers: Floats) -> float:
    """Return sum_i l_i (1 - X_i), the part of B that no integral is needed for."""
    ends, total = chosen_ends(search.problem, multipliers), 0.0
    for i in range(len(multipliers)):
        total += multipliers[i] * (1.0 - ends[i])
    return total


@kernel
def newton_step(multipliers: Floats, slope: Floats, curvature: Floats, longest: float) -> Floats:
    """Newton's step on the multipliers that are free to move, none by much more than `longest`."""
    count = len(multipliers)
    matrix, step, scale = curvature.copy(), slope.copy(), np.empty(count)
    for i in range(count):
        # Where all or nothing is hit there is no curvature: a ridge that fades with the slope.
        matrix[i, i] = matrix[i, i] * (1.0 + 1e-12) + 1e-300 + abs(slope[i]) / longest
        if multipliers[i] == 0.0 and slope[i] == 0.0:
            for h in range(count):
                matrix[i, h], matrix[h, i] = 0.0, 0.0
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


@kernel
def longest_step(multipliers: Floats) -> float:
    """How far Newton may move a multiplier at once: B is far from quadratic."""
    total = 1.0
    for multiplier in multipliers:
        total += abs(multiplier)
    return LONGEST_STEP * total


@kernel
def inner(left: Floats, right: Floats) -> float:
    """The sum of left_i right_i."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@kernel
def same_signs(multipliers: Floats, step: Floats) -> bool:
    """Whether the step takes no multiplier through 0."""
    same = True
    for i in range(len(multipliers)):
        same = same and multipliers[i] * (multipliers[i] + step[i]) >= 0.0
    return same


@inlined
def line_search(
    search: Search,
    rho: float,
    multipliers: Floats,
    step: Floats,
    gain: float,
    hits: Floats,
    sweeps: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """Go along Newton's step, at most to the first kink on the way; what `measure` says there.

    A step too long is cut back to where the slope has nearly gone, rather than to the first place
    that still rises: beyond it Newton sees the curvature that it missed.
    """
    stride, blocked, trial = 1.0, -1, np.empty(len(multipliers))
    low, high = 0.0, np.inf
    for i in range(len(multipliers)):
        if multipliers[i] * (multipliers[i] + stride * step[i]) < 0.0:
            stride, blocked = -multipliers[i] / step[i], i
    for _ in range(LINE_STEPS):
        for i in range(len(multipliers)):
            trial[i] = multipliers[i] + stride * step[i]
        if blocked >= 0:
            trial[blocked] = 0.0
        value, by_rho = measure(search, rho, trial, hits, sweeps, curvature)
        ends = chosen_ends(search.problem, trial)
        ahead = 0.0
        for i in range(len(multipliers)):
            ahead += (ends[i] - hits[i]) * step[i]
        if blocked >= 0:
            edge = search.problem.lowers if step[blocked] < 0.0 else search.problem.uppers
            ahead += (edge[blocked] - search.problem.uppers[blocked]) * step[blocked]
        if value == -np.inf:
            ahead = -gain
        if ahead >= -0.5 * gain and (high == np.inf or ahead <= 0.5 * gain):
            break
        if ahead > 0.0:
            low = stride
        else:
            high = stride
        cut = stride * min(max(gain / (gain - ahead), 0.1), 0.8)
        stride = cut if low == 0.0 else 0.5 * (low + high)
        blocked = -1
    copy_into(multipliers, trial)
    return value, by_rho


@kernel
def start_alone(search: Search, rho: float, multipliers: Floats) -> None:
    """Set the multiplier that Gaussian noise would need for one constraint: P, or the surest."""
    lowers = search.problem.lowers
    surest = 0
    for i in range(1, len(lowers)):
        if lowers[0] <= 0.5 and lowers[i] > lowers[surest]:
            surest = i
    shift = rho / search.problem.base.unit
    multipliers[surest] = math.exp(shift * (rough_normal_quantile(lowers[surest]) - 0.5 * shift))


@inlined
def general_multipliers(
    search: Search, rho: float, multipliers: Floats, rates: Floats
) -> tuple[float, float]:
    """Maximise B for any laws: damped Newton on the concave B, stopping at the kinks l_i = 0.

    Starts from `multipliers`, or from one constraint alone when they are zero, and writes the best
    multipliers there and their derivatives in rho into `rates`. Returns B and dB/drho.
    """
    count = len(search.problem.lowers)
    if inner(multipliers, multipliers) == 0.0:
        start_alone(search, rho, multipliers)
    hits, sweeps, slope = np.empty(count), np.empty(count), np.empty(count)
    curvature = np.empty((count, count))
    value, by_rho = measure(search, rho, multipliers, hits, sweeps, curvature)
    last_step, settled = np.zeros(count), False
    single = count == 2 and search.problem.lowers[0] == 0.0 and search.problem.uppers[0] == 1.0
    for _ in range(FEW_NEWTON_STEPS if single else DUAL_NEWTON_STEPS):
        slope_of(search, multipliers, hits, slope)
        step = newton_step(multipliers, slope, curvature, longest_step(multipliers))
        gain = inner(slope, step)
        if not gain > SMALLEST_GAIN:
            if same_signs(multipliers, step):
                last_step, value = step, value + 0.5 * max(gain, 0.0)
            settled = inner(slope, slope) < LARGEST_SETTLED_SLOPE * LARGEST_SETTLED_SLOPE
            break
        value, by_rho = line_search(search, rho, multipliers, step, gain, hits, sweeps, curvature)
        settled = value - cost_of(search, multipliers) > UNBOUNDED
        if settled or is_spent(search.problem):
            break
    if not settled and count > 1 and not is_spent(search.problem):
        fill(last_step, 0.0)
        if single:
            # P says nothing: its multiplier is 0, and B is concave in the other.
            multipliers[0] = 0.0
            best_alone(search, rho, multipliers, whole(1), max(abs(multipliers[1]), 1e-6))
        elif count == 2:
            scan_multipliers(search, rho, multipliers)
        else:
            sweep_multipliers(search, rho, multipliers)
        value, by_rho = measure(search, rho, multipliers, hits, sweeps, curvature)
    value -= cost_of(search, multipliers)
    for i in range(count):
        sweeps[i] *= -1.0 if multipliers[i] != 0.0 else 0.0
    copy_into(rates, newton_step(multipliers, sweeps, curvature, np.inf))
    for i in range(count):
        multipliers[i] += last_step[i]
    return value, by_rho

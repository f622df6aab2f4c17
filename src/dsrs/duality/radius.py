"""The search for the largest radius, and the proof that goes with it.

Why one evaluation at radius r proves every shorter shift too: for fixed multipliers
B(r) = const + integral of min(g(x), p(x - delta)) with g = (lambda(t) p)_+, and that integral is
the volume, summed over levels, of {g > level} intersected with a ball shifted by delta. If g
falls with |x|, both sets are balls, and the intersection of two balls shrinks as they part: B
falls with r ("solid" multipliers). It is so when no multiplier is negative, and when every
l_i w_i(t) falls with t.

For other multipliers ("hollow": the classifier is known to be wrong near the centre) B can rise
with r, and B(r) > 1/2 says nothing of shorter shifts. Then the proof is a chain: B changes by at
most the total variation of a shift, `shift_rate` times its length, so a step with margin
B - 1/2 covers the shifts down to (B - 1/2)/shift_rate below it; steps follow until the radius
that solid multipliers (Neyman-Pearson) prove.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.bound import dual_bound
from dsrs.duality.geometry import Floats
from dsrs.duality.multipliers import best_multipliers
from dsrs.duality.nodes import Problem

CERTIFIED, ABSTAINED, UNDECIDED, INFEASIBLE = 0, 1, 2, 3

CLOSE = 2e-8  # of sigma, or of the logit of B: where the search for the radius stops
MARGIN = 8e-9  # of sigma: how far below the searched radius the first proof is tried
SETTLED = 2e-7  # of sigma: a proof with less than this to gain is final
CHAIN_MARGIN = 3e-7  # of sigma: how far below the optimum a chain starts
LONGEST_CHAIN = 200
MOST_DOUBLINGS = 80


@njit(cache=True, nogil=True)
def is_solid(laws: Floats, multipliers: Floats) -> bool:
    """Whether B at one radius bounds B at every shorter one; see the top of this file."""
    negative = False
    falling = True
    for i in range(len(multipliers)):
        if multipliers[i] < 0.0:
            negative = True
        if i == 0 or multipliers[i] == 0.0:
            continue
        # w_i(t) is t^(shape - m) exp(-(rate - 1) t) on start < t <= stop.
        shape_excess = laws[i, 0] - laws[0, 0]
        rate_excess = laws[i, 0] * math.exp(laws[i, 1]) - laws[0, 0] * (1.0 - 1e-14)
        falls = shape_excess <= 0.0 and rate_excess >= 0.0 and laws[i, 3] == -np.inf
        rises = shape_excess >= 0.0 and rate_excess <= 0.0 and laws[i, 4] == np.inf
        if not (falls if multipliers[i] > 0.0 else rises):
            falling = False
    return falling or not negative


@njit(cache=True, nogil=True)
def logit(probability: float) -> float:
    """Bends B(r) into nearly a straight line, which the secant likes."""
    inside = min(max(probability, 1e-12), 1.0 - 1e-12)
    return math.log(inside / (1.0 - inside))


@njit(cache=True, nogil=True)
def exceeds_one(problem: Problem, value: float, found: Floats, rho: float) -> bool:
    """Whether a bound above 1 is real: then no classifier fits the box."""
    if value <= 1.0 + 1e-6:
        return False
    bound = dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)
    return bound > 1.0 + 1e-9


@njit(cache=True, nogil=True)
def crossing_radius(
    problem: Problem, low: float, warm: Floats, found: Floats
) -> tuple[float, float]:
    """Where the searched B falls to 1/2, from `low` upwards, and the slope of B there.

    Returns (-1, 0) when B <= 1/2 at `low` already, (-2, 0) when B exceeds 1: no classifier fits
    the box; (inf, 0) when no end was found.
    """
    unit = problem.g.unit
    value = best_multipliers(problem, low, warm, found)
    if exceeds_one(problem, value, found, low):
        return -2.0, 0.0
    f_low = logit(value)
    if not f_low > 0.0:
        return -1.0, 0.0
    high, f_high = low, f_low
    # The logit falls by about 1.65 per sigma; aim a little beyond where it would reach 0.
    rate = 1.65 / unit
    for attempt in range(MOST_DOUBLINGS):
        if f_high <= 0.0:
            break
        low, f_low = high, f_high
        high = low + max(1.05 * f_low / rate, 0.01 * unit * 2.0**attempt)
        value = best_multipliers(problem, high, warm, found)
        if exceeds_one(problem, value, found, high):
            return -2.0, 0.0
        f_high = logit(value)
        rate = min(max((f_low - f_high) / (high - low), 0.3 / unit), 4.0 / unit)
    if f_high > 0.0:
        return np.inf, 0.0
    slope = (f_low - f_high) / (high - low)
    side = 0
    for _ in range(60):
        if high - low < CLOSE * unit:
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        f_middle = logit(best_multipliers(problem, middle, warm, found))
        if abs(f_middle) < CLOSE:
            low = middle + f_middle * (high - low) / max(f_low - f_high, 1e-300)
            break
        # Anderson and Bjorck: an end that stays put loses weight.
        if f_middle > 0.0:
            if side == 1:
                weight = 1.0 - f_middle / f_low
                f_high *= weight if weight > 0.0 else 0.5
            low, f_low, side = middle, f_middle, 1
        else:
            if side == 2:
                weight = 1.0 - f_middle / f_high
                f_low *= weight if weight > 0.0 else 0.5
            high, f_high, side = middle, f_middle, 2
    return low, 0.25 * slope


@njit(cache=True, nogil=True)
def prove_at(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """Search multipliers at rho and return what they provably give."""
    best_multipliers(problem, rho, warm, found)
    return dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)


@njit(cache=True, nogil=True)
def largest_proved(
    problem: Problem, crossing: float, slope: float, floor: float, warm: Floats, found: Floats
) -> tuple[float, float]:
    """The largest radius near the searched crossing with a proof, and its dual bound.

    Steps down while the proof fails, up while it leaves more than SETTLED to gain.
    Returns (0, 0) when nothing above `floor` could be proved.
    """
    unit = problem.g.unit
    best, best_value = 0.0, 0.0
    best_found = found.copy()
    failed = np.inf
    rho = crossing - MARGIN * unit
    backward = MARGIN * unit
    for _ in range(40):
        if rho <= floor:
            break
        value = prove_at(problem, rho, warm, found)
        gain = (value - 0.5) / slope if slope > 0.0 else 0.0
        if value > 0.5:
            best, best_value = rho, value
            best_found[:] = found
            if failed < np.inf:
                ahead = min(rho + 0.9 * gain, 0.5 * (rho + failed))
            else:
                ahead = rho + 0.9 * gain
            if ahead - rho < SETTLED * unit:
                break
            rho = ahead
        else:
            failed = min(failed, rho)
            if best > 0.0:
                if failed - best < SETTLED * unit:
                    break
                rho = 0.5 * (best + failed)
            else:
                backward = max(2.0 * backward, -1.2 * gain)
                rho -= backward
    found[:] = best_found
    return best, best_value


@njit(cache=True, nogil=True)
def chain_down(problem: Problem, top: float, floor: float, warm: Floats, steps: Floats) -> int:
    """Prove every shift in [floor, top] with hollow multipliers; rows of `steps` are
    (rho, dual bound, multipliers). Returns the number of rows, 0 if the chain breaks."""
    found = np.zeros(len(problem.lowers))
    rho = top
    for n in range(len(steps)):
        value = prove_at(problem, rho, warm, found)
        margin = value - 0.5
        steps[n, 0], steps[n, 1] = rho, value
        steps[n, 2:] = found
        if not margin > 0.0:
            return 0
        # A little less than all of it, so that rounding cannot open a gap between steps.
        covered = rho - 0.999 * margin / problem.g.shift_rate
        if covered <= floor:
            return n + 1
        rho = covered
    return 0


@njit(cache=True, nogil=True)
def largest_radius(problem: Problem, floor: float, steps: Floats) -> tuple[float, int, int]:
    """The largest provable radius rho (in units of s') above `floor`, which is proved already.

    Returns (rho, status, number of proof steps written to `steps`); rho = floor and no steps
    when nothing more can be proved.
    """
    unit = problem.g.unit
    warm, found = np.zeros(3), np.zeros(len(problem.lowers))
    crossing, slope = -1.0, 0.0
    # Without a radius to start from: the smaller the shift, the worse the search is conditioned.
    for exponent in (3, 5, 7):
        start = floor if floor > 0.0 else unit * 10.0**-exponent
        crossing, slope = crossing_radius(problem, start, warm, found)
        if crossing != -1.0 or floor > 0.0:
            break
    if crossing == -2.0:
        return floor, INFEASIBLE, 0
    if crossing == -1.0:
        return floor, ABSTAINED, 0
    if not math.isfinite(crossing):
        return floor, UNDECIDED, 0
    rho, value = largest_proved(problem, crossing, slope, floor, warm, found)
    if not rho > floor:
        return floor, UNDECIDED if crossing > floor + SETTLED * unit else ABSTAINED, 0
    if is_solid(problem.laws, found):
        steps[0, 0], steps[0, 1] = rho, value
        steps[0, 2:] = found
        return rho, CERTIFIED, 1
    top = rho - CHAIN_MARGIN * unit
    count = chain_down(problem, top, floor, warm, steps) if floor > 0.0 and top > floor else 0
    return (top, CERTIFIED, count) if count > 0 else (floor, UNDECIDED, 0)

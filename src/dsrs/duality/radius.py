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
from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.multipliers import best_multipliers
from dsrs.duality.nodes import Problem, pose

CERTIFIED, ABSTAINED, UNDECIDED, INFEASIBLE = 0, 1, 2, 3

CLOSE = 1e-3  # of sigma: Newton's step to the radius with which the search stops
TINY = 1e-9  # of sigma: a bracket that holds no more
MARGIN = 1e-8  # of sigma: how far below the searched radius the first proof is tried
SETTLED = 2e-7  # of sigma: a proof with less than this to gain is final
CHAIN_MARGIN = 3e-7  # of sigma: how far below the optimum a chain starts
LONGEST_CHAIN = 2000
MOST_STEPS = 100


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
def exceeds_one(problem: Problem, value: float, found: Floats, rho: float) -> bool:
    """Whether a bound above 1 is real: then no classifier fits the box."""
    if value <= 1.0 + 1e-6:
        return False
    bound = dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)
    return bound > 1.0 + 1e-9


@njit(cache=True, nogil=True)
def to_zero(
    x: float, height: float, fall: float, other: float, other_height: float, other_fall: float
) -> float:
    """The step from x to where the height is 0: the cubic x(height) through two points and their
    slopes."""
    newton = height / fall
    rise = other_height - height
    if abs(other - x) < TINY or abs(rise) < 100.0 * abs(height) * TINY:
        return newton
    chord = (other - x) / rise
    bend = (chord + 1.0 / fall) / rise
    twist = (-1.0 / other_fall - 2.0 * chord - 1.0 / fall) / (rise * rise)
    step = newton + height * height * (bend - other_height * twist)
    return step if abs(step - newton) < abs(newton) else newton


@njit(cache=True, nogil=True)
def crossing_radius(
    problem: Problem, floor: float, start: float, warm: Floats, found: Floats
) -> tuple[float, float]:
    """Where the searched B falls to 1/2, above `floor`, and how fast it falls there.

    Newton on the logit of B from `start`, inside a bracket; `found` are the multipliers there.
    Returns (-1, 0) when B <= 1/2 down to the floor, (-2, 0) when B exceeds 1: no classifier fits
    the box; (inf, 0) when no end was found.
    """
    unit = problem.g.unit
    rates = np.zeros(len(found))
    low, high, rho = floor, np.inf, start
    last, last_height, last_fall = np.nan, 0.0, 0.0
    for attempt in range(MOST_STEPS):
        value, slope = best_multipliers(problem, rho, warm, found, rates)
        if exceeds_one(problem, value, found, rho):
            return -2.0, 0.0
        inside = min(max(value, 1e-12), 1.0 - 1e-12)
        height = math.log(inside / (1.0 - inside))
        if height > 0.0:
            low = rho
        elif rho <= floor:
            return -1.0, 0.0
        else:
            high = rho
        # The logit is nearly straight; where it is flat, at most double the shift.
        most = rho + 4.0 * unit
        fall = max(-slope / (inside * (1.0 - inside)), abs(height) / most)
        step = height / fall if height != 0.0 else 0.0
        close = abs(step) < CLOSE * unit or high - low < TINY * unit
        if close and attempt > 0:
            step = to_zero(rho, height, fall, last, last_height, last_fall)
        last, last_height, last_fall = rho, height, fall
        if not close and not low < rho + step < high:
            step = 0.5 * (low + high) - rho if high < np.inf else most
        rho += step
        for i in range(len(found)):
            # A multiplier that would change its sign on the way stays where it is.
            if found[i] * (found[i] + step * rates[i]) > 0.0:
                found[i] += step * rates[i]
        if close:
            return rho, max(-slope, 0.0)
    return (np.inf, 0.0) if high == np.inf else (-1.0, 0.0)


@njit(cache=True, nogil=True)
def prove_at(problem: Problem, rho: float, warm: Floats, found: Floats) -> float:
    """Search multipliers at rho and return what they provably give."""
    best_multipliers(problem, rho, warm, found, np.zeros(len(found)))
    return dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)


@njit(cache=True, nogil=True)
def largest_proved(
    problem: Problem, crossing: float, slope: float, floor: float, warm: Floats, found: Floats
) -> tuple[float, float]:
    """The largest radius near the searched crossing with a proof, and its dual bound.

    `found` are the multipliers at the crossing. Steps down while the proof fails, up while it
    leaves more than SETTLED to gain. Returns (0, 0) when nothing above `floor` could be proved.
    """
    unit = problem.g.unit
    best, best_value = 0.0, 0.0
    best_found = found.copy()
    failed = np.inf
    rho = crossing - MARGIN * unit
    backward = MARGIN * unit
    for attempt in range(40):
        if rho <= floor:
            # Too far down: half the way back to where the proof failed.
            if not SETTLED * unit < failed - floor < np.inf:
                break
            rho = 0.5 * (floor + failed)
        if attempt == 0:
            value = dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, found, rho)
        else:
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
def chain_down(
    problem: Problem, top: float, floor: float, warm: Floats, found: Floats, steps: Floats
) -> int:
    """Prove every shift in [floor, top] with hollow multipliers, first of all `found`; rows of
    `steps` are (rho, dual bound, multipliers). Returns the number of rows, 0 if the chain breaks.
    """
    rho, last, margin = top, found.copy(), np.inf
    for n in range(len(steps)):
        # The multipliers of the step above mostly do; search again when they gain no more.
        value = dual_bound(problem.g, problem.laws, problem.lowers, problem.uppers, last, rho)
        if not value - 0.5 > 1.02 * margin:
            found[:] = last
            searched = prove_at(problem, rho, warm, found)
            if searched > value:
                value, last[:] = searched, found
        margin = value - 0.5
        steps[n, 0], steps[n, 1] = rho, value
        steps[n, 2:] = last
        if not margin > 0.0:
            return 0
        # A little less than all of it, so that rounding cannot open a gap between steps.
        covered = rho - 0.999 * margin / problem.g.shift_rate
        if covered <= floor:
            return n + 1
        rho = covered
    return 0


@njit(cache=True, nogil=True)
def largest_radius(
    g: Geometry,
    laws: Floats,
    lowers: Floats,
    uppers: Floats,
    floor: float,
    guess: float,
    steps: Floats,
) -> tuple[float, int, int]:
    """The largest provable radius rho (in units of s') above `floor`, which is proved already.

    The search starts at `guess`, or at the floor when that is 0. Returns (rho, status, number of
    proof steps written to `steps`); rho = floor and no steps when nothing more can be proved.
    """
    problem = pose(g, laws, lowers, uppers)
    unit = g.unit
    warm, found = np.zeros((3, 3)), np.zeros(len(lowers))
    crossing, slope = -1.0, 0.0
    if guess > 0.0 or floor > 0.0:
        crossing, slope = crossing_radius(problem, floor, max(guess, floor), warm, found)
    else:
        # With no radius to start from: the smaller the shift, the worse the search is conditioned.
        for exponent in (3, 5, 7):
            start = unit * 10.0**-exponent
            crossing, slope = crossing_radius(problem, start, start, warm, found)
            if crossing != -1.0:
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
    count = 0
    if floor > 0.0 and top > floor:
        count = chain_down(problem, top, floor, warm, found, steps)
    return (top, CERTIFIED, count) if count > 0 else (floor, UNDECIDED, 0)

"""The search for the largest radius, and the proof that goes with it (docs/math.md 5).

One evaluation of B at radius r proves every shorter shift too if the positive part of g falls with
|x| ("solid" multipliers): then B falls with r. For other multipliers ("hollow") B can rise with r,
and the proof is a chain: a step with margin B - 1/2 covers the shifts below it as far as their
total variation stays within the margin; no gap is left above a radius proved already, or 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    NESTED_NODES,
    NESTED_WEIGHTS,
    Floats,
    cap,
    copy_into,
    gamma_of,
    half_square,
    log_p,
    shell_of,
)
from dsrs.duality.bound import ANGLE_ERROR, Problem, bound_on, is_simple, is_spent
from dsrs.duality.density import TAIL, Pieces, pieces_of, used_parts
from dsrs.duality.kernel import entry, inlined, kernel
from dsrs.duality.newton import general_multipliers
from dsrs.duality.signs import loss_inside
from dsrs.duality.thresholds import (
    ALONE,
    SMALL_DIMENSION,
    SPLIT,
    Search,
    alone_multipliers,
    lay_nodes,
    split_multipliers,
)

# ---- The total variation between P and P shifted: how far one step of a chain reaches
#
# For any g the integral of min(g(x), p(x - delta)) changes by at most the total variation between
# the two shifted laws, so by at most TV(h) for a step of length h along delta. The two are equally
# likely on the plane halfway, hence TV(h) = Pr[|x_1| < h/2], x_1 a coordinate of the noise
# (docs/math.md 5). It grows with h and is finite for every law, where a Lipschitz rate exists for
# smooth ones only.

VARIATION_TOLERANCE = 1e-12
SMALLEST_STEP = 1e-9  # in units of sigma


@kernel
def slab_density(problem: Problem, half_step: float, u: float) -> float:
    """Return p(u) Pr[|x_1| < half_step | shell u]."""
    h = half_square(problem.base, gamma_of(problem.base, u))
    below, above, _, _ = cap(problem.base, 2.0 * half_step, h, 0.0, 1.0)
    return (below - above) * math.exp(log_p(problem.base, u))


@entry
def total_variation(problem: Problem, step: float) -> float:
    """TV of a shift by `step`, rounded up: nested Clenshaw-Curtis, halved where it must be."""
    if step <= 0.0:
        return 0.0
    base, parts = problem.base, problem.parts
    # Shells within half the step lie in the slab as a whole: a kink, and on the safe side 1.
    lows, highs, depth = np.empty(64), np.empty(64), 1
    lows[0], highs[0] = parts.low[0], parts.high[0]
    kink = shell_of(base, 0.125 * step * step)
    if lows[0] < kink < highs[0]:
        lows[1], highs[1], depth = lows[0], kink, 2
        lows[0] = kink
    total, panels = 2.0 * TAIL, 0
    while depth > 0:
        depth -= 1
        panels += 1
        low, high = lows[depth], highs[depth]
        half, centre = 0.5 * (high - low), 0.5 * (low + high)
        coarse, fine = 0.0, 0.0
        for j in range(0, 65, 2):
            problem.work[0] += 1.0
            value = slab_density(problem, 0.5 * step, centre + half * NESTED_NODES[j])
            coarse += NESTED_WEIGHTS[2, j] * value
            fine += NESTED_WEIGHTS[3, j] * value
        missing = 2.0 * half * abs(fine - coarse)
        if missing > VARIATION_TOLERANCE + 1e-6 * half * fine and panels < 100 and depth < 62:
            lows[depth], highs[depth] = low, centre
            lows[depth + 1], highs[depth + 1] = centre, high
            depth += 2
        else:
            total += half * fine + missing
    return min(total * (1.0 + 10.0 * ANGLE_ERROR) + 1e-12, 1.0)


@inlined
def covered_step(problem: Problem, margin: float, guess: float) -> float:
    """A step whose total variation is provably below `margin`, close to the largest; 0 if none.

    TV is concave and 0 at 0, so a share of a step has at least that share of its TV: scaling down
    by the excess does not overshoot for long.
    """
    step, unit = guess, problem.base.unit
    best = 0.0
    for _ in range(12):
        variation = total_variation(problem, step)
        if variation < margin:
            best = max(best, step)
            if variation > 0.9 * margin:
                break
            step *= min(0.97 * margin / variation, 8.0)
        else:
            step *= 0.97 * margin / variation if margin > 0.0 else 0.0
            if best > step:
                break
        if step < SMALLEST_STEP * unit:
            break
    return best


# ---- The search and the proof

# Outcomes of a search.
CERTIFIED, ABSTAINED, UNDECIDED, INFEASIBLE = 0, 1, 2, 3

FINAL_NEWTON_STEP = 1e-3  # of sigma: Newton's step to the radius with which the search stops
SMALLEST_BRACKET = 1e-9  # of sigma: a bracket that holds no more
MARGIN = 1e-8  # of sigma: how far below the searched radius the first proof is tried
SETTLED = 2e-7  # of sigma: a proof with less than this to gain is final
CHAIN_MARGIN = 3e-7  # of sigma: how far below the optimum a chain starts
# A proof must exceed 1/2 by this much, so that it holds as well at the rounded radius, where other
# panels may be halved.
PROOF_SURPLUS = 1e-10
LONGEST_CHAIN = 2000
MOST_RADIUS_STEPS = 100


class Crossing(NamedTuple):
    """Where the searched B falls to the level; the numbers count only if CERTIFIED."""

    outcome: int
    rho: float
    fall: float  # -dB/drho there


class Proved(NamedTuple):
    """What was proved above a floor: CERTIFIED comes with `steps` rows of proof."""

    outcome: int
    rho: float
    steps: int
    complete: bool  # False: the work ran out before the search was finished
    solid: bool  # whether the last step covers all shorter shifts, not those above the floor only


@kernel
def best_multipliers(
    search: Search, rho: float, warm: Floats, multipliers: Floats, rates: Floats
) -> tuple[float, float]:
    """Nearly maximise B at shift rho; return that B and dB/drho.

    Writes the multipliers into `multipliers` and their derivatives in rho into `rates`.

    `warm`, three rows of zeros to begin with, carries ln lambda from one radius to the next;
    `multipliers` is where the general search starts.
    """
    if search.kind == ALONE:
        return alone_multipliers(search, rho, warm, multipliers, rates)
    if search.kind == SPLIT:
        return split_multipliers(search, rho, warm, multipliers, rates)
    return general_multipliers(search, rho, multipliers, rates)


@kernel
def loss_on(problem: Problem, pieces: Pieces, multipliers: Floats) -> float:
    """By how much at most B is lower at a shorter shift than at this one; inf if unknown."""
    if is_simple(problem, multipliers):
        return 0.0
    parts = used_parts(problem.parts, multipliers)
    if len(parts.owner) < len(problem.parts.owner):
        pieces = pieces_of(parts, 1.0)
    return loss_inside(problem.base, parts, pieces, multipliers)


@inlined
def exceeds_one(search: Search, value: float, multipliers: Floats, rho: float) -> bool:
    """Whether a bound above 1 is real: then no classifier fits the box."""
    return (
        value > 1.0 + 1e-6 and bound_on(search.problem, search.whole, multipliers, rho) > 1.0 + 1e-9
    )


@kernel
def to_zero(
    x: float, height: float, fall: float, other: float, other_height: float, other_fall: float
) -> float:
    """The step from x to where the height is 0, by the cubic x(height) through two points and their
    slopes (inverse Hermite interpolation)."""
    newton = height / fall
    rise = other_height - height
    if (
        abs(other - x) < SMALLEST_BRACKET
        or abs(rise) < 100.0 * abs(height) * SMALLEST_BRACKET
        or rise == 0.0
    ):
        return newton
    chord = (other - x) / rise
    bend = (chord + 1.0 / fall) / rise
    twist = (-1.0 / other_fall - 2.0 * chord - 1.0 / fall) / (rise * rise)
    step = newton + height * height * (bend - other_height * twist)
    return step if abs(step - newton) < abs(newton) else newton


@inlined
def crossing_radius(
    search: Search, level: float, floor: float, start: float, warm: Floats, multipliers: Floats
) -> Crossing:
    """Find where the searched B falls to `level`, above `floor`: Newton on the logit of B in a
    bracket.

    Writes the multipliers there into `multipliers`. ABSTAINED when B <= level down to the floor,
    INFEASIBLE when B exceeds 1, UNDECIDED when no end was found.
    """
    unit, base_height = search.problem.base.unit, math.log(level / (1.0 - level))
    rates = np.zeros(len(multipliers))
    low, high, rho = floor, np.inf, start
    last, last_height, last_fall = np.nan, 0.0, 0.0
    for attempt in range(MOST_RADIUS_STEPS):
        value, slope = best_multipliers(search, rho, warm, multipliers, rates)
        if exceeds_one(search, value, multipliers, rho):
            return Crossing(INFEASIBLE, 0.0, 0.0)
        inside = min(max(value, 1e-12), 1.0 - 1e-12)
        height = math.log(inside / (1.0 - inside)) - base_height
        if height > 0.0:
            low = rho
        elif rho <= floor:
            # In few dimensions the nodes of the search are coarse: ask the trusted bound.
            above = floor + SETTLED * unit
            few = search.problem.base.d < SMALL_DIMENSION
            if (
                few
                and bound_on(search.problem, search.whole, multipliers, above)
                > level + PROOF_SURPLUS
            ):
                return Crossing(CERTIFIED, above + MARGIN * unit, max(-slope, 0.0))
            return Crossing(ABSTAINED, 0.0, 0.0)
        else:
            high = rho
        # The logit is nearly straight; where it is flat, at most double the shift.
        most = rho + 4.0 * unit
        fall = max(-slope / (inside * (1.0 - inside)), abs(height) / most, 1e-300)
        step = height / fall
        close = abs(step) < FINAL_NEWTON_STEP * unit or high - low < SMALLEST_BRACKET * unit
        if close and attempt > 0:
            step = to_zero(rho, height, fall, last, last_height, last_fall)
        last, last_height, last_fall = rho, height, fall
        if not close and not low < rho + step < high:
            step = 0.5 * (low + high) - rho if high < np.inf else most
        rho += step
        for i in range(len(multipliers)):
            # A multiplier that would change its sign on the way stays where it is.
            if multipliers[i] * (multipliers[i] + step * rates[i]) > 0.0:
                multipliers[i] += step * rates[i]
        if close:
            return Crossing(CERTIFIED, rho, max(-slope, 0.0))
        if is_spent(search.problem):
            return Crossing(CERTIFIED, low, max(-slope, 0.0))
    return Crossing(UNDECIDED if high == np.inf else ABSTAINED, 0.0, 0.0)


@inlined
def prove_at(search: Search, rho: float, warm: Floats, multipliers: Floats) -> float:
    """Search multipliers at rho and return what they provably give."""
    best_multipliers(search, rho, warm, multipliers, np.zeros(len(multipliers)))
    return bound_on(search.problem, search.whole, multipliers, rho)


@inlined
def largest_proved(
    search: Search,
    crossing: Crossing,
    level: float,
    floor: float,
    warm: Floats,
    multipliers: Floats,
) -> tuple[float, float]:
    """The largest radius near the searched crossing with a proof, and its dual bound.

    `multipliers` are the multipliers at the crossing. Steps down while the proof fails, up while it
    leaves more than SETTLED to gain. Returns (0, 0) when nothing above `floor` could be proved.
    """
    unit, slope = search.problem.base.unit, crossing.fall
    best, best_value = 0.0, 0.0
    best_found = multipliers.copy()
    failed = np.inf
    rho = crossing.rho - MARGIN * unit
    backward = MARGIN * unit
    for attempt in range(40):
        if rho <= floor:
            # Too far down: half the way back to where the proof failed.
            if not SETTLED * unit < failed - floor < np.inf:
                break
            rho = 0.5 * (floor + failed)
        if attempt == 0:
            value = bound_on(search.problem, search.whole, multipliers, rho)
        else:
            value = prove_at(search, rho, warm, multipliers)
        gain = (value - level) / slope if slope > 0.0 else 0.0
        if value > level + PROOF_SURPLUS:
            best, best_value = rho, value
            copy_into(best_found, multipliers)
            if failed < np.inf:
                ahead = min(rho + 0.9 * gain, 0.5 * (rho + failed))
            else:
                ahead = rho + 0.9 * gain
            if ahead - rho < SETTLED * unit or is_spent(search.problem):
                break
            rho = ahead
        else:
            failed = min(failed, rho)
            if best > 0.0:
                if failed - best < SETTLED * unit:
                    break
                rho = 0.5 * (best + failed)
            else:
                backward = max(2.0 * backward, min(-1.2 * gain, 0.5 * rho))
                rho -= backward
            if is_spent(search.problem) and attempt > 20:
                break
    copy_into(multipliers, best_found)
    return best, best_value


@kernel
def write_step(steps: Floats, n: int, rho: float, value: float, multipliers: Floats) -> None:
    """Write row n of a proof."""
    steps[n, 0], steps[n, 1] = rho, value
    for i in range(len(multipliers)):
        steps[n, 2 + i] = multipliers[i]


@inlined
def chain_down(
    search: Search,
    level: float,
    top: float,
    floor: float,
    warm: Floats,
    multipliers: Floats,
    steps: Floats,
) -> int:
    """Prove every shift in [floor, top] with hollow multipliers, beginning with `multipliers`.

    Rows of `steps` are (rho, dual bound, multipliers). Returns the number of rows, 0 if the chain
    breaks.
    """
    problem = search.problem
    rho, last, margin, reach = top, multipliers.copy(), np.inf, 0.01 * problem.base.unit
    for n in range(len(steps)):
        # The multipliers of the step above mostly do; search again when they gain no more.
        value = bound_on(problem, search.whole, last, rho)
        if not value - level > 1.02 * margin:
            copy_into(multipliers, last)
            searched = prove_at(search, rho, warm, multipliers)
            if searched > value:
                value = searched
                copy_into(last, multipliers)
        margin = value - level - PROOF_SURPLUS
        write_step(steps, n, rho, value, last)
        if not margin > 0.0 or is_spent(problem):
            return 0
        # A little less than all of it, so that rounding cannot open a gap between steps.
        reach = covered_step(problem, 0.999 * margin, max(reach, 1e-6 * problem.base.unit))
        if reach == 0.0:
            return 0
        if rho - reach <= floor or margin > loss_on(problem, search.whole, last):
            return n + 1
        rho -= reach
    return 0


@entry
def loss_at_shorter_shifts(problem: Problem, multipliers: Floats) -> float:
    """By how much at most B is lower at a shorter shift than at this one; inf if unknown."""
    return loss_on(problem, pieces_of(problem.parts, 1.0), multipliers)


@entry
def largest_radius(
    problem: Problem, level: float, floor: float, guess: float, start: Floats, steps: Floats
) -> Proved:
    """The largest radius (in units of the law's scale) above `floor` with B > level.

    Shifts up to the floor are proved already. The search starts at `guess`, or at the floor when
    that is 0, with the multipliers `start`.
    Rows of proof are written to `steps`.
    """
    search = lay_nodes(problem)
    unit = problem.base.unit
    warm, multipliers = np.zeros((3, 3)), start.copy()
    known = guess > 0.0 or floor > 0.0
    lowest, first = floor, max(guess, floor)
    crossing = Crossing(ABSTAINED, 0.0, 0.0)
    for exponent in (3, 5, 7):
        if not known:
            # No radius to start from: the smaller the shift, the worse the search is conditioned.
            lowest = first = unit * 10.0**-exponent
        crossing = crossing_radius(search, level, lowest, first, warm, multipliers)
        if known or crossing.outcome != ABSTAINED:
            break
    if crossing.outcome != CERTIFIED:
        return Proved(crossing.outcome, floor, 0, not is_spent(problem), False)
    rho, value = largest_proved(search, crossing, level, floor, warm, multipliers)
    if not rho > floor:
        near = crossing.rho <= floor + SETTLED * unit
        outcome = ABSTAINED if near else UNDECIDED
        return Proved(outcome, floor, 0, not is_spent(problem), False)
    if value - level - 0.5 * PROOF_SURPLUS > loss_on(problem, search.whole, multipliers):
        write_step(steps, 0, rho, value, multipliers)
        return Proved(CERTIFIED, rho, 1, not is_spent(problem), True)
    top, count = rho - CHAIN_MARGIN * unit, 0
    if top > floor:
        count = chain_down(search, level, top, floor, warm, multipliers, steps)
    if count == 0:
        return Proved(UNDECIDED, floor, 0, not is_spent(problem), False)
    copy_into(multipliers, steps[count - 1, 2:])
    margin = steps[count - 1, 1] - level - PROOF_SURPLUS
    solid = bool(margin > loss_on(problem, search.whole, multipliers))
    return Proved(CERTIFIED, top, count, not is_spent(problem), solid)

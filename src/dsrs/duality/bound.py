"""The dual bound B, evaluated from below: the only numbers of this package that are trusted.

For any multipliers l (one for P, one for each additional law) weak duality gives

    p_true(x0 + delta) >= B(l) = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i)

with g = sum_i l_i q_i, the density that the multipliers put on x, and X_i the lower end of
interval i where l_i > 0 and the upper end where l_i < 0 (docs/math.md 2). Nothing cancels in this
form, however large the multipliers: near the optimum both parts are at most 1. Let R be where
g(x) > p(x - delta), that is v > V(u) (base.py). Then

    integral of min = g(outside R) + P(x - delta in R),

and both are integrals along the curve v = V(u), with the laws of the cosines in closed form: the
first has the shells of x outside, the second those of y. For the second, Green's theorem turns

    double integral over R of p(v) dC(v, u)/du,  C(v, u) = Pr[x within shell u | y on shell v]

into the integral of p(V) C(V, u) dV along the curve; where the curve jumps, it runs along the
line u = const (docs/math.md 3).

`dual_bound` subtracts the quadrature's estimate of its own error, a flat charge for what such an
estimate cannot see, and an allowance for rounding. The estimate is not a proof: `dsrs.audit` and
the tests compare it with enclosures and with patient bisection.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    Base,
    Floats,
    cap,
    crossing,
    curve_speed,
    gamma_of,
    half_square,
    line_cuts,
    log_p,
    moved,
    within_line,
)
from dsrs.duality.curve import KINKED_DIMENSION, jumps, strips
from dsrs.duality.density import (
    TAIL,
    Components,
    Integers,
    Pieces,
    active_on,
    density_at,
    pieces_of,
)
from dsrs.duality.kernel import entry, inlined, kernel
from dsrs.duality.rules import NESTED_NODES, NESTED_WEIGHTS, nested_error
from dsrs.duality.two_terms import UNSURE

# Relative rounding of sums of a few hundred terms, of SciPy's Gamma functions (about 1e-14) and of
# the exponents, |u| < 10/sqrt(shape), with a factor of 5 to spare.
ROUNDING, EXPONENT_ROUNDING = 1e-13, 1e-14
# Of the tabled law of the angle: relative, and absolute in few dimensions and many.
ANGLE_ERROR, ANGLE_UNDERFLOW_FEW, ANGLE_UNDERFLOW = 1e-10, 1e-19, 1e-26
TOLERANCE = 1e-11
# A kink between two nodes can hide from any estimate a part of the panel's share of the tolerance:
# twenty times the tolerance is subtracted whatever the estimate.
HIDDEN = 2e-10
PANEL_WIDTH = 16.0  # in standard deviations of ln t
NARROW = 2.0  # panels no wider start with 17 nodes
MOST_PANELS = 400
THINNING = 12.0  # strips towards where g vanishes
NOTHING = -34.0  # log-density of a tail that is not worth its integration
LARGEST_MULTIPLIER = 1e200
SMALLEST_SHIFT, LARGEST_SHIFT = 1e-150, 1e150  # in units of the law's scale


class Problem(NamedTuple):
    """The laws and the box of one input. Constraint 0 is P."""

    base: Base
    parts: Components
    falls: Floats  # of each constraint, whether its law falls with |x| (1) or not (0)
    lowers: Floats
    uppers: Floats
    work: Floats  # integrands evaluated so far, and how many a search may evaluate


class Part(NamedTuple):
    """An integral, the estimate of its error, and what is to be multiplied by `rounding_of`."""

    value: float
    error: float
    slack: float


@kernel
def is_spent(problem: Problem) -> bool:
    """Whether the search has used up its work. Work is counted, so that results can be repeated."""
    return bool(problem.work[0] > problem.work[1])


@kernel
def rounding_of(parts: Components) -> float:
    """The relative rounding of one term of g."""
    return ROUNDING + EXPONENT_ROUNDING * parts.sharpness


@inlined
def curve_integrand(
    base: Base, parts: Components, active: Integers, multipliers: Floats, rho: float, u: float
) -> tuple[float, float]:
    """g outside R on shell u, plus p(V) C(V, u) dV; and what, times `rounding_of`, may be wrong."""
    density, slope, gross = density_at(parts, active, multipliers, u)
    if density <= 0.0:
        return density, gross
    value, slack, a, a_slope = 0.0, 0.0, np.inf, 0.0
    t = gamma_of(base, u)
    if density < np.inf:
        a, a_slope = math.log(density) - log_p(base, u), slope / density - (base.m - t)
    e, growth = crossing(base, t, a)
    h = half_square(base, t)
    climb, h_moved = moved(base, h, e, growth)
    _, outside, _, _ = cap(base, rho, h, climb, 1.0)
    if outside > 0.0 and density < np.inf:
        value = density * outside
        slack = gross * outside + value * (ANGLE_ERROR / rounding_of(parts))
    if e > -np.inf:
        arriving = math.exp(log_p(base, u + e))
        if arriving > 0.0:
            within, _, _, _ = cap(base, rho, h_moved, climb, -1.0)
            value += arriving * within * curve_speed(base, t, growth, a_slope)
    return value, slack


@inlined
def line_integrand(base: Base, rho: float, line: float, v: float) -> float:
    """p(v) C(v, line)."""
    return within_line(base, rho, line, v)[0] * math.exp(log_p(base, v))


@kernel
def integrate(
    problem: Problem,
    active: Integers,
    multipliers: Floats,
    rho: float,
    line: float,
    low: float,
    high: float,
) -> Part:
    """Integral along the curve over u in [low, high] (line = inf), or along a line over v.

    A panel takes more nodes, and then is bisected, until it meets its share of the tolerance. What
    still misses it after `MOST_PANELS` is added to the error.
    """
    base, parts = problem.base, problem.parts
    lows, highs = np.empty(80), np.empty(80)
    depth, start, width = 0, low, PANEL_WIDTH / parts.sharpness
    while start < high:
        # Panels so wide that 65 nodes would hardly do are cut at once, best at the peak of P.
        stop = high
        if high - start > width and depth < 16:
            stop = 0.0 if start < 0.0 < high else start + width
            stop = min(stop, start + width)
        lows[depth], highs[depth] = start, stop
        depth += 1
        start = stop
    values, slacks = np.zeros(65), np.zeros(65)
    panels = 0
    total, error, slack = 0.0, 0.0, 0.0
    while depth > 0:
        depth -= 1
        panels += 1
        a, b = lows[depth], highs[depth]
        half, centre = 0.5 * (b - a), 0.5 * (a + b)
        share = TOLERANCE * max((b - a) / (high - low), 0.02)
        first = 2 if (b - a) * parts.sharpness < NARROW and line == np.inf else 3
        missing, fine, stride, level = np.inf, 0.0, 1, first
        for level in range(first, 5):
            # 17 or 33 nodes, and if they do not suffice those between them.
            stride = 1 << (4 - level)
            step = stride if level == first else 2 * stride
            for j in range(0 if level == first else stride, 65, step):
                problem.work[0] += 1.0
                u = centre + half * NESTED_NODES[j]
                if line == np.inf:
                    values[j], slacks[j] = curve_integrand(base, parts, active, multipliers, rho, u)
                else:
                    values[j] = line_integrand(base, rho, line, u)
            coarse, middle, fine, size = 0.0, 0.0, 0.0, 0.0
            for j in range(0, 65, stride):
                coarse += NESTED_WEIGHTS[level - 2, j] * values[j]
                middle += NESTED_WEIGHTS[level - 1, j] * values[j]
                fine += NESTED_WEIGHTS[level, j] * values[j]
                size += NESTED_WEIGHTS[level, j] * abs(values[j])
            missing = half * nested_error(coarse, middle, fine)
            if level < 4:
                # Few nodes can agree by accident: believe them only if still fewer nearly do.
                surprise = (middle - coarse) ** 2 / max(size, 1e-300)
                missing = half * max(2.0 * abs(fine - middle), surprise)
            if missing <= share:
                break
        if missing > share and panels < MOST_PANELS and depth < 78 and half > 1e-14:
            lows[depth], highs[depth] = a, centre
            lows[depth + 1], highs[depth + 1] = centre, b
            depth += 2
        else:
            total += half * fine
            error += missing
            for j in range(0, 65, stride):
                slack += half * NESTED_WEIGHTS[level, j] * slacks[j]
    return Part(total, error, slack)


@inlined
def line_part(problem: Problem, rho: float, line: float, start: float, stop: float) -> Part:
    """Integral of p(v) C(v, line) from v = start to stop."""
    base, parts = problem.base, problem.parts
    start = min(max(start, parts.low[0]), parts.high[0])
    stop = min(max(stop, parts.low[0]), parts.high[0])
    # The integrand is never negative: what is left of the outer tail may be dropped.
    if start == stop or (0.0 < start < stop and log_p(base, start) < NOTHING):
        return Part(0.0, 0.0, 0.0)
    if abs(stop - start) * parts.sharpness < 1e-12:
        # Where two components meet the curve jumps by rounding only.
        return Part(0.0, abs(stop - start) * parts.sharpness, 0.0)
    low, high = min(start, stop), max(start, stop)
    total, error = 0.0, 0.0
    none = np.empty(0, dtype=np.int64)
    first, second = line_cuts(base, rho, line)
    for cut in (first, second, high):
        end = min(cut, high)
        if end > low:
            part = integrate(problem, none, problem.lowers, rho, line, low, end)
            total += part.value
            error += part.error
            low = end
    return Part(total if start < stop else -total, error, 0.0)


@inlined
def overlap(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> Part:
    """Integral of min(g(x), p(x - delta)).

    Shells outside all strips are left out: there min(g, p) is at least the negative part of g.
    """
    base, parts = problem.base, problem.parts
    edge = 1.0 if base.d < KINKED_DIMENSION else 0.0
    noise = rounding_of(parts)
    along = strips(base, parts, pieces, multipliers, rho, THINNING, edge, noise, problem.work)
    if not along.settled:
        return Part(-np.inf, 0.0, 0.0)
    total, error, slack = 0.0, along.charge, 0.0
    for j in range(len(along.ends)):
        if along.sign[j] == UNSURE:
            continue
        active = active_on(parts, pieces, int(along.piece[j]), multipliers)
        low, high = along.ends[j, 0], along.ends[j, 1]
        if len(active) > 0:
            part = integrate(problem, active, multipliers, rho, np.inf, low, high)
            total += part.value
            error += part.error
            slack += part.slack
    for line, start, stop in jumps(along.ends):
        part = line_part(problem, rho, line, start, stop)
        total += part.value
        error += part.error
    return Part(total, error, slack)


@kernel
def chosen_ends(problem: Problem, multipliers: Floats) -> Floats:
    """X_i: the end of each interval that is worst for the sign of its multiplier."""
    ends = np.empty(len(multipliers))
    for i in range(len(multipliers)):
        ends[i] = problem.lowers[i] if multipliers[i] > 0.0 else problem.uppers[i]
    return ends


@kernel
def bound_on(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    if not SMALLEST_SHIFT <= rho <= LARGEST_SHIFT:
        return -np.inf
    for i in range(len(multipliers)):
        if not (
            abs(multipliers[i]) <= LARGEST_MULTIPLIER
            or (multipliers[i] == np.inf and problem.lowers[i] == 1.0)
        ):
            return -np.inf
    parts = problem.parts
    ends = chosen_ends(problem, multipliers)
    part = overlap(problem, pieces, multipliers, rho)
    value, error, scale = part.value, part.error, 1.0 + part.slack
    few = problem.base.d < KINKED_DIMENSION
    underflow = ANGLE_UNDERFLOW_FEW if few else ANGLE_UNDERFLOW
    simple = True
    for i in range(len(multipliers)):
        simple = (
            simple and multipliers[i] >= 0.0 and (multipliers[i] == 0.0 or problem.falls[i] == 1.0)
        )
    for i in range(len(multipliers)):
        size = abs(multipliers[i])
        if ends[i] != 1.0 and size > 0.0:
            value -= multipliers[i] * (1.0 - ends[i])
            scale += size * (1.0 - ends[i])
        if size < np.inf:
            # Tails left out only raise B if g >= 0; else twice their mass is due (docs/math.md 5).
            error += size * (underflow if simple else underflow + 4.0 * TAIL)
    error += HIDDEN + rounding_of(parts) * scale
    found = value - error
    # Compiled code divides by 0 without an error: nothing is made of infinity or NaN.
    return found if abs(found) < np.inf else -np.inf


@entry
def dual_bound(problem: Problem, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    return bound_on(problem, pieces_of(problem.parts, 1.0), multipliers, rho)

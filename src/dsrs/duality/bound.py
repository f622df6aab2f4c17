"""The dual bound B, evaluated from below: the only numbers of this package that are trusted.

For any multipliers l (one for P, one for each additional law) weak duality gives

    p_true(x0 + delta) >= B(l) = sum_i l_i X_i - E_P[(lambda(t) - LR)_+]

with lambda(t) = sum_i l_i w_i(t) and X_i the lower end of interval i where l_i > 0 and the upper
end where l_i < 0 (MATH 3). With g = sum_i l_i q_i, the density that the multipliers put on x, and
(g - p)_+ = g - min(g, p), the same number is

    B(l) = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i).

Nothing cancels in this form, however large the multipliers: near the optimum both parts are at
most 1. Let R be where g(x) > p(x - delta), that is s > S(t) (see shell.py). Then

    integral of min = g(outside R) + P(x - delta in R),

and both are integrals along the curve s = S(t), with the laws of the cosines in closed form: the
first has the shells of x outside, the second those of y. For the second, Green's theorem turns

    double integral over R of p(s) dC(s, t)/dt,  C(s, t) = Pr[x within shell t | y on shell s]

into the integral of p(S) C(S, t) dS along the curve; where the curve jumps, at a cut of a law,
it runs along the line t = const.

`dual_bound` returns a number that is at most B: the quadrature's own error bound and an allowance
for rounding are subtracted.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.curve import KINKED_DIMENSION, active_on, density_on, jumps, strips
from dsrs.duality.geometry import TAIL, Floats, Geometry
from dsrs.duality.rules import NESTED_NODES, NESTED_WEIGHTS, nested_error
from dsrs.duality.shell import (
    cap,
    crossing,
    line_cuts,
    log_shell_density,
    sharpness,
    shell_pieces,
)

# Relative rounding of sums of a few hundred terms, of SciPy's Gamma functions (about 1e-14) and of
# the exponent shape (u - expm1 u), |u| < 10/sqrt(shape), with a factor of 5 to spare.
ROUNDING, EXPONENT_ROUNDING = 1e-13, 1e-14
# Of the tabled law of the angle: relative, and absolute in few dimensions and many.
ANGLE_ERROR, ANGLE_UNDERFLOW_FEW, ANGLE_UNDERFLOW = 1e-10, 1e-19, 1e-26
TOLERANCE = 1e-11
# A kink between two nodes can hide from any estimate a part of the panel's share of the tolerance:
# twenty times the tolerance is subtracted whatever the estimate.
HIDDEN = 2e-10
PANEL_WIDTH = 16.0  # in standard deviations of ln t
MOST_PANELS = 400
THINNING = 12  # strips towards where g vanishes
NOTHING = -34.0  # log-density of a tail that is not worth its integration
STEEP = 8.0  # standard deviations of a cosine beyond which a line is cut
CURVE = np.inf  # in place of the u of a line


@njit(cache=True, nogil=True)
def curve_integrand(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, u: float
) -> tuple[float, float]:
    """g outside R on shell u, plus p(S) C(S, t) dS; and what, times ROUNDING, may be wrong."""
    density, slope, gross, log_p = density_on(laws, multipliers, u)
    if density <= 0.0:
        return density, gross
    t = g.m * math.exp(u)
    a = math.log(density) - log_p
    climb, s, shift = crossing(g.k, t, a)
    _, outside, _, _ = cap(g, rho, t, climb, 1.0)
    value, slack = 0.0, 0.0
    if outside > 0.0:
        value = density * outside
        slack = gross * outside + value * (ANGLE_ERROR / ROUNDING)
    moved = math.exp(log_shell_density(laws, 0, u + shift)) if s > 0.0 else 0.0
    if moved > 0.0:
        within, _, _, _ = cap(g, rho, s, climb, -1.0)
        # dv/du from s + k ln s = t + k ln t - a.
        a_slope = slope / density - (g.m - t)
        value += moved * within * (t + g.k - a_slope) / (s + g.k)
    return value, slack


@njit(cache=True, nogil=True)
def line_integrand(g: Geometry, laws: Floats, rho: float, line: float, v: float) -> float:
    """p(v) C(v, line)."""
    s = g.m * math.exp(v)
    within, _, _, _ = cap(g, rho, s, s * math.expm1(line - v), -1.0)
    return within * math.exp(log_shell_density(laws, 0, v))


@njit(cache=True, nogil=True)
def integrate(
    g: Geometry,
    laws: Floats,
    multipliers: Floats,
    rho: float,
    line: float,
    low: float,
    high: float,
) -> tuple[float, float, float]:
    """Integral of one of the integrands, its error bound, and that of the slack.

    A panel takes more nodes, and then is bisected, until it meets its share of the tolerance. What
    still misses it after `MOST_PANELS` is added to the error, so the bound stays true.
    """
    lows, highs = np.empty(80), np.empty(80)
    depth, sharp = 0, sharpness(laws)
    start = low
    while start < high:
        # Panels so wide that 65 nodes would hardly do are cut at once, best at the peak of P.
        stop = high
        if (high - start) * sharp > PANEL_WIDTH and depth < 16:
            stop = 0.0 if start < 0.0 < high else start + PANEL_WIDTH / sharp
            stop = min(stop, start + PANEL_WIDTH / sharp)
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
        missing, stride = np.inf, 2
        for level in range(2, 4):
            # 33 nodes, and if they do not suffice the 32 between them.
            for j in range(0 if level == 2 else 1, 65, 2):
                u = centre + half * NESTED_NODES[j]
                if line == CURVE:
                    values[j], slacks[j] = curve_integrand(g, laws, multipliers, rho, u)
                else:
                    values[j] = line_integrand(g, laws, rho, line, u)
            stride = 4 - level
            coarse, middle, fine, size = 0.0, 0.0, 0.0, 0.0
            for j in range(0, 65, stride):
                coarse += NESTED_WEIGHTS[level - 2, j] * values[j]
                middle += NESTED_WEIGHTS[level - 1, j] * values[j]
                fine += NESTED_WEIGHTS[level, j] * values[j]
                size += NESTED_WEIGHTS[level, j] * abs(values[j])
            missing = half * nested_error(coarse, middle, fine)
            if level == 2:
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
    return total, error, slack


@njit(cache=True, nogil=True)
def line_part(
    g: Geometry, laws: Floats, rho: float, line: float, start: float, stop: float
) -> tuple[float, float]:
    """Integral of p(v) C(v, line) from v = start to stop, and its error bound."""
    start = min(max(start, laws[0, 5]), laws[0, 6])
    stop = min(max(stop, laws[0, 5]), laws[0, 6])
    # The integrand is never negative: what is left of the outer tail may be dropped.
    if start == stop or (0.0 < start < stop and log_shell_density(laws, 0, start) < NOTHING):
        return 0.0, 0.0
    low, high = min(start, stop), max(start, stop)
    total, error = 0.0, 0.0
    for cut in (*line_cuts(g, rho, line, STEEP), high):
        end = min(cut, high)
        if end > low:
            value, missing, _ = integrate(g, laws, laws[0], rho, line, low, end)
            total += value
            error += missing
            low = end
    return total if start < stop else -total, error


@njit(cache=True, nogil=True)
def overlap(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float
) -> tuple[float, float, float]:
    """Integral of min(g(x), p(x - delta)), its error bound, and the slack.

    Shells outside all strips are left out: there min(g, p) is at least the negative part of g.
    """
    edge = 1.0 if g.d < KINKED_DIMENSION else 0.0
    parts = strips(g, laws, shell_pieces(laws), multipliers, rho, THINNING, edge)
    total, error, slack = 0.0, 0.0, 0.0
    for j in range(len(parts)):
        low, high = parts[j, :2]
        active = active_on(laws, multipliers, low, high)
        value, missing, part = integrate(g, laws, active, rho, CURVE, low, high)
        total += value
        error += missing
        slack += part
    for line, start, stop in jumps(parts):
        value, missing = line_part(g, laws, rho, line, start, stop)
        total += value
        error += missing
    return total, error, slack


@njit(cache=True, nogil=True)
def chosen_ends(lowers: Floats, uppers: Floats, multipliers: Floats) -> Floats:
    """X_i: the end of each interval that is worst for the sign of its multiplier."""
    ends = np.empty(len(multipliers))
    for i in range(len(multipliers)):
        ends[i] = lowers[i] if multipliers[i] > 0.0 else uppers[i]
    return ends


@njit(cache=True, nogil=True)
def dual_bound(
    g: Geometry, laws: Floats, lowers: Floats, uppers: Floats, multipliers: Floats, rho: float
) -> float:
    """A number that is at most B(multipliers) at shift rho (in units of s')."""
    ends = chosen_ends(lowers, uppers, multipliers)
    value, error, slack = overlap(g, laws, multipliers, rho)
    scale = 1.0 + slack
    underflow = ANGLE_UNDERFLOW_FEW if g.d < KINKED_DIMENSION else ANGLE_UNDERFLOW
    for i in range(len(multipliers)):
        if ends[i] != 1.0:
            value -= multipliers[i] * (1.0 - ends[i])
            scale += abs(multipliers[i]) * (1.0 - ends[i])
        if multipliers[i] < 0.0:
            error -= multipliers[i] * 2.0 * TAIL
        if multipliers[i] < np.inf:
            error += abs(multipliers[i]) * underflow
    error += HIDDEN
    error += (ROUNDING + EXPONENT_ROUNDING * sharpness(laws)) * scale
    return value - error

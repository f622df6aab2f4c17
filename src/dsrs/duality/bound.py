"""The dual bound B, evaluated from below: the only numbers of this package that are trusted.

For any multipliers l (one for P, one for each additional law) weak duality gives

    p_true(x0 + delta) >= B(l) = sum_i l_i X_i - E_P[(lambda(t) - LR)_+]

with lambda(t) = sum_i l_i w_i(t) and X_i the lower end of interval i where l_i > 0 and the upper
end where l_i < 0 (MATH 3).
`dual_bound` returns a number that is at most B: the quadrature's own error bound and an
allowance for rounding are subtracted.

Two forms of the same number. The direct one integrates (lambda - LR)_+ over shells. When the
multipliers are large (Q_A near 1) it would drown in cancellation; then, on a ball S of shells,

    E_P[(lambda - LR)_+ ; S] = sum_i l_i Q_i(S) - E_{y ~ P}[min(1, lambda(t) / LR) ; t in S],

where t is the shell of x = y + delta and lambda >= 0 on S. The last expectation lives where y
does, and is in [0, 1].
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.rules import (
    NESTED_COARSE,
    NESTED_FINE,
    NESTED_MIDDLE,
    NESTED_NODES,
    kinked_error,
)
from dsrs.duality.shell import angle_density, log_shell_density, shell_pieces, shortfall

# Relative rounding of sums of a few thousand terms and of SciPy's Gamma functions (about 1e-14)
# and the angles left out (2e-15), with a factor of 10 to spare.
ROUNDING = 1e-13
TOLERANCE = 1e-9
# Multipliers beyond this use the complementary form; ROUNDING times it is far below the
# 1e-6 sigma to which radii are exact.
LARGE = 1e5
MOST_PANELS = 400
DIRECT = 2.0  # in place of a sine


@njit(cache=True, nogil=True)
def threshold_mass(laws: Floats, multipliers: Floats, u: float) -> float:
    """lambda(t) p(t) in u: sum_i l_i q_i(u)."""
    total = 0.0
    for i in range(len(multipliers)):
        if multipliers[i] != 0.0:
            density = math.exp(log_shell_density(laws, i, u))
            if density > 0.0:
                total += multipliers[i] * density
    return total


@njit(cache=True, nogil=True)
def direct_integrand(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, u: float
) -> tuple[float, float]:
    """p(u) Phi_t(lambda(t)), with its error bound."""
    mass = threshold_mass(laws, multipliers, u)
    if mass <= 0.0:
        return 0.0, 0.0
    a = math.log(mass) - log_shell_density(laws, 0, u)
    value, error = shortfall(g, rho, g.m * math.exp(u), a)
    return mass * value, mass * error


@njit(cache=True, nogil=True)
def complement_integrand(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, sine: float, u: float
) -> float:
    """p(u) min(1, lambda(t)/LR) for y on shell u, where `sine` is its cosine with delta."""
    v = g.m * math.exp(u)
    rise = 0.5 * rho * rho + rho * math.sqrt(2.0 * v) * sine
    t = v + rise
    if t <= 0.0:
        return 0.0
    shell = math.log(t / g.m)
    mass = threshold_mass(laws, multipliers, shell)
    if mass <= 0.0:
        return 0.0
    log_lambda = math.log(mass) - log_shell_density(laws, 0, shell)
    exponent = log_lambda - g.k * math.log1p(rise / v) - rise
    return math.exp(log_shell_density(laws, 0, u) + min(exponent, 0.0))


@njit(cache=True, nogil=True)
def integrate_shells(
    g: Geometry,
    laws: Floats,
    multipliers: Floats,
    rho: float,
    form: float,
    low: float,
    high: float,
    tolerance: float,
) -> tuple[float, float]:
    """Integral over shells u of the direct or complementary integrand, and its error bound.

    `form` is DIRECT, or the sine of the angle for the complementary one.

    Bisects panels until each meets its share of the tolerance. What still misses it after
    `MOST_PANELS` is added to the error, so the bound stays true.
    """
    lows = np.empty(64)
    highs = np.empty(64)
    lows[0], highs[0] = low, high
    depth, panels = 1, 0
    total, error = 0.0, 0.0
    while depth > 0:
        depth -= 1
        a, b = lows[depth], highs[depth]
        half, centre = 0.5 * (b - a), 0.5 * (a + b)
        fine, middle, coarse, inner = 0.0, 0.0, 0.0, 0.0
        for j in range(65):
            u = centre + half * NESTED_NODES[j]
            if form == DIRECT:
                value, uncertainty = direct_integrand(g, laws, multipliers, rho, u)
            else:
                value = complement_integrand(g, laws, multipliers, rho, form, u)
                uncertainty = 0.0
            fine += NESTED_FINE[j] * value
            inner += NESTED_FINE[j] * uncertainty
            if j % 2 == 0:
                middle += NESTED_MIDDLE[j // 2] * value
            if j % 4 == 0:
                coarse += NESTED_COARSE[j // 4] * value
        panels += 1
        # min(1, lambda/LR) has a kink inside: there the last difference itself is the bound.
        missing = half * (
            kinked_error(coarse, middle, fine) if form == DIRECT else abs(fine - middle)
        )
        share = tolerance * max((b - a) / (high - low), 0.02)
        if missing > share and panels < MOST_PANELS and depth < 62 and half > 1e-14:
            lows[depth], highs[depth] = a, centre
            lows[depth + 1], highs[depth + 1] = centre, b
            depth += 2
        else:
            total += half * fine
            error += missing + half * inner
    return total, error


@njit(cache=True, nogil=True)
def direct_part(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, above: float
) -> tuple[float, float]:
    """E_P[(lambda - LR)_+] over shells u > above, and its error bound."""
    # Inside a piece every law is either whole or absent, so the cuts themselves need no test.
    uncut = laws.copy()
    uncut[:, 3], uncut[:, 4] = -np.inf, np.inf
    value, error = 0.0, 0.0
    pieces = shell_pieces(laws)
    for j in range(len(pieces)):
        low, high = pieces[j]
        if low < above:
            continue
        present = multipliers.copy()
        for i in range(len(laws)):
            if high <= laws[i, 3] or low >= laws[i, 4]:
                present[i] = 0.0
        if np.any(present > 0.0):
            part, missing = integrate_shells(g, uncut, present, rho, DIRECT, low, high, TOLERANCE)
            value += part
            error += missing
    return value, error


@njit(cache=True, nogil=True)
def complement_at(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, ball: float, angle: float
) -> tuple[float, float]:
    """Density of the angle times E[min(1, lambda/LR) ; |x|^2 <= ball] at that angle of y."""
    sine = math.sin(angle)
    low, high = laws[0, 5], laws[0, 6]
    if math.isfinite(ball):
        # y + delta lies in the ball for norms between the roots of x^2 + 2 rho c x + rho^2 = ball.
        square = ball - rho * rho * (1.0 - sine) * (1.0 + sine)
        if square <= 0.0:
            return 0.0, 0.0
        largest = math.sqrt(square) - rho * sine
        smallest = -math.sqrt(square) - rho * sine
        if largest <= 0.0:
            return 0.0, 0.0
        high = min(high, math.log(0.5 * largest * largest / g.m))
        if smallest > 0.0:
            low = max(low, math.log(0.5 * smallest * smallest / g.m))
    if high <= low:
        return 0.0, 0.0
    value, error = integrate_shells(g, laws, multipliers, rho, sine, low, high, 0.05 * TOLERANCE)
    density = angle_density(g, angle)
    return value * density, error * density


@njit(cache=True, nogil=True)
def complement_part(
    g: Geometry, laws: Floats, multipliers: Floats, rho: float, below: float
) -> tuple[float, float]:
    """E_y[min(1, lambda/LR) ; x in the ball of shells u <= below], and its error bound.

    Bisects the range of angles as `integrate_shells` does that of shells.
    """
    ball = 2.0 * g.m * math.exp(below)
    if math.isfinite(ball):
        laws = laws.copy()
        laws[:, 4] = np.inf  # all that lies in the ball is uncut there
    lows, highs = np.empty(64), np.empty(64)
    lows[0], highs[0] = -g.reach, g.reach
    depth, panels = 1, 0
    total, error = 0.0, 0.0
    while depth > 0:
        depth -= 1
        a, b = lows[depth], highs[depth]
        half, centre = 0.5 * (b - a), 0.5 * (a + b)
        fine, middle, inner = 0.0, 0.0, 0.0
        for j in range(33):
            value, uncertainty = complement_at(
                g, laws, multipliers, rho, ball, centre + half * NESTED_NODES[2 * j]
            )
            fine += NESTED_MIDDLE[j] * value
            inner += NESTED_MIDDLE[j] * uncertainty
            if j % 2 == 0:
                middle += NESTED_COARSE[j // 2] * value
        panels += 1
        missing = half * abs(fine - middle)
        if missing > 0.1 * TOLERANCE and panels < MOST_PANELS and depth < 62:
            lows[depth], highs[depth] = a, centre
            lows[depth + 1], highs[depth + 1] = centre, b
            depth += 2
        else:
            total += half * fine
            error += missing + half * inner
    return total, error


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
    count = len(multipliers)
    size, least = 0.0, 0.0
    for i in range(count):
        size += abs(multipliers[i])
        least = min(least, multipliers[i])
    # The complementary form needs lambda(t) >= 0 on its ball: no negative multiplier.
    if size <= LARGE or least < 0.0:
        value, error = direct_part(g, laws, multipliers, rho, -np.inf)
        for i in range(count):
            value -= multipliers[i] * ends[i]
        return -value - error - ROUNDING * (1.0 + 2.0 * size)
    # The ball S: the truncation of the only additional law when P's multiplier is small,
    # else all of space. Inside S every law but P (in the first case) has its whole mass.
    ball = np.inf
    if count == 2 and math.isfinite(laws[1, 4]) and abs(multipliers[0]) <= LARGE:
        ball = laws[1, 4]
    value, error = complement_part(g, laws, multipliers, rho, ball)
    scale = 0.0
    for i in range(count):
        # For S = the ball of a truncated law, its percentile is P's mass inside.
        inside = 1.0
        if i == 0 and math.isfinite(ball):
            inside = math.exp(laws[0, 2] - laws[1, 2])
        if ends[i] != inside:
            value += multipliers[i] * (ends[i] - inside)
            scale += abs(multipliers[i] * (ends[i] - inside))
            scale += abs(multipliers[i]) * 1e-3 * (inside != 1.0)
    if math.isfinite(ball):
        outside, missing = direct_part(g, laws, multipliers, rho, ball)
        value -= outside
        error += missing
        scale += abs(multipliers[0])
    return value - error - ROUNDING * (1.0 + 2.0 * scale)

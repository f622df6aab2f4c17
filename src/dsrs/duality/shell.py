"""One shell: where the likelihood ratio reaches its threshold, seen from both of its ends.

Noise x on shell t = |x|^2/2 came, under the shifted law, from y = x - delta on shell s = |y|^2/2.
LR = p(x - delta)/p(x) = exp(D - k log1p(-D/t)) with D = t - s (MATH 2), so LR < lambda is a
relation between s and t alone: D < D(t), or s > S(t) = t - D(t), whatever the shift. The shift
enters through the cosines with delta: t and s fix that of x and that of y.

`a` is ln(lambda) throughout, u = ln(t/m) and v = ln(s/m).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.geometry import ANGLE_CELLS, Floats, Geometry

HALF_PI = 0.5 * math.pi


@njit(cache=True, nogil=True)
def log_shell_density(laws: Floats, row: int, u: float) -> float:
    """Log-density in u of law `row`, its cuts ignored."""
    v = u + laws[row, 1]
    return laws[row, 0] * (v - math.expm1(v)) + laws[row, 2]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def sharpness(laws: Floats) -> float:
    """1 over the smallest standard deviation of u."""
    largest = 0.0
    for i in range(len(laws)):
        largest = max(largest, laws[i, 0])
    return math.sqrt(largest)


@njit(cache=True, nogil=True)
def shell_pieces(laws: Floats) -> Floats:
    """Intervals of u, one a row, that hold the mass of all laws and are crossed by no cut."""
    pieces = np.empty((3 * len(laws), 2))
    n, low = 0, np.inf
    for i in range(len(laws)):
        low = min(low, laws[i, 5])
    while low < np.inf:
        # How far the ranges reach from here without a gap, and where the next one starts.
        high, after = low, np.inf
        for _ in range(len(laws)):
            for i in range(len(laws)):
                if laws[i, 5] <= high:
                    high = max(high, laws[i, 6])
        for i in range(len(laws)):
            if laws[i, 5] > high:
                after = min(after, laws[i, 5])
        stop = high
        for i in range(len(laws)):
            for cut in laws[i, 3:5]:
                if low < cut < stop:
                    stop = cut
        pieces[n] = low, stop
        n += 1
        low = stop if stop < high else after
    return pieces[:n]


@njit(cache=True, nogil=True)
def present(laws: Floats, row: int, low: float, high: float) -> bool:
    """Whether law `row` has mass on the piece [low, high]; then it is uncut there."""
    return high > laws[row, 3] and low < laws[row, 4]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def angle_law(g: Geometry, phi: float) -> tuple[float, float, float]:
    """Pr[angle < phi], Pr[angle > phi] and the density there.

    Quintic Hermite between tabled points: the smaller probability has a relative error below
    1e-10 (about (z/100)^6/46080 at z standard deviations), or an absolute one below 1e-26 (1e-19
    where d < 64).
    """
    below = -abs(phi)
    if below <= -g.reach:
        small, density = 0.0, 0.0
    else:
        per_cell = ANGLE_CELLS / g.reach
        place = (below + g.reach) * per_cell
        cell = min(int(place), ANGLE_CELLS - 1)
        x = place - cell
        f0, d0, s0 = g.angle_table[cell]
        f1, d1, s1 = g.angle_table[cell + 1]
        rise = f1 - f0
        c2 = 0.5 * s0
        c3 = 10.0 * rise - 6.0 * d0 - 4.0 * d1 - 1.5 * s0 + 0.5 * s1
        c4 = -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 1.5 * s0 - s1
        c5 = 6.0 * rise - 3.0 * (d0 + d1) - 0.5 * (s0 - s1)
        small = f0 + x * (d0 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
        density = d0 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
        density *= per_cell
    if phi <= 0.0:
        return small, 1.0 - small, density
    return 1.0 - small, small, density


@njit(cache=True, nogil=True)
def crossing(k: float, t: float, a: float) -> tuple[float, float, float]:
    """The point of shell t where ln LR = a: D, s = t - D, and ln(s/t).

    s = 0 where LR < lambda on the whole shell, s = inf for lambda = 0.

    With D = -t expm1(e) the equation is -t expm1(e) - k e = a, concave and decreasing in e.
    Newton starts at its series for small a, else to the right of the root, and descends.
    """
    if a == np.inf or (k == 0.0 and a >= t):
        return t, 0.0, -np.inf
    if a == -np.inf:
        return -np.inf, np.inf, np.inf
    if k == 0.0:
        return a, t - a, math.log1p(-a / t)
    e, share = -a / (k + t), t / (k + t)
    if abs(e) < 0.1:
        e *= 1.0 - share * e * (0.5 - e * (0.5 * share - 1.0 / 6.0))
    elif a < 0.0:
        e = min(e, math.log1p(-a / t))
    for _ in range(60):
        growth = math.expm1(e)
        step = (-t * growth - k * e - a) / (t * (growth + 1.0) + k)
        e += step
        # Newton leaves at most half the square of the step, relative to 1.
        if abs(step) <= 1e-8 * min(abs(e), 1.0):
            growth += step * (growth + 1.0)
            break
    return -t * growth, t * (1.0 + growth), e


@njit(cache=True, nogil=True)
def cap(
    g: Geometry, rho: float, shell: float, climb: float, side: float
) -> tuple[float, float, float, float]:
    """The part of a shell where t - s is below `climb`: of x on shell t (side 1) or y on s (-1).

    Returns its probability and that of the rest, and the derivatives of the first with respect to
    `climb` and rho.
    """
    per_rho = 1.0 / rho
    slant = 1.0 / math.sqrt(2.0 * shell)
    cosine = (climb * per_rho + side * 0.5 * rho) * slant
    if cosine >= 1.0:
        return 1.0, 0.0, 0.0, 0.0
    if cosine <= -1.0:
        return 0.0, 1.0, 0.0, 0.0
    below, above, density = angle_law(g, math.asin(cosine))
    density *= slant / math.sqrt((1.0 - cosine) * (1.0 + cosine))
    return below, above, density * per_rho, density * (side * 0.5 - climb * per_rho * per_rho)


@njit(cache=True, nogil=True)
def line_cuts(g: Geometry, rho: float, line: float, deviations: float) -> tuple[float, float]:
    """Between which v the probability C that x is within shell `line` has no extreme value.

    `deviations` of the cosine of y, in standard deviations, count as extreme; at most 1, where C
    reaches 0 or 1 and has a kink. C = 0 everywhere if the second v is -inf.
    """
    cosine = min(1.0, deviations / math.sqrt(g.d))
    square = 2.0 * g.m * math.exp(line) - rho * rho * (1.0 - cosine * cosine)
    if square <= 0.0:
        return -np.inf, -np.inf
    near = abs(math.sqrt(square) - rho * cosine)
    far = math.sqrt(square) + rho * cosine
    low = math.log(near * near / (2.0 * g.m)) if near > 1e-150 else -np.inf
    return low, math.log(far * far / (2.0 * g.m))

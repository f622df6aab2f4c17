"""One shell: the likelihood ratio against the angle (MATH 2).

On shell t the ratio LR = p(x - delta)/p(x) is exp(D - k log1p(-D/t)) with
D = t - s = rho sqrt(2t) sin(phi) - rho^2/2, and grows with phi. `a` is ln(lambda) throughout.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsrs.duality.geometry import ANGLE_CELLS, Floats, Geometry
from dsrs.duality.rules import (
    GAUSS_ANGLE_NODES,
    GAUSS_ANGLE_WEIGHTS,
    NESTED_COARSE,
    NESTED_FINE,
    NESTED_MIDDLE,
    NESTED_NODES,
    smooth_error,
)

HALF_PI = 0.5 * math.pi
# e-folds of the ratio below its threshold after which lambda - LR is lambda to rounding.
LAYER = 40.0
SEARCH_REACH = 0.9  # of the full reach: leaves out 1e-12, too little for the search to notice


@njit(cache=True, nogil=True)
def log_shell_density(laws: Floats, row: int, u: float) -> float:
    """Log-density in u of law `row`; -inf outside its support."""
    if u < laws[row, 3] or u > laws[row, 4]:
        return -np.inf
    v = u + laws[row, 1]
    return laws[row, 0] * (v - math.expm1(v)) + laws[row, 2]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def shell_pieces(laws: Floats) -> Floats:
    """Intervals of u, one a row, that hold the mass of all laws and are crossed by no cut."""
    count = len(laws)
    order = np.argsort(laws[:, 5])
    cuts = np.sort(laws[:, 3:5].copy().reshape(-1))
    pieces = np.empty((3 * count, 2))
    n = 0
    low, high = laws[order[0], 5], laws[order[0], 6]
    for place in range(1, count + 1):
        last = place == count
        if not last and laws[order[place], 5] <= high:
            high = max(high, laws[order[place], 6])
            continue
        for cut in cuts:
            if low < cut < high:
                pieces[n, 0], pieces[n, 1] = low, cut
                low = cut
                n += 1
        pieces[n, 0], pieces[n, 1] = low, high
        n += 1
        if not last:
            low, high = laws[order[place], 5], laws[order[place], 6]
    return pieces[:n]


@njit(cache=True, nogil=True)
def angle_density(g: Geometry, phi: float) -> float:
    """Density of phi: C_d cos(phi)^(d-2)."""
    sine = math.sin(phi)
    rest = 1.0 - sine * sine
    if rest <= 0.0:
        return math.exp(g.log_angle) if g.d == 2.0 else 0.0
    return math.exp(g.log_angle + 0.5 * (g.d - 2.0) * math.log1p(-sine * sine))


@njit(cache=True, nogil=True)
def angle_cdf(g: Geometry, phi: float) -> float:
    """Pr[angle < phi], quintic Hermite between tabled points; for the search."""
    below = -abs(phi)
    if below <= -g.reach:
        lower = 0.0
    else:
        step = g.reach / ANGLE_CELLS
        cell = min(int((below + g.reach) / step), ANGLE_CELLS - 1)
        x = (below + g.reach) / step - cell
        f0, d0, s0 = g.angle_table[cell]
        f1, d1, s1 = g.angle_table[cell + 1]
        rise = f1 - f0
        c3 = 10.0 * rise - 6.0 * d0 - 4.0 * d1 - 1.5 * s0 + 0.5 * s1
        c4 = -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 1.5 * s0 - s1
        c5 = 6.0 * rise - 3.0 * (d0 + d1) - 0.5 * (s0 - s1)
        lower = f0 + x * (d0 + x * (0.5 * s0 + x * (c3 + x * (c4 + x * c5))))
    return lower if phi <= 0.0 else 1.0 - lower


@njit(cache=True, nogil=True)
def angle_tail(g: Geometry, phi: float) -> float:
    """Pr[angle > phi] with small relative error far out, where the table has none left."""
    if phi * math.sqrt(g.d) < 4.0 or phi >= HALF_PI:
        return angle_cdf(g, -phi)
    end = min(HALF_PI, phi + LAYER / ((g.d - 2.0) * math.tan(phi)) if g.d > 2.0 else HALF_PI)
    half, centre = 0.5 * (end - phi), 0.5 * (end + phi)
    total = 0.0
    for j in range(24):
        total += GAUSS_ANGLE_WEIGHTS[j] * angle_density(g, centre + half * GAUSS_ANGLE_NODES[j])
    return half * total


@njit(cache=True, nogil=True)
def log_ratio(k: float, t: float, depth: float) -> float:
    """ln LR for D = `depth` = t - s."""
    if k == 0.0:
        return depth
    if depth >= t:
        return math.inf
    return depth - k * math.log1p(-depth / t)


@njit(cache=True, nogil=True)
def crossing_depth(k: float, t: float, a: float) -> float:
    """The D at which ln LR = a.

    With D = -t expm1(e) the equation -t expm1(e) - k e = a is concave and decreasing in e;
    Newton from the right of the root, where both starting bounds lie, descends to it.
    """
    if k == 0.0:
        return a
    e = -a / (k + t)
    if a < 0.0:
        e = min(e, math.log1p(-a / t))
    for _ in range(60):
        growth = math.expm1(e)
        step = (-t * growth - k * e - a) / (t * (growth + 1.0) + k)
        e += step
        if abs(step) <= 4e-16 * abs(e):
            break
    return -t * math.expm1(e)


@njit(cache=True, nogil=True)
def threshold_angle(g: Geometry, rho: float, t: float, a: float) -> tuple[float, float]:
    """The angle below which LR < lambda, and its derivative with respect to a = ln lambda."""
    depth = crossing_depth(g.k, t, a)
    reach = rho * math.sqrt(2.0 * t)
    cosine = (0.5 * rho * rho + depth) / reach
    if cosine >= 1.0:
        return HALF_PI, 0.0
    if cosine <= -1.0:
        return -HALF_PI, 0.0
    s = t - depth
    slope = s / ((s + g.k) * reach * math.sqrt((1.0 - cosine) * (1.0 + cosine)))
    return math.asin(cosine), slope


@njit(cache=True, nogil=True)
def layer_start(g: Geometry, rho: float, t: float, low: float, high: float) -> float:
    """Where to split the angle range: LR/lambda falls off in a thin layer when r >> sigma."""
    reach = rho * math.sqrt(2.0 * t)
    s = max(t + 0.5 * rho * rho - reach * math.sin(high), 1e-300)
    rate = reach * math.cos(high) * (1.0 + g.k / s)
    if rate * (high - low) > 1.5 * LAYER:
        return high - LAYER / rate
    return low


@njit(cache=True, nogil=True)
def shortfall_fast(g: Geometry, rho: float, t: float, a: float) -> float:
    """E[(1 - LR/lambda)_+] on the shell, by Gauss-Legendre; for the search."""
    phi, _ = threshold_angle(g, rho, t, a)
    low, high = -SEARCH_REACH * g.reach, min(phi, SEARCH_REACH * g.reach)
    if high <= low:
        return 0.0
    reach, sag = rho * math.sqrt(2.0 * t), 0.5 * rho * rho
    split = layer_start(g, rho, t, low, high)
    total = 0.0
    for part in range(2):
        x0, x1 = (low, split) if part == 0 else (split, high)
        if x1 <= x0:
            continue
        half, centre = 0.5 * (x1 - x0), 0.5 * (x1 + x0)
        for j in range(24):
            x = centre + half * GAUSS_ANGLE_NODES[j]
            gap = log_ratio(g.k, t, reach * math.sin(x) - sag) - a
            if gap < 0.0:
                weight = half * GAUSS_ANGLE_WEIGHTS[j]
                total -= weight * math.expm1(gap) * angle_density(g, x)
    return total


@njit(cache=True, nogil=True)
def shortfall(g: Geometry, rho: float, t: float, a: float) -> tuple[float, float]:
    """E[(1 - LR/lambda)_+] = Phi_t(lambda)/lambda on the shell, and a bound on its error.

    The integrand has no cancellation: it is -expm1(ln LR - a), and ends exactly where LR reaches
    lambda, so it is analytic. Angles beyond the reach hold 2e-15, which the caller accounts for.
    """
    phi, _ = threshold_angle(g, rho, t, a)
    low, high = -g.reach, min(phi, g.reach)
    if high <= low:
        return 0.0, 0.0
    reach, sag = rho * math.sqrt(2.0 * t), 0.5 * rho * rho
    split = layer_start(g, rho, t, low, high)
    total, error = 0.0, 0.0
    for part in range(2):
        x0, x1 = (low, split) if part == 0 else (split, high)
        if x1 <= x0:
            continue
        half, centre = 0.5 * (x1 - x0), 0.5 * (x1 + x0)
        fine, middle, coarse = 0.0, 0.0, 0.0
        for j in range(65):
            x = centre + half * NESTED_NODES[j]
            gap = min(log_ratio(g.k, t, reach * math.sin(x) - sag) - a, 0.0)
            value = -math.expm1(gap) * angle_density(g, x)
            fine += NESTED_FINE[j] * value
            if j % 2 == 0:
                middle += NESTED_MIDDLE[j // 2] * value
            if j % 4 == 0:
                coarse += NESTED_COARSE[j // 4] * value
        total += half * fine
        error += half * smooth_error(coarse, middle, fine)
    return total, error

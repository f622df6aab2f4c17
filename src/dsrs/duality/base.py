"""What every kernel stands on: loops, quadrature rules, and all that is special about the law P.

A shell is the Gamma variable t = (|x|/s)^eta of P (docs/math.md 1), walked in u = ln(t / m). With
kappa = 2k/eta the density of P at x is proportional to t^(-kappa) e^(-t), for every eta; lengths
enter only through the half square h(u) = |x|^2/2 = t^(2/eta), in units of the law's `scale`.

Noise x on shell u came, under the shifted law, from y = x - delta on shell v. The likelihood ratio
p(x - delta)/p(x) is a function of u and v alone, whatever the shift; the shift enters through the
cosines with delta: the two half squares fix that of x and that of y.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.kernel import inlined, kernel
from dsrs.laws import GeneralizedGaussian, log_gamma_peak

Floats = NDArray[np.float64]
Values = TypeVar("Values", NDArray[np.float64], NDArray[np.int64])


# ---- Loops that take the place of NumPy's slices and sorts
#
# Assigning one slice to another compiles to thousands of lines (shapes that might not fit, and the
# text that says so); with them half of all compiling went into copying a handful of numbers.


@kernel
def whole(number: int) -> int:
    """Return the number itself. Each literal that a kernel is called with would compile it anew."""
    return int(number)


@kernel
def fill(target: Floats, value: float) -> None:
    """Set all values of `target` to `value`."""
    for i in range(len(target)):
        target[i] = value


@kernel
def copy_into(target: Floats, source: Floats) -> None:
    """Put the numbers of `source` into `target`."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def picked(values: Values, places: NDArray[np.int64]) -> Values:
    """Return the values at these places."""
    chosen = np.empty(len(places), dtype=values.dtype)
    for i in range(len(places)):
        chosen[i] = values[places[i]]
    return chosen


@kernel
def room_for(rows: Floats, used: int, more: int) -> Floats:
    """Return `rows`, or a longer copy if `more` rows beside the `used` ones need room."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * len(rows) + more, rows.shape[1]))
    for i in range(used):
        for j in range(rows.shape[1]):
            longer[i, j] = rows[i, j]
    return longer


@kernel
def sort_distinct(values: Floats, count: int) -> int:
    """Sort the first `count` values in place, equal ones once; returns how many there are.

    By insertion: there are few, and most come in order.
    """
    n = 0
    for i in range(count):
        value, place = values[i], n
        while place > 0 and values[place - 1] > value:
            place -= 1
        if place > 0 and values[place - 1] == value:
            continue
        for j in range(n, place, -1):
            values[j] = values[j - 1]
        values[place] = value
        n += 1
    return n


# ---- Quadrature rules: plain Gauss-Legendre for the search, nested ones that show their error
#
# Everything that is trusted uses nested Clenshaw-Curtis rules: two differences between three levels
# show how fast the rule converges, and from that follows an estimate of what is left.


def clenshaw_curtis(intervals: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1] with `intervals` + 1 points; `intervals` is even."""
    angle = np.pi * np.arange(intervals + 1) / intervals
    weights = np.ones(intervals + 1)
    for j in range(1, intervals // 2 + 1):
        factor = 1.0 if j == intervals // 2 else 2.0
        weights -= factor * np.cos(2 * j * angle) / (4 * j * j - 1)
    weights *= 2.0 / intervals
    weights[[0, -1]] /= 2
    return np.cos(angle)[::-1].copy(), weights


GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(24)
FEW_NODES, FEW_WEIGHTS = np.polynomial.legendre.leggauss(8)

NESTED_LEVELS = (4, 8, 16, 32, 64)
NESTED_NODES, _ = clenshaw_curtis(NESTED_LEVELS[-1])
# A row for each level, at the places of its nodes among those of the last.
NESTED_WEIGHTS = np.zeros((len(NESTED_LEVELS), NESTED_LEVELS[-1] + 1))
for _row, _level in enumerate(NESTED_LEVELS):
    NESTED_WEIGHTS[_row, :: NESTED_LEVELS[-1] // _level] = clenshaw_curtis(_level)[1]


@kernel
def nested_error(coarse: float, middle: float, fine: float) -> float:
    """Estimate of |fine - exact| from three nested levels, on the safe side.

    For an analytic integrand a doubling squares the error; half of that speed is trusted where the
    differences fall by more than 1,000, with a factor of 10 to spare. Elsewhere (a kink, or a rule
    too coarse) the last difference itself stands, with a factor of 2.
    """
    first = abs(middle - coarse)
    second = abs(fine - middle)
    if second < 1e-3 * first:
        return 10.0 * second * math.sqrt(second / first)
    return 2.0 * second


# ---- The law of the angle between a uniform direction and a fixed one, tabled once a dimension
#
# The cosine c has (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2). It is walked as c = sin phi: the density of
# phi is proportional to cos(phi)^(d-2), smooth even for d = 2 (where it is uniform).

ANGLE_REACH = 10.0  # in standard deviations: leaves out 1e-23
CELLS = 1024


class AngleTable(NamedTuple):
    """cdf, pdf h and pdf' h^2 of the angle at CELLS + 1 points of [-reach, 0], h apart."""

    reach: float  # the angle is tabled over [-reach, reach]
    values: Floats


@functools.lru_cache(maxsize=64)
def angle_table(d: int) -> AngleTable:
    """The table of dimension d.

    The cdf is summed from the far end over 8 Gauss nodes a cell: all terms are positive, so even
    the smallest values keep their digits.
    """
    reach = min(math.pi / 2, ANGLE_REACH / math.sqrt(max(d - 2, 1)))
    log_peak = log_gamma_half_step((d - 1) / 2) - 0.5 * math.log(math.pi)
    step = reach / CELLS
    starts = -reach + step * np.arange(CELLS)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    inside = starts[:, None] + step * (0.5 + 0.5 * nodes)
    masses = _density(d, log_peak, inside) @ (0.5 * step * weights)
    # What lies beyond the reach: a geometric tail of rate (d - 2) tan(reach), 0 at a quarter turn.
    beyond = 0.0
    if reach < math.pi / 2:
        end = _density(d, log_peak, np.array([reach]))[0]
        beyond = end / ((d - 2) * math.tan(reach)) * (1 - 1 / ANGLE_REACH**2)
    cdf = beyond + np.concatenate([[0.0], np.cumsum(masses)])
    cdf *= 0.5 / cdf[-1]
    angle = np.append(starts, 0.0)
    density = _density(d, log_peak, angle)
    bend = np.zeros(CELLS + 1)
    if d > 2:
        bend = -(d - 2) * np.sin(angle) * _density(d - 1, log_peak, angle)
    return AngleTable(reach, np.stack([cdf, density * step, bend * step * step], axis=1))


def _density(d: int, log_peak: float, angle: Floats) -> Floats:
    sine = np.sin(angle)
    if d == 2:
        return np.full_like(angle, math.exp(log_peak))
    with np.errstate(divide="ignore"):
        density: Floats = np.exp(log_peak + 0.5 * (d - 2) * np.log1p(-sine * sine))
    return density


def log_gamma_half_step(x: float) -> float:
    """ln Gamma(x + 1/2) - ln Gamma(x), by its asymptotic series from 50 on."""
    if x < 50:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    square = x * x
    return 0.5 * math.log(x) - (1 / 8 - (1 / 192 - 1 / (640 * square)) / square) / x


@inlined
def angle_law(table: AngleTable, phi: float) -> tuple[float, float, float]:
    """Pr[angle < phi], Pr[angle > phi] and the density there.

    Quintic Hermite between tabled points: the smaller probability has a relative error below
    1e-10 (about (z/100)^6/46080 at z standard deviations), or an absolute one below 1e-26 (1e-19
    where d < 64).
    """
    below = -abs(phi)
    if not below > -table.reach:
        small, density = 0.0, 0.0
    else:
        per_cell = CELLS / table.reach
        place = (below + table.reach) * per_cell
        cell = min(int(place), CELLS - 1)
        x = place - cell
        values = table.values
        f0, d0, s0 = values[cell, 0], values[cell, 1], values[cell, 2]
        f1, d1, s1 = values[cell + 1, 0], values[cell + 1, 1], values[cell + 1, 2]
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


# ---- The law P on its shells, and what a shift does

HUGE = 700.0  # exponents beyond overflow
EVERYWHERE = HUGE  # a shell u within which all noise lies


class Base(NamedTuple):
    """P as the kernels see it. Lengths are in units of the law's `scale`."""

    d: float
    kappa: float  # 2k/eta
    m: float  # shape of the law of t
    power: float  # 2/eta: h = t^power
    log_peak: float  # log-density of u at its peak u = 0
    unit: float  # sigma
    angle: AngleTable


def base_of(law: GeneralizedGaussian) -> Base:
    """The numbers of P; computed once for laws that differ in sigma only."""
    return _base(law.d, law.k, law.eta)


@functools.lru_cache(maxsize=64)
def _base(d: int, k: float, eta: float) -> Base:
    law = GeneralizedGaussian(d, 1.0, k, eta)
    m, power = law.m, 2 / eta
    peak, angle = log_gamma_peak(m), angle_table(d)
    return Base(float(d), 2 * k / eta, m, power, peak, 1.0 / law.scale, angle)


@kernel
def log_p(base: Base, u: float) -> float:
    """Log-density of u under P."""
    return base.m * (u - math.expm1(u)) + base.log_peak if u < HUGE else -np.inf


@kernel
def gamma_of(base: Base, u: float) -> float:
    """Return t on shell u."""
    return base.m * math.exp(min(u, HUGE))


@kernel
def half_square(base: Base, t: float) -> float:
    """Return h = |x|^2/2 on shell t."""
    if base.power == 1.0:
        return t
    # Beyond, the fourth power (eta = 1/2) overflows.
    return t**base.power if t < 1e70 else math.exp(min(base.power * math.log(t), HUGE))


@kernel
def shell_of(base: Base, h: float) -> float:
    """The u of a half square."""
    return math.log(h) / base.power - math.log(base.m) if h > 0.0 else -np.inf


@kernel
def crossing(base: Base, t: float, a: float) -> tuple[float, float]:
    """Where ln LR = a for x on shell t: v - u and expm1 of it; v = -inf where LR < e^a always.

    The equation is -t expm1(e) - kappa e = a for e = v - u, concave and decreasing in e.
    Newton starts at its series for small a, else to the right of the root, and descends.
    """
    kappa = base.kappa
    if a == np.inf or (kappa == 0.0 and a >= t):
        return -np.inf, -1.0
    if a == -np.inf:
        return np.inf, np.inf
    if kappa == 0.0:
        return math.log1p(-a / t), -a / t
    e, share = -a / (kappa + t), t / (kappa + t)
    if abs(e) < 0.1:
        e *= 1.0 - share * e * (0.5 - e * (0.5 * share - 1.0 / 6.0))
    elif a < 0.0 < t:
        e = min(e, math.log1p(-a / t))
    growth = 0.0
    for _ in range(60):
        growth = math.expm1(e)
        step = (-t * growth - kappa * e - a) / (t * (growth + 1.0) + kappa)
        e += step
        # Newton leaves at most half the square of the step, relative to 1.
        if abs(step) <= 1e-8 * min(abs(e), 1.0):
            growth += step * (growth + 1.0)
            break
    return e, growth


@kernel
def moved(base: Base, h: float, e: float, growth: float) -> tuple[float, float]:
    """Return h(u) - h(v) and h(v), for h = h(u) and v = u + e; `growth` is expm1(e)."""
    if base.power != 1.0:
        growth = math.expm1(min(base.power * e, HUGE))
    return -h * growth, h * (1.0 + growth)


@kernel
def curve_speed(base: Base, t: float, growth: float, a_slope: float) -> float:
    """Return dv/du along ln LR = a(u), from kappa v + m e^v = kappa u + m e^u - a."""
    return (t + base.kappa - a_slope) / (t * (1.0 + growth) + base.kappa)


@inlined
def cap(
    base: Base, rho: float, h: float, climb: float, side: float
) -> tuple[float, float, float, float]:
    """The part of a shell of half square h where h(u) - h(v) is below `climb`.

    The shell is that of x (side 1) or of y (side -1). Returns the probability of that part and of
    the rest, and the derivatives of the first with respect to `climb` and rho.
    """
    per_rho = 1.0 / rho
    slant = 1.0 / math.sqrt(2.0 * h) if h > 0.0 else np.inf
    cosine = (climb * per_rho + side * 0.5 * rho) * slant
    if cosine >= 1.0:
        return 1.0, 0.0, 0.0, 0.0
    if cosine <= -1.0:
        return 0.0, 1.0, 0.0, 0.0
    below, above, density = angle_law(base.angle, math.asin(cosine))
    density *= slant / math.sqrt((1.0 - cosine) * (1.0 + cosine))
    return below, above, density * per_rho, density * (side * 0.5 - climb * per_rho * per_rho)


@kernel
def within_line(base: Base, rho: float, line: float, v: float) -> tuple[float, float]:
    """C(v, line) = Pr[x within shell `line` | y on shell v], and its derivative in rho."""
    h = half_square(base, gamma_of(base, v))
    climb = h * math.expm1(min(base.power * (line - v), HUGE))
    within, _, _, by_rho = cap(base, rho, h, climb, -1.0)
    return within, by_rho


STEEP = 8.0  # standard deviations beyond which a cosine decides everything


@kernel
def line_cuts(base: Base, rho: float, line: float) -> tuple[float, float]:
    """Between which v the probability C(v, line) is neither 0 nor 1.

    That is to STEEP standard deviations of the cosine of y, or exactly where d is small and C has
    kinks there. C = 0 everywhere if the second v is -inf.
    """
    cosine = min(1.0, STEEP / math.sqrt(base.d))
    square = 2.0 * half_square(base, gamma_of(base, line)) - rho * rho * (1.0 - cosine * cosine)
    if square <= 0.0:
        return -np.inf, -np.inf
    near = abs(math.sqrt(square) - rho * cosine)
    far = math.sqrt(square) + rho * cosine
    low = shell_of(base, 0.5 * near * near) if near > 1e-150 else -np.inf
    return low, shell_of(base, 0.5 * far * far)

"""All that is special about the smoothing law P: its density on shells, and what a shift does.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.angle import AngleTable, angle_law, angle_table
from dsrs.duality.kernel import inlined, kernel
from dsrs.laws import GeneralizedGaussian, log_gamma_peak

Floats = NDArray[np.float64]
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

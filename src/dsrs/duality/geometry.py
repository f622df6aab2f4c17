"""The numbers that the kernels need of a law: shells in u, angles in phi.

Shells t ~ Gamma(m, 1) are walked in u = ln(t / m), where the density
exp(m (u - expm1 u) + const) is analytic for every m and free of cancellation.
The cosine c of MATH 2 is walked as c = sin phi: the density of phi is proportional to
cos(phi)^(d-2), smooth even for d = 2 (where it is uniform).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.duality.rules import log_gamma_half_step, norm_log_gamma_density
from dsrs.laws import GeneralizedGaussian, ShellLaw

Floats = NDArray[np.float64]

TAIL = 1e-19  # mass left out at each end of a shell law; times lambda it stays below rounding
ANGLE_REACH = 8.0  # in standard deviations: leaves out 2e-15, part of the rounding allowance
ANGLE_CELLS = 256


class Geometry(NamedTuple):
    """P as the kernels see it. `unit` is sigma in units of the scale s'."""

    d: float
    k: float
    m: float
    unit: float
    log_angle: float  # ln of the density of phi at 0
    reach: float  # the angle integrals run over [-reach, reach]
    angle_table: Floats  # cdf, pdf h, pdf' h^2 at ANGLE_CELLS + 1 points, h apart, of [-reach, 0]
    shift_rate: float  # total variation of a shift by rho is at most shift_rate * rho


class Shells(NamedTuple):
    """P (row 0) and the additional laws on the shells: rows of numbers for `log_shell_density`.

    Columns of `laws`: shape, offset of u, log constant, u at start, u at stop, lower and upper
    end of the range that holds all but TAIL of the mass.
    """

    laws: Floats


def geometry(law: GeneralizedGaussian) -> Geometry:
    """The numbers of P; computed once for laws that differ in sigma only."""
    return _geometry(law.d, law.k)._replace(unit=law.sigma / law.scale)


@functools.lru_cache(maxsize=64)
def _geometry(d: int, k: float) -> Geometry:
    m = d / 2 - k
    log_angle = log_gamma_half_step((d - 1) / 2) - 0.5 * math.log(math.pi)
    reach = min(math.pi / 2, ANGLE_REACH / math.sqrt(max(d - 2, 1)))
    angle = np.linspace(-reach, 0.0, ANGLE_CELLS + 1)
    step = reach / ANGLE_CELLS
    sine, tangent = np.sin(angle), np.tan(angle)
    with np.errstate(divide="ignore"):
        log_cosine = 0.5 * np.log1p(-sine * sine)
    density = np.exp(
        log_angle + (special.xlogy(d - 2, np.exp(log_cosine)) if d == 2 else (d - 2) * log_cosine)
    )
    # At a quarter turn (small d) the tangent is infinite where the density vanishes.
    curvature = np.where(density > 0, -(d - 2) * np.clip(tangent, -1e8, 1e8) * density, 0.0)
    table = np.stack(
        [
            0.5 * special.betaincc(0.5, (d - 1) / 2, sine * sine),
            density * step,
            curvature * step * step,
        ],
        axis=1,
    )
    # E|c| and E sqrt(2t); the derivative of the density integrates to (d - 1)/(2m - 1) of them.
    mean_cosine = math.exp(-log_gamma_half_step(d / 2)) / math.sqrt(math.pi)
    mean_norm = math.sqrt(2) * math.exp(log_gamma_half_step(m))
    rate = math.inf if m <= 0.5 else 0.5 * mean_cosine * mean_norm * (d - 1) / (2 * m - 1)
    return Geometry(float(d), k, m, math.nan, log_angle, reach, table, rate * (1 + 1e-12))


def shells(law: GeneralizedGaussian, additional: tuple[ShellLaw, ...]) -> Shells:
    """The table of shell laws, P first."""
    m = law.m
    rows = []
    for shell in (ShellLaw(shape=m), *additional):
        low = _gamma_quantile(shell.shape, TAIL) / shell.rate
        high = float(special.gammainccinv(shell.shape, TAIL)) / shell.rate
        rows.append(
            (
                shell.shape,
                math.log(m * shell.rate / shell.shape),
                norm_log_gamma_density(shell.shape) - math.log(shell.mass),
                math.log(shell.start / m) if shell.start > 0 else -math.inf,
                math.log(shell.stop / m),
                math.log(max(low, shell.start) / m),
                math.log(min(high, shell.stop) / m),
            )
        )
    return Shells(np.array(rows))


def _gamma_quantile(shape: float, probability: float) -> float:
    # Where the quantile underflows, its leading term t^shape / Gamma(shape + 1) is exact.
    value = float(special.gammaincinv(shape, probability))
    if value > 1e-280:
        return value
    return math.exp((math.log(probability) + math.lgamma(shape + 1)) / shape)

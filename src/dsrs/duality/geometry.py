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

from dsrs.duality.rules import log_gamma_half_step
from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, Component, GeneralizedGaussian

Floats = NDArray[np.float64]

TAIL = 1e-19  # mass left out at each end of a shell law; times lambda it stays below rounding
ANGLE_REACH = 10.0  # in standard deviations: leaves out 1e-23
ANGLE_CELLS = 1024


class Geometry(NamedTuple):
    """P as the kernels see it. `unit` is sigma in units of the scale s'."""

    d: float
    k: float
    m: float
    unit: float
    log_angle: float  # ln of the density of phi at 0
    reach: float  # the angle integrals run over [-reach, reach]
    angle_table: Floats  # see `_angle_table`
    shift_rate: float  # total variation of a shift by rho is at most shift_rate * rho


def geometry(law: GeneralizedGaussian) -> Geometry:
    """The numbers of P; computed once for laws that differ in sigma only."""
    if law.eta != 2:
        raise InvalidInput(f"`eta` must be 2 for a certificate, got {law.eta:g}")
    return _geometry(law.d, law.k)._replace(unit=law.sigma / law.scale)


@functools.lru_cache(maxsize=64)
def _geometry(d: int, k: float) -> Geometry:
    m = d / 2 - k
    log_angle = log_gamma_half_step((d - 1) / 2) - 0.5 * math.log(math.pi)
    reach = min(math.pi / 2, ANGLE_REACH / math.sqrt(max(d - 2, 1)))
    table = _angle_table(d, log_angle, reach)
    # E|c| and E sqrt(2t); the derivative of the density integrates to (d - 1)/(2m - 1) of them.
    mean_cosine = math.exp(-log_gamma_half_step(d / 2)) / math.sqrt(math.pi)
    mean_norm = math.sqrt(2) * math.exp(log_gamma_half_step(m))
    rate = math.inf if m <= 0.5 else 0.5 * mean_cosine * mean_norm * (d - 1) / (2 * m - 1)
    return Geometry(float(d), k, m, math.nan, log_angle, reach, table, rate * (1 + 1e-12))


def _angle_table(d: int, log_angle: float, reach: float) -> Floats:
    """cdf, pdf h and pdf' h^2 of the angle at ANGLE_CELLS + 1 points of [-reach, 0], h apart.

    The cdf is summed from the far end over 8 Gauss nodes a cell: all terms are positive, so even
    the smallest values keep their digits.
    """
    step = reach / ANGLE_CELLS
    starts = -reach + step * np.arange(ANGLE_CELLS)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    inside = starts[:, None] + step * (0.5 + 0.5 * nodes)
    masses = _angle_density(d, log_angle, inside) @ (0.5 * step * weights)
    # What lies beyond the reach: a geometric tail of rate (d - 2) tan(reach), 0 at a quarter turn.
    beyond = 0.0
    if reach < math.pi / 2:
        end = _angle_density(d, log_angle, np.array([reach]))[0]
        beyond = end / ((d - 2) * math.tan(reach)) * (1 - 1 / ANGLE_REACH**2)
    cdf = beyond + np.concatenate([[0.0], np.cumsum(masses)])
    cdf *= 0.5 / cdf[-1]
    angle = np.append(starts, 0.0)
    density = _angle_density(d, log_angle, angle)
    bend = np.zeros(ANGLE_CELLS + 1)
    if d > 2:
        bend = -(d - 2) * np.sin(angle) * _angle_density(d - 1, log_angle, angle)
    return np.stack([cdf, density * step, bend * step * step], axis=1)


def _angle_density(d: int, log_angle: float, angle: Floats) -> Floats:
    sine = np.sin(angle)
    with np.errstate(divide="ignore"):
        density: Floats = np.exp(log_angle + special.xlog1py(0.5 * (d - 2), -sine * sine))
    return density


def shells(law: GeneralizedGaussian, additional: tuple[AdditionalLaw, ...]) -> Floats:
    """The shell laws as the kernels see them, a row each, P first; not to be written to.

    Columns: shape, offset of u, log constant, u at start, u at stop, lower and upper end of the
    range that holds all but TAIL of the mass.
    """
    return _shells(law.m, tuple(each.components() for each in additional))


@functools.lru_cache(maxsize=1024)
def _shells(m: float, additional: tuple[tuple[Component, ...], ...]) -> Floats:
    rows = []
    for components in ((Component.gamma(m, m),), *additional):
        if len(components) != 1 or components[0].exponent <= 0:
            raise InvalidInput("certificates must be from laws that are one Gamma density each")
        component = components[0]
        shape = component.exponent
        low, high = _gamma_range(shape)
        log_scale = math.log(m * component.rate)
        offset = math.log(m * component.rate / shape)
        start = math.log(component.start / m) if component.start > 0 else -math.inf
        stop = math.log(component.stop / m) if component.stop < math.inf else math.inf
        rows.append(
            (
                shape,
                offset,
                float(component.log_density(np.array(-offset), m)),
                start,
                stop,
                max(low - log_scale, start),
                min(high - log_scale, stop),
            )
        )
    return np.array(rows)


@functools.lru_cache(maxsize=1024)
def _gamma_range(shape: float) -> tuple[float, float]:
    """ln of the two ends of Gamma(shape), TAIL at each."""
    low = float(special.gammaincinv(shape, TAIL))
    # Where the quantile underflows, its leading term t^shape / Gamma(shape + 1) is exact.
    leading = (math.log(TAIL) + math.lgamma(shape + 1)) / shape
    return (
        math.log(low) if low > 1e-280 else leading,
        math.log(float(special.gammainccinv(shape, TAIL))),
    )

"""Quadrature rules that show their own error, and the constants of the radial and angular laws.

The search uses plain Gauss-Legendre nodes. Everything that is trusted uses nested
Clenshaw-Curtis rules at three levels: two differences show how fast the rule converges, and
from that follows a bound on what is left.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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


GAUSS_PANEL_NODES, GAUSS_PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)
GAUSS_ANGLE_NODES, GAUSS_ANGLE_WEIGHTS = np.polynomial.legendre.leggauss(24)

NESTED_NODES, NESTED_FINE = clenshaw_curtis(64)
_, NESTED_MIDDLE = clenshaw_curtis(32)
_, NESTED_COARSE = clenshaw_curtis(16)

SAFETY = 10.0


@njit(cache=True, nogil=True)
def smooth_error(coarse: float, middle: float, fine: float) -> float:
    """Bound on |fine - exact| for an analytic integrand, from three nested levels.

    It converges geometrically: each difference is a small part of the one before, and what is
    left is at most that part of the last one, with a factor of 10 to spare. (In fact a doubling
    squares the error.)
    """
    first = abs(middle - coarse)
    second = abs(fine - middle)
    if second == 0.0:
        return 0.0
    return second * min(1.0, SAFETY * second / first if first > 0.0 else 1.0)


@njit(cache=True, nogil=True)
def kinked_error(coarse: float, middle: float, fine: float) -> float:
    """The same where the integrand may have a kink: only half of the speed is trusted.

    Where the differences fall by less than 100, the last difference itself is the bound.
    """
    first = abs(middle - coarse)
    second = abs(fine - middle)
    if second == 0.0:
        return 0.0
    return second * min(1.0, SAFETY * math.sqrt(second / first) if first > 0.0 else 1.0)


def norm_log_gamma_density(shape: float) -> float:
    """shape ln shape - shape - ln Gamma(shape): the log-density of ln(t / shape) at 0.

    Stirling's series from 50 on, where the difference of large logarithms would lose digits.
    """
    if shape < 50:
        return shape * math.log(shape) - shape - math.lgamma(shape)
    square = shape * shape
    series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / shape
    return 0.5 * math.log(shape / (2 * math.pi)) - series


def log_gamma_half_step(x: float) -> float:
    """ln Gamma(x + 1/2) - ln Gamma(x), by its asymptotic series from 50 on."""
    if x < 50:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    square = x * x
    return 0.5 * math.log(x) - (1 / 8 - (1 / 192 - 1 / (640 * square)) / square) / x

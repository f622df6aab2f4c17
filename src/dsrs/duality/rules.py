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


GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(24)

LEVELS = (8, 16, 32, 64)
NESTED_NODES, _ = clenshaw_curtis(LEVELS[-1])
# A row for each level, at the places of its nodes among those of the last.
NESTED_WEIGHTS = np.zeros((len(LEVELS), LEVELS[-1] + 1))
for _row, _level in enumerate(LEVELS):
    NESTED_WEIGHTS[_row, :: LEVELS[-1] // _level] = clenshaw_curtis(_level)[1]


@njit(cache=True, nogil=True)
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


def log_gamma_half_step(x: float) -> float:
    """ln Gamma(x + 1/2) - ln Gamma(x), by its asymptotic series from 50 on."""
    if x < 50:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    square = x * x
    return 0.5 * math.log(x) - (1 / 8 - (1 / 192 - 1 / (640 * square)) / square) / x

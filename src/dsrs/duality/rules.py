"""Quadrature rules: plain Gauss-Legendre for the search, nested ones that show their error.

Everything that is trusted uses nested Clenshaw-Curtis rules: two differences between three levels
show how fast the rule converges, and from that follows an estimate of what is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.kernel import kernel

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

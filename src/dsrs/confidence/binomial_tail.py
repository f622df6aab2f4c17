"""The upper binomial tail with a proved error bound: what makes a confidence bound trustworthy.

For X ~ Bin(n, p), a hits and b = n - a misses, the tail is

    Pr[X >= a] = pmf(a) * S,    S = 1 + r_1 + r_1 r_2 + ...,    r_j = (b - j + 1) p / ((a + j) q).

Every term of S is positive, so nothing cancels, and ln pmf comes in Loader's saddle-point form
    stirling(n) - stirling(a) - stirling(b) - D(a, np) - D(b, nq) + ln(n / (2 pi a b)) / 2,
with stirling(x) the error of Stirling's formula for ln x! and D(x, M) = x ln(x/M) + M - x.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

EPSILON = 2.0**-52
_TABLE_SIZE = 16


def _stirling_table() -> NDArray[np.float64]:
    """stirling(x) = ln x! - (x + 1/2) ln x + x - ln(2 pi)/2 for small x, correctly rounded."""
    with localcontext() as context:
        context.prec = 40
        half_log_two_pi = Decimal("0.91893853320467274178032973640561763986")
        errors = [
            Decimal(math.factorial(x)).ln()
            - (Decimal(x) + Decimal("0.5")) * Decimal(x).ln()
            + x
            - half_log_two_pi
            for x in range(1, _TABLE_SIZE)
        ]
    return np.array([0.0, *map(float, errors)])


_STIRLING = _stirling_table()


def _stirling(x: float) -> float:
    if x < _TABLE_SIZE:
        return float(_STIRLING[int(x)])
    # The first term left out, 1/(156 x^13), is below 2e-18 from x = 16 on.
    y = 1.0 / (x * x)
    series = 1 / 1680 - y * (1 / 1188 - y * (691 / 360360))
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * series))) / x


def _deviance(x: float, mean: float, excess: float) -> float:
    """D(x, mean) = x ln(x / mean) + mean - x with excess = x - mean handed over uncancelled."""
    v = excess / (x + mean)
    if abs(v) > 0.1:
        return x * math.log(x / mean) - excess
    # 2 x atanh(v) without its first term; v^18 is below the rounding.
    y = v * v
    series = 0.0
    for j in range(19, 1, -2):
        series = y * (1 / j + series)
    return excess * v + 2 * x * v * series


def log_upper_tail(hits: float, misses: float, p: float, q: float) -> tuple[float, float, float]:
    """ln Pr[Bin(hits + misses, p) >= hits], the sum S, and a bound of the logarithm's error.

    Needs hits >= 1, counts up to 2^53, and p + q = 1 with the smaller of the two exact and the
    other rounded. The error bound, with u = EPSILON / 2 the unit roundoff and e = hits - n p:
    - each D carries at most 32 u |e| + 4 u D: rounding M moves it by dD/dM = -e/M in the series,
      and a logarithm is taken only where x <= 6 |e| and M <= 10 |e|;
    - the factors r_j carry 6 u each, so S carries 6 u times the mean index of its terms, which is
      at most S because r_j decreases; adding `count` terms costs u each, the cut-off part u;
    - the remaining terms are below 20 in size and stand behind the constant.
    """
    n = hits + misses
    if misses == 0:
        log_tail = hits * (math.log1p(-q) if p > 0.5 else math.log(p))
        return log_tail, 1.0, EPSILON * (4 - 4 * log_tail)
    mean = n * p
    excess = hits - mean if p <= 0.5 else n * q - misses
    deviance = _deviance(hits, mean, excess) + _deviance(misses, n * q, -excess)
    log_pmf = (
        _stirling(n)
        - _stirling(hits)
        - _stirling(misses)
        - deviance
        + 0.5 * (math.log(n / hits) - math.log(2 * math.pi * misses))
    )
    odds = p / q
    total, term, count = 1.0, 1.0, 0.0
    while count < misses:
        ratio = odds * ((misses - count) / (hits + count + 1))
        term *= ratio
        total += term
        count += 1
        if ratio < 1 and term * ratio < 0.25 * EPSILON * total * (1 - ratio):
            break
    error = EPSILON * (64 + count + 4 * total + 32 * abs(excess) + 4 * deviance)
    return log_pmf + math.log(total), total, error

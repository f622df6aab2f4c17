"""What every radial law is made of: power-exponential terms on the shells of P.

A shell is t ~ Gamma(m, 1) under P; it is walked in u = ln(t / m), so that u = 0 is the peak of P.
In u a term is exp(concave), analytic for every exponent, and free of cancellation near its anchor.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ULP = 1e-15  # relative rounding of a few operations in a row


class Component(NamedTuple):
    """One term c t^(a-1) e^(-b t) of a density of t, on start < t <= stop.

    As a density of u = ln(t / m) its logarithm is
    log_height + exponent (u - anchor) - rate m e^anchor expm1(u - anchor).
    """

    log_height: float  # at the anchor
    exponent: float  # a; any real number
    rate: float  # b >= 0
    anchor: float  # a u near which the term matters
    start: float = 0.0  # in t
    stop: float = math.inf
    doubt: float = 0.0  # relative rounding of its mass by that of the numbers it was made from

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def gamma(
        cls,
        m: float,
        shape: float,
        rate: float = 1.0,
        *,
        coefficient: float = 1.0,
        start: float = 0.0,
        stop: float = math.inf,
    ) -> Component:
        """`coefficient` times the law of t with rate t ~ Gamma(shape, 1), cut to (start, stop].

        P itself is `Component.gamma(m, m)`.
        """
        height = log_gamma_peak(shape) + math.log(coefficient)
        return cls(height, shape, rate, math.log(shape / (rate * m)), start, stop)

    @classmethod
    def tilted(
        cls, m: float, power: float, at: float, log_weight: float, start: float, stop: float
    ) -> Component:
        """P times a weight that is exp(log_weight) (t / at)^power, on (start, stop].

        It is anchored where it is largest. `doubt` adds up the roundings of its height (each in
        proportion to a summand) and of the places on the axis of u, an `ulp` of which changes the
        density by its slope and the length of the piece by 1 over it.
        """
        peak = min(max(m + power, start), stop)
        u, rise = math.log(peak / m), power * math.log(peak / at)
        fall = m * (u - math.expm1(u))
        steep = abs(power) + abs(m + power - peak) + math.sqrt(peak)
        if 0 < start < stop < math.inf:
            steep += 1 / math.log(stop / start)
        doubt = ULP * (abs(log_weight) + abs(rise) + abs(fall) + steep * (1 + abs(u)))
        height = log_gamma_peak(m) + fall + (log_weight + rise)
        return cls(height, m + power, 1.0, u, start, stop, doubt)

    def log_density(self, u: NDArray[np.float64], m: float) -> NDArray[np.float64]:
        """The logarithm above, as if the term had no start and no stop."""
        away = u - self.anchor
        pull = self.rate * m * math.exp(self.anchor)
        return self.log_height + self.exponent * away - pull * np.expm1(away)


@functools.lru_cache(maxsize=4096)
def log_gamma_peak(shape: float) -> float:
    """Return shape ln shape - shape - ln Gamma(shape), the log-density of ln(t / shape) at 0.

    Stirling's series from 50 on, where the difference of large logarithms would lose digits.
    """
    if shape < 50:
        return shape * math.log(shape) - shape - math.lgamma(shape)
    square = shape * shape
    series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / shape
    return 0.5 * math.log(shape / (2 * math.pi)) - series


def log_gamma_step(x: float, step: float) -> float:
    """Return ln Gamma(x + step) - ln Gamma(x) for x, step > 0, precise for large x too."""
    end = x + step
    smooth = x * math.log1p(step / x) + step * math.log(end) - step
    return smooth - (log_gamma_peak(end) - log_gamma_peak(x))

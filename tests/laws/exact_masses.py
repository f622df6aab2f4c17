"""Masses of laws at 40 digits, from their definitions and from what the kernels are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np

from dsrs.duality import Components
from dsrs.laws import GeneralizedGaussian, Weighted

DIGITS = 40
DROP = 100.0  # e-folds below its largest value at which a density ends
_DOUBLE, _ = np.polynomial.legendre.leggauss(24)


def _gauss() -> list[tuple[mp.mpf, mp.mpf]]:
    """24 Gauss-Legendre nodes and weights on [-1, 1]."""
    pairs = []
    with mp.workdps(DIGITS):
        for start in _DOUBLE:
            x = mp.findroot(lambda x: mp.legendre(24, x), mp.mpf(float(start)))
            slope = mp.diff(lambda x: mp.legendre(24, x), x)
            pairs.append((x, 2 / ((1 - x * x) * slope**2)))
    return pairs


GAUSS = _gauss()


def mass_of(
    log_density: Callable[[mp.mpf], mp.mpf], peak: float, low: mp.mpf, high: mp.mpf
) -> mp.mpf:
    """The integral of exp(concave) from low to high, either of which may be infinite.

    Panels begin at the largest value and end where the logarithm has fallen by 1.5 more.
    """
    top = min(max(mp.mpf(peak), low), high)
    most, total = log_density(top), mp.mpf(0)
    for end in (low, high):
        side = 1 if end > top else -1
        start, fallen, width = top, mp.mpf(0), mp.mpf("1e-12")
        while (end - start) * side > 0 and fallen < DROP:
            width *= 4
            stop = start + side * width
            while most - log_density(stop) - fallen > 1.5:
                width /= 2
                stop = start + side * width
            stop = stop if (end - stop) * side > 0 else end
            half, centre = (stop - start) / 2, (stop + start) / 2
            terms = [weight * mp.exp(log_density(centre + half * x)) for x, weight in GAUSS]
            total += abs(half) * mp.fsum(terms)
            start, fallen = stop, most - log_density(stop)
    return total


def log_p(m: float, u: mp.mpf) -> mp.mpf:
    """Log-density of u = ln(t / m) for t ~ Gamma(m, 1)."""
    shape = mp.mpf(m)
    return shape * mp.log(shape) - mp.loggamma(shape) + shape * u - shape * mp.exp(u)


def component_mass(parts: Components, j: int) -> mp.mpf:
    """The mass of component j as the kernels see it: all numbers as they are, nothing rounded."""
    height, a, decay, anchor = (
        mp.mpf(float(each[j]))
        for each in (parts.log_height, parts.exponent, parts.decay, parts.anchor)
    )

    def log_density(u: mp.mpf) -> mp.mpf:
        return height + a * (u - anchor) - decay * mp.expm1(u - anchor)

    peak = float(anchor + mp.log(a / decay)) if a > 0 else -math.inf
    return mass_of(log_density, peak, mp.mpf(float(parts.start[j])), mp.mpf(float(parts.stop[j])))


def p_mass(law: GeneralizedGaussian, t: float) -> mp.mpf:
    """Pr[shell <= t] under P."""
    u = mp.log(mp.mpf(t) / mp.mpf(law.m))
    return mass_of(lambda u: log_p(law.m, u), 0.0, mp.mpf("-inf"), u)


def piece_masses(law: Weighted) -> list[mp.mpf]:
    """The masses of the pieces of a weighted law, from its knots and log weights."""
    m = law.base.m
    points = [
        (mp.log(mp.mpf(t) / mp.mpf(m)), mp.mpf(log))
        for t, log in zip(law.knots, law.log_weights, strict=True)
    ]
    most = max(log for _, log in points)
    pieces = []
    if law.inner is not None:
        pieces.append((mp.mpf("-inf"), points[0][0], *points[0], mp.mpf(law.inner)))
    for (u, log), (end, end_log) in itertools.pairwise(points):
        if end > u and mp.isfinite(log):
            pieces.append((u, end, u, log, (end_log - log) / (end - u)))
    if law.outer is not None:
        pieces.append((points[-1][0], mp.mpf("inf"), *points[-1], mp.mpf(law.outer)))
    masses = []
    for low, high, at, log, slope in pieces:
        peak = float(mp.log((m + slope) / m)) if m + slope > 0 else -math.inf

        def log_density(
            u: mp.mpf, at: mp.mpf = at, log: mp.mpf = log, slope: mp.mpf = slope
        ) -> mp.mpf:
            return log_p(m, u) + (log - most) + slope * (u - at)

        masses.append(mass_of(log_density, peak, low, high))
    total = mp.fsum(masses)
    return [mass / total for mass in masses]

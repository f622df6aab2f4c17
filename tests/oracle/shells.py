"""The shell integrals and the dual bound (docs/math.md 2 and 9) in mpmath, easy to check.

On the shell t the noise makes an angle theta with the shift, of density ~ sin(theta)^(d-2), and
LR = p(x - delta)/p(x) = exp(phi(s) - phi(t)) with s = t + rho^2/2 - rho sqrt(2t) cos(theta) and
phi(t) = -k ln t - t. LR falls with theta, so LR < lam is theta > theta_1. The angle, unlike the
cosine, has no singular density at d = 2.

For eta other than 2 (section 12) the half squares h = t^(2/eta) take the place of t in s, and
2k/eta that of k in phi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
from mpmath.calculus.quadrature import GaussLegendre
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaincinv, wrightomega

DIGITS = 50
Rule = Callable[[Callable[[mp.mpf], mp.mpf], list[mp.mpf]], mp.mpf]


@dataclass(frozen=True)
class Weight:
    """One more law with its multiplier l and probability Q.

    `value` is the radial percentile of the ball (shape "truncated"), beta (shape "rescaled"), or
    the points (t, ln lambda) of a line in (ln t, ln lambda) (shape "weighted").
    """

    shape: str
    value: Any
    multiplier: float
    Q: float


def shell_cdf(d: float, k: float, rho: float, t: float, lam: float) -> mp.mpf:
    """F_t(lam) = Pr[LR < lam], to about 50 digits."""
    with mp.workdps(DIGITS):
        return _shell_mean(lambda ratio: mp.mpf(1), d, k, rho, t, lam, mp.quad)


def shell_partial_mean(d: float, k: float, rho: float, t: float, lam: float) -> mp.mpf:
    """G_t(lam) = E[LR ; LR < lam], to about 50 digits."""
    with mp.workdps(DIGITS):
        return _shell_mean(lambda ratio: ratio, d, k, rho, t, lam, mp.quad)


def shell_shortfall(d: float, k: float, rho: float, t: float, lam: float) -> mp.mpf:
    """Phi_t(lam) = E[(lam - LR)_+], to about 50 digits."""
    with mp.workdps(DIGITS):
        return _shell_mean(lambda ratio: lam - ratio, d, k, rho, t, lam, mp.quad)


def dual_bound(
    d: float,
    k: float,
    sigma: float,
    r: float,
    l1: float,
    l2: float,
    P: float,
    Q: float,
    q_shape: str,
    q_value: float | tuple[tuple[float, float], ...],
    more: Sequence[Weight] = (),
    digits: int = 20,
    eta: float = 2.0,
) -> mp.mpf:
    """B(l1, l2) = l1 P + l2 Q - E_t Phi_t(l1 + l2 w(t)) of docs/math.md 2.

    Good to about 1e-15. Every law of `more` adds its l Q and its l w(t).
    P and Q are the ends of the intervals that the signs of the multipliers choose.
    """
    laws = [Weight(q_shape, q_value, l2, Q), *more]
    m = (d - 2 * k) / eta
    with mp.workdps(digits):
        square = mp.exp(mp.loggamma(mp.mpf(m) + mp.mpf(2) / eta) - mp.loggamma(m))
        rho = float(r * mp.sqrt(2 * square / d) / sigma)
        terms = [_weighted(m, sigma, law, eta) for law in laws]

        def threshold(t: mp.mpf) -> mp.mpf:
            return mp.mpf(l1) + mp.fsum(term(t) for term in terms)

        def shortfall(t: mp.mpf) -> mp.mpf:
            lam = threshold(t)
            density = mp.exp((m - 1) * mp.log(t) - t - mp.loggamma(m))
            return density * _shell_mean(lambda ratio: lam - ratio, d, k, rho, t, lam, _gauss, eta)

        edges = [float(gammaincinv(m, law.value)) for law in laws if law.shape == "truncated"]
        edges += [t for law in laws if law.shape == "weighted" for t, _ in law.value]
        rates = [(sigma / law.value) ** eta for law in laws if law.shape == "rescaled"]
        edges = _radial_breaks(d, k, rho, threshold, edges, min([1.0, *rates]), eta)
        known = mp.fsum(mp.mpf(law.multiplier) * law.Q for law in laws)
        return mp.mpf(l1) * P + known - _gauss(shortfall, edges, graded=True)


def _weighted(m: float, sigma: float, law: Weight, eta: float) -> Callable[[mp.mpf], mp.mpf]:
    """t -> l w(t)."""
    multiplier = mp.mpf(law.multiplier)
    if law.shape == "weighted":
        return _piecewise(m, law.value, multiplier)
    if law.shape == "truncated":
        tau = float(gammaincinv(m, law.value))
        inside = multiplier / mp.gammainc(m, 0, tau, regularized=True)
        return lambda t: inside if t <= tau else mp.mpf(0)
    rate = (mp.mpf(sigma) / law.value) ** eta
    return lambda t: multiplier * mp.exp(m * mp.log(rate) - (rate - 1) * t)


def _piecewise(
    m: float, points: tuple[tuple[float, float], ...], multiplier: mp.mpf
) -> Callable[[mp.mpf], mp.mpf]:
    """t -> l lambda(t) / E lambda, with incomplete Gamma functions of any exponent."""
    pieces, nu = [], mp.mpf(0)
    for (a, log_a), (b, log_b) in pairwise(points):
        slope = (mp.mpf(log_b) - log_a) / mp.log(mp.mpf(b) / a)
        inside = mp.gammainc(m + slope, a, b) / mp.gamma(m)
        nu += mp.exp(log_a - slope * mp.log(a)) * inside
        pieces.append((mp.mpf(a), mp.mpf(b), mp.mpf(log_a), slope))

    def weight(t: mp.mpf) -> mp.mpf:
        for a, b, log_a, slope in pieces:
            if a < t <= b:
                return multiplier / nu * mp.exp(log_a + slope * mp.log(t / a))
        return mp.mpf(0)

    return weight


def _shell_mean(
    value: Callable[[mp.mpf], mp.mpf],
    d: float,
    k: float,
    rho: float,
    t: float,
    lam: float,
    rule: Rule,
    eta: float = 2.0,
) -> mp.mpf:
    """E[value(LR) ; LR < lam] on the shell t."""
    if lam <= 0:
        return mp.mpf(0)
    t, rho, kappa, power = mp.mpf(t), mp.mpf(rho), 2 * mp.mpf(k) / eta, 2 / mp.mpf(eta)
    h = t**power
    # For kappa = 0 the ratio is bounded: beyond its largest value the level is 0.
    level = mp.re(max(_level(kappa, t, mp.log(lam)), mp.mpf(0))) ** power
    cosine = (rho**2 / 2 + h - level) / (rho * mp.sqrt(2 * h))
    if cosine <= -1 or cosine * mp.sqrt(d) < -18:
        return mp.mpf(0)
    first = mp.acos(cosine) if cosine < 1 else mp.mpf(0)
    log_norm = mp.loggamma(mp.mpf(d) / 2) - mp.loggamma(mp.mpf(d - 1) / 2) - mp.log(mp.pi) / 2

    def integrand(theta: mp.mpf) -> mp.mpf:
        s = (h + rho**2 / 2 - rho * mp.sqrt(2 * h) * mp.cos(theta)) ** (1 / power)
        ratio = mp.exp(-kappa * mp.log(s / t) - (s - t)) if k else mp.exp(t - s)
        return value(ratio) * mp.exp(log_norm + (d - 2) * mp.log(mp.sin(theta)))

    # The angle keeps to pi/2 within 1/sqrt(d); 18 such widths away its density is below 1e-70.
    bulk = [mp.pi / 2 + mp.mpf(j) / mp.sqrt(d) for j in (-18, -9, -4.5, 0, 4.5, 9, 18)]
    first, last = max(first, bulk[0]), min(mp.pi, bulk[-1])
    return rule(integrand, [first, *(x for x in bulk if first < x < last), last])


def _level(k: float, t: mp.mpf, log_lam: mp.mpf) -> mp.mpf:
    """The s with phi(s) - phi(t) = ln lam: Newton in ln s, on a concave and monotone equation."""
    if k == 0:
        return t - log_lam
    log_s = mp.log(k * float(wrightomega(float(mp.log(t / k) + (t - log_lam) / k))))
    for _ in range(12):
        s = mp.exp(log_s)
        step = (-k * (log_s - mp.log(t)) - (s - t) - log_lam) / (k + s)
        log_s += step
        if abs(step) < mp.eps * 4:
            break
    return mp.exp(log_s)


@cache
def _panel(precision: int) -> list[tuple[mp.mpf, mp.mpf]]:
    return list(GaussLegendre(mp.mp).get_nodes(0, 1, 4, precision))


def _gauss(
    function: Callable[[mp.mpf], mp.mpf], edges: list[mp.mpf], graded: bool = False
) -> mp.mpf:
    """24-point Gauss-Legendre between neighbouring edges.

    `graded` puts x = v^2 (3 - 2 v) on each panel, which makes half powers at its ends whole ones.
    """
    nodes = _panel(mp.mp.prec)
    total = []
    for a, b in pairwise(edges):
        for v, weight in nodes:
            if graded:
                v, weight = v * v * (3 - 2 * v), weight * 6 * v * (1 - v)
            total.append((b - a) * weight * function(a + (b - a) * v))
    return mp.fsum(total)


def _radial_breaks(
    d: float,
    k: float,
    rho: float,
    threshold: Callable[[mp.mpf], mp.mpf],
    jumps: list[float],
    widest: float,
    eta: float,
) -> list[mp.mpf]:
    """Where t -> Phi_t(threshold(t)) jumps, bends (the cosine passes +-1) or turns over.

    `widest` is the smallest rate of the laws: the widest has its tail at 1/widest that of P.

    In plain floats: the breaks only steer the quadrature.
    """
    m, kappa = (d - 2 * k) / eta, 2 * k / eta

    def height(t: float) -> float:
        """sqrt(d) times the cosine where LR = threshold, clipped."""
        lam = threshold(mp.mpf(t))
        if lam <= 0:
            return -1e3
        level = max(float(_level(kappa, mp.mpf(t), mp.log(lam))), 0.0) ** (2 / eta)
        h = t ** (2 / eta)
        cosine = (rho**2 / 2 + h - level) / (rho * math.sqrt(2 * h))
        return min(max(float(cosine) * math.sqrt(d), -1e3), 1e3)

    tails = (1e-18, 1e-12, 1e-6, 1e-2)
    low, high = float(gammaincinv(m, tails[0])), float(gammainccinv(m, tails[0])) / widest
    jumps = sorted(t for t in jumps if low < t < high)
    breaks = {low, *jumps, *(float(gammaincinv(m, tail)) for tail in (*tails, 0.5))}
    breaks |= {float(gammainccinv(m, tail)) / rate for tail in tails for rate in (1.0, widest)}
    # A small shape m spreads its mass over many decades of t.
    breaks |= {low * 8.0**j for j in range(1, int(math.log(high / low, 8)))}
    pieces = [low, *jumps, high]
    levels = {-8.0, -4.0, -1.5, 1.5, 4.0, 8.0, math.sqrt(d), -math.sqrt(d)}
    for a, b in pairwise(pieces):
        grid = np.linspace(math.sqrt(a) * (1 + 1e-14), math.sqrt(b) * (1 - 1e-14), 150) ** 2
        heights = np.array([height(t) for t in grid])
        for level in levels:
            for i in np.flatnonzero(np.diff(heights > level)):
                breaks.add(brentq(lambda t: height(t) - level, grid[i], grid[i + 1]))  # noqa: B023
    return [mp.mpf(0), *(mp.mpf(t) for t in sorted(breaks))]

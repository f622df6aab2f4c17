"""P, Q and R of the paper's dual problem, one SciPy `quad` each (Theorem 5 and its variants).

Lengths are in units of sqrt(2) s', squared: a norm x becomes t = x^2 / (2 s'^2), the shift r
becomes h^2 = r^2 / (2 s'^2), the truncation radius T becomes tau. In these units every argument
that the paper hands to BetaCDF is +-(s - (sqrt t -+ h)^2) / (4 h sqrt t), and t ~ Gamma(m, 1).
Correctness comes before speed, and nothing here is shared with the package under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from scipy.integrate import quad
from scipy.special import betainc, gammainccinv, gammaincinv, gammaln, wrightomega

BULK_TAILS = (1e-9, 1e-3, 0.1)
TAIL_LEFT_OUT = 1e-18


def bisect(function: Callable[[float], float], low: float, high: float, tol: float = 0.0) -> float:
    """Plain bisection for a sign change; with tol = 0 until the interval is one rounding wide."""
    positive_low = function(low) > 0
    while high - low > tol:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if (function(middle) > 0) == positive_low:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True)
class Shells:
    """The spheres of the noise law N_g(k, sigma) in dimension d, and a shift of length r."""

    d: float
    k: float
    sigma: float
    r: float

    @property
    def m(self) -> float:
        return self.d / 2 - self.k

    @property
    def h(self) -> float:
        """r / (sqrt(2) s') with s' = sigma sqrt(d / (d - 2k))."""
        return self.r / (self.sigma * math.sqrt(self.d / self.m))

    def log_ratio(self, s: float, t: float) -> float:
        """phi(s) - phi(t), with phi(t) = -k ln t - t the log-density on shell t."""
        return -self.k * math.log(s / t) - (s - t)

    def inverse_density(self, t: float, log_lam: float) -> float:
        """g^-1(lam g(t)): the shell whose density is lam times that of shell t.

        The paper's k W((t/k) e^(t/k) lam^(-1/k)), with W in log form: Wright's omega solves
        w + ln w = y, that is w = W(e^y), and does not overflow.
        """
        if math.isinf(log_lam):
            return 0.0 if log_lam > 0 else math.inf
        if self.k == 0:
            return t - log_lam
        return self.k * float(wrightomega(math.log(t / self.k) + (t - log_lam) / self.k))

    def cap(self, t: float, s: float) -> float:
        """Pr[shell t, once shifted, lands inside shell s]: BetaCDF of the cap's height."""
        height = (s - (math.sqrt(t) - self.h) ** 2) / (4 * self.h * math.sqrt(t))
        return self._beta_cdf(height)

    def cap_complement(self, t: float, s: float) -> float:
        """1 - cap, with small values kept exact: (1 - height) has the form (sqrt t + h)^2 - s."""
        height = ((math.sqrt(t) + self.h) ** 2 - s) / (4 * self.h * math.sqrt(t))
        return self._beta_cdf(height)

    def _beta_cdf(self, x: float) -> float:
        a = (self.d - 1) / 2
        return float(betainc(a, a, min(max(x, 0.0), 1.0)))

    def hit(self, t: float, log_lam: float) -> float:
        """u_3(t, lam) of Theorem 5: Pr[p(x - delta) < lam p(x) | shell t]."""
        return (
            0.0
            if log_lam == -math.inf
            else self.cap_complement(t, self.inverse_density(t, log_lam))
        )

    def miss(self, t: float, log_lam: float) -> float:
        """1 - u_3(t, lam), exact where it is small."""
        return 1.0 if log_lam == -math.inf else self.cap(t, self.inverse_density(t, log_lam))

    def mean(
        self,
        value: Callable[[float], float],
        low: float = 0.0,
        high: float = math.inf,
        points: Iterable[float] = (),
    ) -> float:
        """E_{t ~ Gamma(m, 1)} value(t) [low < t < high]; `points`: where value bends or steps."""
        m = self.m
        low = max(low, float(gammaincinv(m, TAIL_LEFT_OUT)))
        high = min(high, float(gammainccinv(m, TAIL_LEFT_OUT)))
        if low >= high:
            return 0.0
        bulk = [float(gammaincinv(m, tail)) for tail in (*BULK_TAILS, 0.5)]
        bulk += [float(gammainccinv(m, tail)) for tail in BULK_TAILS]
        breaks = sorted({x for x in (*bulk, *points) if low < x < high})
        # Written around t = m, where (m - 1) ln t - t is a difference of large numbers.
        at_mean = (m - 1) * math.log(m) - m - float(gammaln(m))

        def integrand(t: float) -> float:
            return value(t) * math.exp(at_mean + (m - 1) * math.log(t / m) - (t - m))

        # full_output: rounding at the last digits is then a return code, not a warning.
        answer = quad(
            integrand, low, high, points=breaks or None, limit=500,
            epsabs=1e-14, epsrel=1e-9, full_output=1,
        )  # fmt: skip
        return float(answer[0])

    def step_points(self, s: float) -> list[float]:
        """Where t -> cap(t, s) steps from 1 to 0, over a width that `quad` would overlook."""
        centre = s - self.h**2
        if centre <= 0 or math.isinf(centre):
            return []
        width = 2 * self.h * math.sqrt(centre / self.d)
        return [centre + j * width for j in (-20, -8, -4, -2, -1, 0, 1, 2, 4, 8, 20)]


@dataclass(frozen=True)
class TruncatedQ:
    """Theorem 5 and its standard Gaussian twin: Q is P given t <= tau, a ball of mass `percentile`.

    Log-thresholds: ln(lambda_1 + nu lambda_2) inside, ln(lambda_1) outside; nu = 1/percentile.
    """

    shells: Shells
    percentile: float

    @property
    def tau(self) -> float:
        return float(gammaincinv(self.shells.m, self.percentile))

    def inside(self, log_in: float, miss: bool = False) -> float:
        """Q(lambda)/nu, the mass under P of the accepted (or missed) part of t <= tau."""
        side = self.shells.miss if miss else self.shells.hit
        return self.shells.mean(lambda t: side(t, log_in), high=self.tau)

    def outside(self, log_out: float, miss: bool = False) -> float:
        """h(lambda_1) = P - Q/nu, the same for t > tau."""
        side = self.shells.miss if miss else self.shells.hit
        return self.shells.mean(lambda t: side(t, log_out), low=self.tau)

    def r(self, log_in: float, log_out: float) -> float:
        """R(lambda_1, lambda_2) = E u_1 + u_2."""
        shells, tau = self.shells, self.tau

        def u(t: float) -> float:
            ball = shells.cap(t, tau)
            u1 = shells.cap(t, min(tau, shells.inverse_density(t, -log_in)))
            u2 = max(shells.cap(t, shells.inverse_density(t, -log_out)) - ball, 0.0)
            return u1 + u2

        bends = [
            shells.inverse_density(tau, log_lam)
            for log_lam in (log_in, log_out)
            if math.isfinite(log_lam)
        ]
        return shells.mean(u, points=[*shells.step_points(tau), *bends])


@dataclass(frozen=True)
class RescaledQ:
    """The 'different variances' tables: Q = N_g(k, beta); the multipliers may have any sign."""

    shells: Shells
    beta: float

    @property
    def kappa2(self) -> float:
        return (self.shells.sigma / self.beta) ** 2

    def log_weight(self, t: float) -> float:
        """ln w(t), w = q/p = kappa^(2m) exp(-(kappa^2 - 1) t)."""
        return self.shells.m * math.log(self.kappa2) - (self.kappa2 - 1) * t

    def log_threshold(self, t: float, l1: float, l2: float) -> float:
        """ln(lambda_1 + lambda_2 w(t)), -inf where not positive; w may overflow, ln w cannot."""
        log1 = math.log(abs(l1)) if l1 else -math.inf
        log2 = math.log(abs(l2)) + self.log_weight(t) if l2 else -math.inf
        top = max(log1, log2)
        if top == -math.inf:
            return top
        total = math.copysign(math.exp(log1 - top), l1) + math.copysign(math.exp(log2 - top), l2)
        return top + math.log(total) if total > 0 else -math.inf

    def sign_change(self, l1: float, l2: float) -> float | None:
        """The shell where lambda_1 + lambda_2 w(t) = 0, if there is one."""
        if not l1 * l2 < 0:
            return None
        log_ratio = math.log(abs(l1)) - math.log(abs(l2))
        t = (self.shells.m * math.log(self.kappa2) - log_ratio) / (self.kappa2 - 1)
        return t if t > 0 else None

    def _bends(self, l1: float, l2: float) -> list[float]:
        zero = self.sign_change(l1, l2)
        if zero is None:
            return []
        return [zero + sign * gap for gap in (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0) for sign in (-1, 1)]

    def p(self, l1: float, l2: float, miss: bool = False) -> float:
        """P(lambda_1, lambda_2), or 1 - P."""
        side = self.shells.miss if miss else self.shells.hit
        return self.shells.mean(
            lambda t: side(t, self.log_threshold(t, l1, l2)), points=self._bends(l1, l2)
        )

    def q(self, l1: float, l2: float, miss: bool = False) -> float:
        """Q(lambda_1, lambda_2), or 1 - Q: under Q, x = kappa^2 t is the Gamma(m, 1) variable."""
        side, kappa2 = self.shells.miss if miss else self.shells.hit, self.kappa2
        return self.shells.mean(
            lambda x: side(x / kappa2, self.log_threshold(x / kappa2, l1, l2)),
            points=[kappa2 * t for t in self._bends(l1, l2)],
        )

    def turning_points(self, l1: float, l2: float) -> list[float]:
        """Where lambda_1 g + lambda_2 h turns: -l2/l1 w(s) (k + kappa^2 s)/(k + s) = 1.

        The paper's lemma says at most once. Its proof needs k = 0 or k >= 1: a concave and a convex
        curve may meet twice, so for 0 < k < 1 both sides of the left side's own peak are searched.
        """
        k, kappa2 = self.shells.k, self.kappa2
        if not l1 * l2 < 0:
            return []
        log_ratio = math.log(abs(l2)) - math.log(abs(l1))

        def slope(s: float) -> float:
            return log_ratio + self.log_weight(s) + math.log((k + kappa2 * s) / (k + s))

        far = float(gammainccinv(self.shells.m, TAIL_LEFT_OUT))
        edges = [1e-300, 4 * (far + self.shells.h**2)]
        if 0 < k < 1:  # the peak: (k + kappa^2 s)(k + s) = k
            linear = k * (kappa2 + 1)
            root = math.sqrt(linear**2 + 4 * kappa2 * k * (1 - k))
            edges.insert(1, (root - linear) / (2 * kappa2))
        return [bisect(slope, a, b) for a, b in pairwise(edges) if slope(a) * slope(b) < 0]

    def r(self, l1: float, l2: float) -> float:
        """R(lambda_1, lambda_2), its inverse functions by binary search on every monotone piece."""
        shells = self.shells
        turns = self.turning_points(l1, l2)
        zero = self.sign_change(l1, l2)
        if zero is not None:
            turns.append(zero)

        def landed(t: float) -> float:
            def excess(s: float) -> float:
                return self.log_threshold(s, l1, l2) + shells.log_ratio(s, t)

            near, far = (math.sqrt(t) - shells.h) ** 2, (math.sqrt(t) + shells.h) ** 2
            near = max(near, 1e-300)
            edges = [near, *sorted(s for s in turns if near < s < far), far]
            total = 0.0
            for a, b in pairwise(edges):
                left, right = excess(a) > 0, excess(b) > 0
                if left != right:
                    crossing = bisect(excess, a, b)
                    a, b = (a, crossing) if left else (crossing, b)
                elif not left:
                    continue
                total += shells.cap(t, b) - shells.cap(t, a)
            return total

        steps = [point for s in turns for point in shells.step_points(s)]
        return shells.mean(landed, points=[*steps, *self._bends(l1, l2)])

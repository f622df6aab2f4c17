"""A slow textbook version of the certificates, straight from the paper's theorems and algorithms.

Algorithm 1 picks (P_A, Q_A) in the box, Algorithm 3 (truncated Q) or 4 (rescaled Q) finds the dual
variables, Algorithm 2 searches the radius; the slips of docs/differences.md are corrected. The
value is

    C = R(l1, l2) + l1 (P_A - P(l1, l2)) + l2 (Q_A - Q(l1, l2)),

the Lagrangian: with exact dual variables it is the paper's R, with inexact ones still a lower
bound, and an error in the variables enters squared. `q_value` is the radial percentile of the ball
for truncated Q and beta for rescaled Q.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtri

from oracle.theorem_integrals import RescaledQ, Shells, TruncatedQ, bisect

LOG_TOLERANCE = 1e-10  # of a multiplier, relative
BOUNDARY = 1e-13  # a point this close to the edge of the feasible region counts as on it
SMALLEST, LARGEST = 1e-30, 1e60  # the magnitudes that a multiplier of Algorithm 4 may have


class InfeasibleBox(ValueError):
    """No classifier has these probabilities under P and Q."""


def textbook_radius(
    d: float,
    k: float,
    sigma: float,
    p_lower: float,
    p_upper: float,
    q_shape: str,
    q_value: float,
    q_lower: float,
    q_upper: float,
    tol: float = 1e-6,
) -> float:
    """Algorithm 2: the double-sampling radius, to `tol` sigma.

    C need not be monotone in r, so the search walks up from the Neyman-Pearson radius to the first
    failing step.
    """
    start = textbook_np_radius(d, k, sigma, p_lower, tol)
    if math.isinf(start):
        return start

    def margin(r: float) -> float:
        p, q = textbook_box_minimum(
            d, k, sigma, r, p_lower, p_upper, q_shape, q_value, q_lower, q_upper
        )
        return textbook_worst_case(d, k, sigma, r, p, q, q_shape, q_value) - 0.5

    return _first_failure(margin, start, sigma, tol)


def textbook_np_radius(
    d: float, k: float, sigma: float, p_lower: float, tol: float = 1e-6
) -> float:
    """The Neyman-Pearson radius: sigma Phi^-1(P) for k = 0, a search as in Algorithm 2 else."""
    if p_lower <= 0.5:
        return 0.0
    if p_lower >= 1:
        return math.inf
    if k == 0:
        return sigma * float(ndtri(p_lower))

    def margin(r: float) -> float:
        shells = Shells(d, k, sigma, r)
        log_lam = _log_root(lambda x: _gap(p_lower, _p_alone(shells, x)))
        return _p_only_value(shells, p_lower, log_lam) - 0.5

    return _first_failure(margin, 0.0, sigma, tol)


def textbook_box_minimum(
    d: float,
    k: float,
    sigma: float,
    r: float,
    p_lower: float,
    p_upper: float,
    q_shape: str,
    q_value: float,
    q_lower: float,
    q_upper: float,
) -> tuple[float, float]:
    """Algorithm 1: where C is smallest in the box, by Neyman-Pearson on one law at a time."""
    shells = Shells(d, k, sigma, r)
    law = _additional_law(shells, q_shape, q_value)
    if p_lower <= 0 or p_lower >= 1:
        q = p_lower
    else:
        log_lam = _log_root(lambda x: _gap(p_lower, _p_alone(shells, x)))
        if isinstance(law, TruncatedQ):
            q = law.inside(log_lam) / law.percentile
        else:
            q = law.q(math.exp(log_lam), 0.0)
    if q > q_lower:
        return p_lower, min(q, q_upper)
    if isinstance(law, TruncatedQ):
        p = q_lower * law.percentile
    elif q_lower <= 0 or q_lower >= 1:
        p = q_lower
    else:
        log_l2 = _log_root(lambda x: _gap(q_lower, lambda miss: law.q(0.0, math.exp(x), miss)))
        p = law.p(0.0, math.exp(log_l2))
    # Of a ball, Q_A fixes at least this much of P_A; elsewhere Algorithm 1 stops at the box.
    if isinstance(law, TruncatedQ) and p > p_upper + 1e-9:
        raise InfeasibleBox(f"Q_A >= {q_lower} needs P_A >= {p}, but P_A <= {p_upper}")
    return max(min(p, p_upper), p_lower), q_lower


def textbook_worst_case(
    d: float, k: float, sigma: float, r: float, P: float, Q: float, q_shape: str, q_value: float
) -> float:
    """C_delta(P_A, Q_A) for |delta| = r: the smallest probability at x0 + delta that fits both."""
    law = _additional_law(Shells(d, k, sigma, r), q_shape, q_value)
    return (
        _truncated_value(law, P, Q) if isinstance(law, TruncatedQ) else _rescaled_value(law, P, Q)
    )


def _additional_law(shells: Shells, q_shape: str, q_value: float) -> TruncatedQ | RescaledQ:
    if q_shape == "truncated":
        return TruncatedQ(shells, q_value)
    if q_shape == "rescaled":
        return RescaledQ(shells, q_value)
    raise ValueError(f"`q_shape` must be truncated or rescaled, got {q_shape!r}")


def _truncated_value(law: TruncatedQ, p: float, q: float) -> float:
    """Algorithm 3: lambda_1 + nu lambda_2 from Q_A, lambda_1 from P_A - Q_A/nu, each on its own.

    On the boundary of the feasible region a threshold is 0 or infinite (appendix, edge cases), and
    its constraint holds exactly, so it adds nothing to the Lagrangian.
    """
    mass = law.percentile
    inside, outside = q * mass, p - q * mass
    if not (-1e-9 < outside < 1 - mass + 1e-9 and 0 <= q <= 1):
        raise InfeasibleBox(f"P_A = {p} and Q_A = {q} do not fit a ball of mass {mass}")
    log_in, slack_in = _side(inside, mass, (1 - q) * mass, law.inside)
    log_out, slack_out = _side(outside, 1 - mass, (1 - p) - (1 - q) * mass, law.outside)
    return law.r(log_in, log_out) + slack_in + slack_out


def _side(
    hit: float, mass: float, missed: float, integral: Callable[[float, bool], float]
) -> tuple[float, float]:
    """The log-threshold that accepts `hit` of `mass`, and what it still adds to the Lagrangian."""
    if hit <= BOUNDARY:
        return -math.inf, 0.0
    if missed <= BOUNDARY * mass:
        return math.inf, 0.0

    def gap(log_lam: float) -> float:
        return hit - integral(log_lam, False) if hit < missed else integral(log_lam, True) - missed

    log_lam = _log_root(gap)
    return log_lam, math.exp(log_lam) * gap(log_lam)


def _rescaled_value(law: RescaledQ, p: float, q: float) -> float:
    """Algorithm 4, jointly: l2 from the curve P(l1, l2) = P_A, l1 by comparing Q with Q_A."""
    forced = _forced_ball(law, p, q)
    if forced is not None:
        return forced

    def p_gap(l1: float, l2: float) -> float:
        return _gap(p, lambda miss: law.p(l1, l2, miss))

    def q_gap(l1: float, l2: float) -> float:
        return _gap(q, lambda miss: law.q(l1, l2, miss))

    def value(l1: float, l2: float) -> float:
        return law.r(l1, l2) + l1 * p_gap(l1, l2) + l2 * q_gap(l1, l2)

    edge = _to_scale(LARGEST)
    low1, high1, low2, high2 = -edge, edge, -edge, edge
    u1 = u2 = 0.0
    while high1 - low1 > LOG_TOLERANCE:
        u1 = (low1 + high1) / 2
        l1 = _from_scale(u1)
        # The bracket of l2 is widened by the tolerance to which its ends are known.
        u2 = bisect(
            lambda u: p_gap(l1, _from_scale(u)),  # noqa: B023  used at once
            low2 - LOG_TOLERANCE, high2 + LOG_TOLERANCE, LOG_TOLERANCE,
        )  # fmt: skip
        if q_gap(l1, _from_scale(u2)) > 0:
            high1, low2 = u1, u2
        else:
            low1, high2 = u1, u2
    # Where Q says nothing about P the pair is ill-determined; weak duality lets P alone speak too.
    alone = math.exp(_log_root(lambda x: _gap(p, _p_alone(law.shells, x))))
    return max(value(_from_scale(u1), _from_scale(u2)), value(alone, 0.0))


def _forced_ball(law: RescaledQ, p: float, q: float) -> float | None:
    """C on the edge of the feasible region, where only a ball or its complement fits."""
    m, kappa2, shells = law.shells.m, law.kappa2, law.shells
    in_ball, in_rest = float(gammaincinv(m, p)), float(gammainccinv(m, p))
    q_ball, q_rest = float(gammainc(m, kappa2 * in_ball)), float(gammaincc(m, kappa2 * in_rest))
    low, high = min(q_ball, q_rest), max(q_ball, q_rest)
    if q < low - 1e-9 or q > high + 1e-9:
        raise InfeasibleBox(f"Q_A = {q} is outside [{low}, {high}], all that P_A = {p} leaves")
    if abs(q - q_ball) <= BOUNDARY:
        return shells.mean(lambda t: shells.cap(t, in_ball), points=shells.step_points(in_ball))
    if abs(q - q_rest) <= BOUNDARY:
        return shells.mean(
            lambda t: shells.cap_complement(t, in_rest), points=shells.step_points(in_rest)
        )
    return None


def _to_scale(multiplier: float) -> float:
    """A scale that is logarithmic on both sides of zero, as multipliers span many orders."""
    return math.asinh(multiplier / SMALLEST)


def _from_scale(u: float) -> float:
    return SMALLEST * math.sinh(u)


def _p_alone(shells: Shells, log_lam: float) -> Callable[[bool], float]:
    """P(lambda, 0), or its complement."""
    return lambda miss: shells.mean(
        lambda t: shells.miss(t, log_lam) if miss else shells.hit(t, log_lam)
    )


def _p_only_value(shells: Shells, p: float, log_lam: float) -> float:
    """The Lagrangian with lambda_2 = 0: the Neyman-Pearson worst case."""
    moved = shells.mean(lambda t: shells.cap(t, shells.inverse_density(t, -log_lam)))
    return moved + math.exp(log_lam) * _gap(p, _p_alone(shells, log_lam))


def _gap(target: float, probability: Callable[[bool], float]) -> float:
    """target - probability, through the smaller tail; `probability(True)` is the complement."""
    return target - probability(False) if target < 0.5 else probability(True) - (1 - target)


def _log_root(gap: Callable[[float], float]) -> float:
    """The log-threshold where a decreasing gap changes sign; the bracket doubles until it does."""
    edge = 1.0
    while gap(-edge) <= 0 or gap(edge) >= 0:
        edge *= 2
    return bisect(gap, -edge, edge, LOG_TOLERANCE)


def _first_failure(
    margin: Callable[[float], float], start: float, sigma: float, tol: float
) -> float:
    """Walk up from `start`, known to hold, to the first step with margin <= 0; then bisect."""
    low, step = start, 0.1 * sigma
    while margin(low + step) > 0:
        low += step
        step = max(step, 0.1 * low)
    high = low + step
    while high - low > tol * sigma:
        middle = (low + high) / 2
        if margin(middle) > 0:
            low = middle
        else:
            high = middle
    return low

"""An upper bound of the gradient of P_A from the noise of the votes that missed (docs/math.md 12).

With f = 1 where the vote is for the class and noise sigma z, Stein's formula is

    sigma grad P_A = E[f z] = -E[(1 - f) z] =: g,

so the votes that missed tell of the gradient. Let g1 and g2 be the means of -(1 - f) z over two
halves of the votes, and h = |g|.

1. In the fixed direction of g the mean over half 1 has the expectation h: except with probability
   a1, <g, g1> >= h (h - t1).
2. Given half 1 the direction e of g1 is fixed, and half 2 is independent of it: except with
   probability a2, <g, e> <= <g2, e> + t2.

Together h (h - t1) <= |g1| <g, e> <= <g1, g2> + |g1| t2, a quadratic inequality for h.

t1 and t2 are deviations of a mean of Y = 1{miss} v with v standard normal. For every s > 0

    ln E exp(s (Y - E Y)) <= E[1{miss} psi(s v)],  psi(x) = e^x - 1 - x >= 0

(ln(1 + x) <= x), whatever the misses have to do with v. If a vote misses with probability at most
q, the right side is at most c q + E[(psi(s v) - c)+] for any c >= 0. That is Chernoff's bound for
both signs of s, since v is symmetric. It grows with q: an upper bound of the miss rate may stand
for q, and where that fails is counted once, with the bound of P_A.
"""

from __future__ import annotations

import functools
import math

from scipy import optimize, special

from dsrs.errors import InvalidInput

# Differences of probabilities below are right to a few units of 1e-16.
SLACK = 1e-14


@functools.lru_cache(maxsize=4096)
def mean_deviation(votes: int, miss_rate: float, alpha: float) -> float:
    """How far the mean of `votes` copies of Y may lie from its expectation, on one side, except
    with probability alpha: the least (K(s) + ln(1/alpha)/votes) / s, for the K(s) above."""
    if votes < 1 or not 0 <= miss_rate <= 1 or not 0 < alpha < 1:
        raise InvalidInput(
            "a deviation needs votes >= 1, a miss rate in [0, 1] and alpha in (0, 1), got "
            f"{votes}, {miss_rate!r}, {alpha!r}"
        )
    if miss_rate == 0:
        return 0.0
    price = -math.log(alpha) / votes

    def at(log_s: float) -> float:
        s = math.exp(log_s)
        return (_log_moment(s, miss_rate) + price) / s

    guess = 0.5 * math.log(2 * price / max(miss_rate, 1e-300))
    best = optimize.minimize_scalar(at, bounds=(guess - 6, min(guess + 6, 3.0)), method="bounded")
    return float(best.fun) * (1 + 1e-12)


def _log_moment(s: float, q: float) -> float:
    """Return c q + E[(psi(s v) - c)+] with c = psi(s b), where psi > c has about the probability q.

    The other end a of the set psi(s v) > c, v < -a, is found by Newton; an error in it counts
    squared.
    """
    middle = float(-special.ndtri(min(q / 2, 0.5)))
    # psi is lopsided: its level sets reach from -middle - e to middle - e, to first order in s.
    b = max(middle * (1 - s * middle / 6), float(-special.ndtri(q)), 0.0)
    c = _psi(s * b)
    x = -s * b
    for _ in range(40):
        slope = math.expm1(x)
        step = (_psi(x) - c) / slope if slope else 0.0
        x -= step
        if abs(step) <= 1e-14 * abs(x):
            break
    a = -x / s
    growth = math.exp(s * s / 2)
    above = growth * special.ndtr(s - b) - special.ndtr(-b) - s * _density(b)
    below = growth * special.ndtr(-a - s) - special.ndtr(-a) + s * _density(a)
    outside = special.ndtr(-a) + special.ndtr(-b)
    return float(c * (q - outside) + above + below) + SLACK


def _psi(x: float) -> float:
    return (
        math.expm1(x) - x if abs(x) > 1e-3 else x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x / 120)))
    )


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gradient_bound(
    first_norm: float,
    product: float,
    votes: tuple[int, int],
    miss_rate: float,
    alpha: float,
    rounding: float = 0.0,
) -> float:
    """An upper bound of sigma |grad P_A| that fails with probability at most alpha, if no more
    than `miss_rate` of the votes miss.

    `first_norm` is |g1|, `product` is <g1, g2>; `votes` are the sizes of the two halves. Half of
    alpha is for each of the two steps above. g1 and g2 may be off by a vector of length `rounding`.
    """
    first, second = (mean_deviation(count, miss_rate, alpha / 2) + rounding for count in votes)
    above = max(product + first_norm * second, 0.0)
    return 0.5 * first + math.sqrt(0.25 * first * first + above)

"""An upper bound of the gradient of P_A from votes, enclosed (docs/math.md 12).

With g1, g2 the means of -(1 - f) z over two halves of the votes and deviations t1, t2,

    |g| <= t1/2 + sqrt(t1^2/4 + <g1, g2> + |g1| t2),
    t = (K(s) + ln(1/a) / n) / s  for any s > 0,
    K(s) = c q + E[(psi(s v) - c)_+],  psi(x) = e^x - 1 - x,  for any c >= 0.

Any s and c make valid deviations, so they are searched roughly; with c = psi(s b) the set where
psi(s v) > c is v > b or v < -a, and a is enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dsrs.audit.balls import arb, between, exact
from dsrs.audit.counts import STANDARD_NORMAL
from dsrs.audit.gaussian import normal_below, normal_density
from dsrs.audit.verdicts import Undecided


def gradient_bound(
    first_norm: float,
    product: float,
    votes: tuple[int, int],
    miss_rate: arb,
    alpha: arb,
    rounding: arb,
) -> arb:
    """The bound, which fails with probability at most alpha; half of it for each deviation."""
    first, second = (_deviation(count, miss_rate, alpha / 2) + rounding for count in votes)
    above = (exact(product) + exact(first_norm) * second).max(arb(0))
    return first / 2 + (first * first / 4 + above).sqrt()


def held_by(probability: arb) -> arb:
    """Return an upper bound of E[|v|; A] over the events A of this probability: 2 phi(x), where 2
    Phi(-x) is the probability."""
    if not probability > 0:
        return arb(0)
    # Any x bounds it: E[|v|; event] <= x probability + 2 (phi(x) - x Phi(-x)).
    x = exact(-STANDARD_NORMAL.inv_cdf(min(float(probability) / 2, 0.5)))
    return x * probability + 2 * (normal_density(x) - x * normal_below(-x))


def _deviation(votes: int, miss_rate: arb, alpha: arb) -> arb:
    """Return an upper bound of the deviation t, for nearly the best s: a golden section in ln s."""
    price = -alpha.log() / votes
    q = float(miss_rate)
    if q == 0:
        return arb(0)

    def at(log_s: float) -> arb:
        s = exact(math.exp(log_s))
        return (_log_moment(s, miss_rate) + price) / s

    guess = 0.5 * math.log(2 * float(price) / q)
    return at(_least(lambda x: float(at(x)), guess - 6, min(guess + 6, 3.0)))


def _least(f: Callable[[float], float], low: float, high: float) -> float:
    """About the place where f is least: a golden section."""
    share = (math.sqrt(5) - 1) / 2
    a, b = high - share * (high - low), low + share * (high - low)
    at_a, at_b = f(a), f(b)
    while high - low > 1e-6:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - share * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + share * (high - low)
            at_b = f(b)
    return 0.5 * (low + high)


def _log_moment(s: arb, miss_rate: arb) -> arb:
    """An enclosure of K(s) as the docstring of this file defines it, for about the best c."""
    q = min(float(miss_rate), 1.0)
    middle = -STANDARD_NORMAL.inv_cdf(min(q / 2, 0.5))
    rough = middle * (1 - float(s) * middle / 6)
    b = exact(max(rough, -STANDARD_NORMAL.inv_cdf(q) if q < 1 else 0.0, 1e-6))
    level = _psi(s * b)
    a = _other_end(s, level, float(b))
    growth = (s * s / 2).exp()
    above = growth * normal_below(s - b) - normal_below(-b) - s * normal_density(b)
    below = growth * normal_below(-a - s) - normal_below(-a) + s * normal_density(a)
    outside = normal_below(-a) + normal_below(-b)
    return level * (miss_rate - outside) + above + below


def _psi(x: arb) -> arb:
    return x.expm1() - x


def _other_end(s: arb, level: arb, guess: float) -> arb:
    """Enclose the a > 0 with psi(-s a) = level, by a change of sign."""
    a = exact(guess)
    for _ in range(12):
        # psi' = e^x - 1, and x = -s a.
        a = (a + (_psi(-s * a) - level) / ((-s * a).expm1() * s)).mid()
    width = abs(a) * arb(2) ** -60
    near, far = (a - width).mid(), (a + width).mid()
    if not (near > 0 and _psi(-s * near) < level and _psi(-s * far) > level):
        raise Undecided("the deviation of a gradient cannot be enclosed")
    return between(near, far)

"""Enclosures of one-dimensional integrals: Gauss-Legendre with a proved remainder.

Let f be analytic on the ellipse around [-1, 1] with half axes (z + 1/z)/2 and (z - 1/z)/2, and
|f| <= M there. Its Chebyshev coefficients are at most 2 M z^-j. The rule with n >= 2 nodes is exact
to degree 2n - 1 and odd terms integrate to 0; the integral of T_j is at most 2/(j^2 - 1) and the
rule's value at most 2 in size, since its weights are positive and add up to 2. So the error is at
most

    sum over even j >= 2n of 2 M z^-j (2 + 2/15)  =  (64/15) M z^(-2n) / (1 - z^-2).

A panel where no such M can be shown is halved, unless interval arithmetic on the whole panel is
sharp enough (kinks, where nothing is analytic but little is at stake).
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from dsrs.audit.balls import Ball, acb, arb, between, bits
from dsrs.audit.limits import Budget
from dsrs.audit.verdicts import Undecided

AXIS = 3  # z: the best compromise between wide ellipses and fast convergence
RULES = (6, 10, 14, 18, 24, 30, 38)
SHARP = 1e-14  # the remainder that a panel may have
DEEPEST = 120  # halvings


class Integrand(ABC):
    """A real function that is analytic nearly everywhere."""

    @abstractmethod
    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        """The values on the members of u; on a box those of a function that is analytic there, and
        by how much f may differ from it on the real line. None where nothing can be shown."""

    def at(self, x: arb) -> arb:
        """Its value, or a ball that holds its values where x is a ball; may be NaN."""
        found = self.value(x)
        return arb.nan() if found is None else found[0]


# What to do with a panel where f is not seen to be analytic: its part, or None to halve it.
Otherwise = Callable[[arb, arb], "arb | None"]


def integral(
    f: Integrand,
    low: arb,
    high: arb,
    budget: Budget,
    otherwise: Otherwise | None = None,
    sharp: float = SHARP,
) -> arb:
    """An enclosure of the integral of f from low to high; panels are met from left to right."""
    total = arb(0)
    waiting = [(low, high, 0)]
    while waiting:
        a, b, depth = waiting.pop()
        part = _panel(f, a, b, budget, sharp)
        if part is None:
            part = otherwise(a, b) if otherwise else _as_interval(f, a, b, budget, sharp)
        if part is not None:
            total += part
        elif depth == DEEPEST:
            raise Undecided("an integrand cannot be enclosed where it has a kink")
        else:
            middle = ((a + b) / 2).mid()
            waiting += [(middle, b, depth + 1), (a, middle, depth + 1)]
    return total


def _panel(f: Integrand, a: arb, b: arb, budget: Budget, sharp: float) -> arb | None:
    half, middle = (b - a) / 2, (a + b) / 2
    budget.spend(1)
    on_box = f.value(_ellipse(middle, half))
    if on_box is None:
        return None
    size, missing = on_box[0].abs_upper(), on_box[1]
    most = half.abs_upper() * size
    if not most.is_finite():
        return None
    count = _nodes_for(float(most), sharp)
    if count is None:
        return None
    budget.spend(count)
    total = arb(0)
    for node, weight in _rule(count):
        total += weight * f.at(middle + half * node)
    remainder = most * _tail(count)
    return half * total + arb(0, (remainder + missing * half * 2).abs_upper())


def _as_interval(f: Integrand, a: arb, b: arb, budget: Budget, sharp: float) -> arb | None:
    """Length times range, where that is sharp."""
    budget.spend(1)
    part = f.at(between(a, b)) * (b - a)
    return part if part.is_finite() and part.rad() < sharp else None


def _ellipse(middle: arb, half: arb) -> acb:
    """A box around the ellipse."""
    long, short = half * (AXIS + arb(1) / AXIS) / 2, half * (AXIS - arb(1) / AXIS) / 2
    return acb(middle + arb(0, long.abs_upper()), arb(0, short.abs_upper()))


def _nodes_for(most: float, sharp: float) -> int | None:
    """The smallest rule whose remainder is sharp, given half the length times M."""
    for count in RULES:
        if most == 0 or math.log(most) + math.log(5) - 2 * count * math.log(AXIS) < math.log(sharp):
            return count
    return None


def _tail(count: int) -> arb:
    ratio = arb(AXIS)
    return arb(64) / 15 * ratio ** (-2 * count) / (1 - ratio**-2)


def _rule(count: int) -> list[tuple[arb, arb]]:
    return _rule_of(count, bits())


@functools.lru_cache(maxsize=64)
def _rule_of(count: int, precision: int) -> list[tuple[arb, arb]]:
    """Nodes and weights, with their enclosures."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]

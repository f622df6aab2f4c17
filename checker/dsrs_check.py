"""Check smoothing certificates: the mathematics. Needs Python and python-flint, nothing else.

Noise e ~ P in d dimensions is round: its density falls with the norm as |x|^(-2k) exp(-t), with
t = (|x|/s)^eta ~ Gamma(m, 1), m = (d - 2k)/eta. A law Q has the density w p, where the weight w
depends on the shell t alone. For multipliers l_i of either sign let g = sum of l_i q_i. An event
with probability X_i under Q_i has, where the input is shifted by delta, at least the probability

    B = integral of min(g(x), p(x - delta)) dx - sum of l_i (1 - X_i)              (weak duality)

because f p(x - delta) >= f g - (g - p(x - delta))_+ for every f between 0 and 1. It rises with X_i
where l_i > 0 and falls where l_i < 0: a lower bound of X_i takes l_i >= 0, an upper one l_i <= 0.

Shells are named by u = ln(t/m) for x and by v for y = x - delta. Lengths are in units of
s / sqrt(2), so that h = |x|^2 / 2 = t^(2/eta); rho is the length of the shift in them.

A number is a ball (Arb) that holds the true value, and a comparison is true only if it holds for
all members of both balls. Nothing is searched for and no clock is read; work is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, TypeVar

try:
    from flint import acb, arb, arb_series, ctx
except ImportError:  # the closed forms in whole numbers do without
    ctx = None

BITS = 100  # of every number: what is left when exponents of 1e5 cancel
LARGEST_MULTIPLIER = 1e200
EVALUATIONS = 1_000_000  # of integrands, for one step of a proof
SHARP = 1e-17  # what a panel of an integral may miss
DEPTH = 48.0  # shells with a density below e^-DEPTH are left to bounds of tails
MOST_PIECES = 2_000  # of a law
LARGEST_RISE = 1e-6  # what rounding never makes

Ball = TypeVar("Ball", "arb", "acb")  # a set of real numbers, or a box of complex ones


class NotProved(Exception):
    """What is said does not follow, or is not shown within the counted work."""


def demand(holds: bool, reason: str) -> None:
    """Raise NotProved unless something holds."""
    if not holds:
        raise NotProved(reason)


@contextmanager
def proving(multipliers: Sequence[float] = ()) -> Iterator[None]:
    """Compute with BITS, and with as many more as large multipliers take away.

    Whatever goes wrong inside, nothing is proved.
    """
    demand(ctx is not None, "this needs python-flint: pip install python-flint")
    demand(all(abs(l) < LARGEST_MULTIPLIER for l in multipliers), "a multiplier is too large")
    before = ctx.prec, ctx.cap
    ctx.prec = BITS + math.ceil(math.log2(max(1.0, *map(abs, multipliers), 1.0)))
    ctx.cap = ctx.prec  # terms of a power series
    try:
        yield
    except NotProved:
        raise
    except Exception as error:
        raise NotProved(f"the numbers cannot be computed with: {error!r}") from error
    finally:
        ctx.prec, ctx.cap = before


def exact(value: float | Fraction) -> arb:
    """Return the number itself; a float is its binary value."""
    if isinstance(value, Fraction):
        return arb(value.numerator) / arb(value.denominator)
    return arb(value)


def within(radius: arb) -> arb:
    """Return a ball around 0 that holds everything up to `radius` in size."""
    return arb(0, radius.abs_upper())


def up_to(most: arb) -> arb:
    """Return a ball that holds everything from 0 to `most`."""
    return arb(0).union(most.upper())


# ------------------------------------------------------------------------------------ integrals


@dataclass
class Budget:
    """How many integrands may still be evaluated."""

    left: int = EVALUATIONS

    def spend(self, count: int) -> None:
        """Take `count` evaluations."""
        self.left -= count
        demand(self.left >= 0, "an integral needs more evaluations than one step may take")


class Integrand(Protocol):
    """A real function f that is analytic nearly everywhere.

    It returns values on all members of u. On a box these are of a function that is analytic there;
    the second ball bounds how far f is from it on real u. None: no such function is seen.
    """

    def __call__(self, u: Ball) -> tuple[Ball, arb] | None: ...


# What to do with a panel on which nothing analytic is seen: a name for it and its part of the
# integral, or None.
Settle = Callable[["arb", "arb"], "tuple[str, arb | None]"]


def panels(
    f: Integrand,
    low: arb,
    high: arb,
    budget: Budget,
    settle: Settle | None = None,
    sharp: float = SHARP,
) -> Iterator[tuple[arb, arb, str, arb]]:
    """Yield panels from left to right: both ends, what they are called, and the integral of f.

    A panel is halved until a Gauss rule, `settle`, or its length times its range is sharp.
    """
    waiting = [(low, high)]
    while waiting:
        a, b = waiting.pop()
        kind, part = "analytic", gauss(f, a, b, budget, sharp)
        if part is None and settle is not None:
            kind, part = settle(a, b)
        if part is None:
            budget.spend(1)
            kind, ranging = "analytic", f(a.union(b))
            part = None if ranging is None else (ranging[0] + within(ranging[1])) * (b - a)
        if part is not None and (kind != "analytic" or part.rad() < 1e3 * sharp):
            yield a, b, kind, part
            continue
        middle = ((a + b) / 2).mid()
        demand(a < middle and middle < b, "an integrand cannot be enclosed where it has a kink")
        waiting += [(middle, b), (a, middle)]


def integral(f: Integrand, low: arb, high: arb, budget: Budget, sharp: float = SHARP) -> arb:
    """Enclose the integral of f from low to high."""
    return sum((part for *_, part in panels(f, low, high, budget, None, sharp)), arb(0))

"""Numbers with proved error bounds: what Arb's balls need beside their own operations.

A ball `arb` is a set of real numbers, a box `acb` a set of complex ones. An operation on sets
contains the operation on every member; a comparison is true only if it holds for all members.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

from flint import acb as acb
from flint import arb as arb
from flint import ctx

# Bits of every number: what is left after the cancellation in exponents of size 1e5.
BITS = 100

Ball = TypeVar("Ball", arb, acb)


@contextmanager
def precision(extra: int = 0) -> Iterator[None]:
    """Compute with BITS and `extra` more, for numbers that large factors will multiply."""
    before = ctx.prec
    ctx.prec = BITS + extra
    try:
        yield
    finally:
        ctx.prec = before


def bits() -> int:
    """The number of bits that balls have now."""
    return int(ctx.prec)


def exact(value: float | int | Fraction) -> arb:
    """The number itself: floats are taken by their binary value."""
    if isinstance(value, Fraction):
        return arb(value.numerator) / arb(value.denominator)
    return arb(value)


def between(low: arb, high: arb) -> arb:
    """A ball that holds everything from `low` to `high`."""
    return low.union(high)


def around(middle: Ball, radius: arb) -> Ball:
    """All numbers within `radius` of a member of `middle`: a disc where it is complex."""
    reach = arb(0, radius.abs_upper())
    if isinstance(middle, acb):
        return middle + acb(reach, reach)
    return middle + reach


def centre(ball: Ball) -> arb:
    """A real number in the middle; boxes here are centred on the real line."""
    real = ball.real
    assert isinstance(real, arb)
    return real.mid()


def lesser(a: arb, b: arb) -> arb:
    """The one of two balls that is less by its middle: for choices, which prove nothing."""
    return a if float(a) <= float(b) else b


def greater(a: arb, b: arb) -> arb:
    """The one of two balls that is greater by its middle: for choices, which prove nothing."""
    return a if float(a) >= float(b) else b

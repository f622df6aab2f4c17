"""The sign of g where it is the sum of at most two functions: in closed form, but for its zeros.

Terms of g that are multiples of one function, as those of P and of a truncated law are, count as
one. Two terms c1 exp(L1) and c2 exp(L2) of opposite signs are as large as each other where
h = ln|c2/c1| + L2 - L1 is 0. Since h' = a2 - a1 - (rate2 - rate1) t, h has at most one extremum
and g at most two zeros, however nearly the terms cancel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import Floats
from dsrs.duality.density import Components, Integers, log_term
from dsrs.duality.kernel import kernel

POSITIVE, UNSURE, NEGATIVE = 1.0, 0.0, -1.0
# Relative rounding of a term, in multiples of that of its parts, from which on its sign is doubted.
DOUBTFUL = 0.01


@kernel
def net_multiplier(
    parts: Components, active: Integers, multipliers: Floats, j: int
) -> tuple[float, float]:
    """The terms of g that are multiples of component j, as one: its multiplier, and the sum of
    their magnitudes; (0, 0) if one of them is higher than j, or as high and before it."""
    net, gross = 0.0, 0.0
    for i in active:
        alike = (
            parts.exponent[i] == parts.exponent[j]
            and parts.decay[i] == parts.decay[j]
            and parts.anchor[i] == parts.anchor[j]
        )
        if not alike:
            continue
        # No quotient of heights overflows when the highest one stands for all.
        step = parts.log_height[i] - parts.log_height[j]
        if step > 0.0 or (step == 0.0 and i < j):
            return 0.0, 0.0
        term = multipliers[parts.owner[i]] * math.exp(step)
        net += term
        gross += abs(term)
    return net, gross


@kernel
def advantage(parts: Components, first: int, second: int, excess: float, u: float) -> float:
    """Return h, the logarithm of the second term over the first."""
    return excess + log_term(parts, second, u) - log_term(parts, first, u)


@kernel
def add_strip(rows: Floats, n: int, low: float, high: float, sign: float) -> int:
    """Append a strip, or lengthen the last one if it has the same sign."""
    if n > 0 and rows[n - 1, 2] == sign:
        rows[n - 1, 1] = high
        return n
    rows[n, 0], rows[n, 1], rows[n, 2] = low, high, sign
    return n + 1


@kernel
def first_beyond(
    parts: Components,
    first: int,
    second: int,
    excess: float,
    level: float,
    rising: bool,
    low: float,
    high: float,
) -> float:
    """From where on the monotone h is above `level` if it rises, or at most `level` if it falls."""
    if (advantage(parts, first, second, excess, low) > level) == rising:
        return low
    if (advantage(parts, first, second, excess, high) > level) != rising:
        return high
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if (advantage(parts, first, second, excess, middle) > level) == rising:
            high = middle
        else:
            low = middle


@kernel
def largest_log(parts: Components, j: int, low: float, high: float) -> float:
    """The largest value on [low, high] of the log-density of component j, which is concave."""
    a, decay, anchor = parts.exponent[j], parts.decay[j], parts.anchor[j]
    peak = low
    if a >= decay * math.exp(min(high - anchor, 700.0)):
        peak = high
    elif a > decay * math.exp(low - anchor):
        peak = anchor + math.log(a / decay)
    return log_term(parts, j, peak)


class Pair(NamedTuple):
    """Two terms of g that are no multiples of each other, or fewer."""

    first: int  # the components that stand for them
    second: int
    first_size: float  # their multipliers, of all components that are multiples of them
    second_size: float
    doubt: float  # how far rounding may move the logarithm of their ratio, with a factor of 2
    terms: int  # how many there are; -1 if there are more, or their signs are doubtful


@kernel
def pair_of(parts: Components, active: Integers, multipliers: Floats) -> Pair:
    """The terms of g, if there are at most two with certain signs."""
    places, sizes, doubts = np.full(2, -1), np.zeros(2), np.zeros(2)
    count, noise = 0, parts.noise
    for j in active:
        net, gross = net_multiplier(parts, active, multipliers, j)
        if gross == 0.0:
            continue
        if count == 2 or not abs(net) * DOUBTFUL > noise * gross:
            return Pair(-1, -1, 0.0, 0.0, 0.0, -1)
        places[count], sizes[count], doubts[count] = j, net, noise * gross / abs(net)
        count += 1
    # Twice the rounding of both terms and of their multipliers.
    doubt = 4.0 * noise + 2.0 * (doubts[0] + doubts[1])
    return Pair(places[0], places[1], sizes[0], sizes[1], doubt, count)


@kernel
def turning_point(parts: Components, first: int, second: int) -> float:
    """Where h' = (a2 - a1) - (rate2 - rate1) t is 0, or -inf."""
    rate = parts.decay[second] * math.exp(-parts.anchor[second])
    rate -= parts.decay[first] * math.exp(-parts.anchor[first])
    lead = parts.exponent[second] - parts.exponent[first]
    return math.log(lead / rate) if lead * rate > 0.0 else -np.inf


@kernel
def signs_of_two(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    rows: Floats,
) -> tuple[int, float]:
    """Strips of [low, high] with the sign of g, into `rows` of low, high and sign; their number,
    and what unsure strips may take at most. No strip if there are more than two terms."""
    pair = pair_of(parts, active, multipliers)
    first, second, doubt = pair.first, pair.second, pair.doubt
    if pair.terms <= 0:
        return 0, 0.0
    sign, other = math.copysign(1.0, pair.first_size), math.copysign(1.0, pair.second_size)
    if pair.terms == 1 or sign == other:
        rows[0, 0], rows[0, 1], rows[0, 2] = low, high, sign
        return 1, 0.0
    excess = math.log(abs(pair.second_size)) - math.log(abs(pair.first_size))
    turn = min(max(turning_point(parts, first, second), low), high)
    n, charge = 0, 0.0
    for part in range(2):
        start, stop = (low, turn) if part == 0 else (turn, high)
        if not start < stop:
            continue
        rising = bool(
            advantage(parts, first, second, excess, stop)
            > advantage(parts, first, second, excess, start)
        )
        edge = -doubt if rising else doubt
        one = first_beyond(parts, first, second, excess, edge, rising, start, stop)
        two = first_beyond(parts, first, second, excess, -edge, rising, one, stop)
        before, after = (sign, other) if rising else (other, sign)
        if start < one:
            n = add_strip(rows, n, start, one, before)
        if one < two:
            n = add_strip(rows, n, one, two, UNSURE)
            most = abs(pair.first_size) * math.exp(min(largest_log(parts, first, one, two), 700.0))
            charge += 2.5 * doubt * most * (two - one)
        if two < stop:
            n = add_strip(rows, n, two, stop, after)
    return n, charge

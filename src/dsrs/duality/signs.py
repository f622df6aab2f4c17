"""Where g is positive, with a guarantee, and whether its positive part falls with |x|.

The sign of two terms has a closed form. For more, and for whether g falls, cells of u are settled
by Taylor's theorem: a term exp(L) of g has a concave L, so its largest value on a cell is known,
and with it a bound of the second derivative. A cell is halved until g has one sign on it, or is
monotone on it (then it has at most one zero, found by bisection), or is within rounding of 0 all
over (then no sign is claimed, and what it might take is charged). No zero can hide between two
cells; docs/math.md 6 has the argument.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import Base, Floats, room_for, whole
from dsrs.duality.density import Components, Integers, Pieces, active_on, density_at, log_term
from dsrs.duality.kernel import inlined, kernel

# ---- At most two terms: in closed form, but for the zeros
#
# Terms of g that are multiples of one function, as those of P and of a truncated law are, count as
# one. Two terms c1 exp(L1) and c2 exp(L2) of opposite signs are as large as each other where
# h = ln|c2/c1| + L2 - L1 is 0. Since h' = a2 - a1 - (rate2 - rate1) t, h has at most one extremum
# and g at most two zeros, however nearly the terms cancel.

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


# ---- Any number of terms: by cells

MOST_SIGN_CELLS = 20_000
MOST_FALL_CELLS = 2_000
# Steps up of g by such shares, all of them together, as rounding makes them where components meet.
LARGEST_LOSS = 1e-6
SUM_ROUNDING = 2e-16


class Signs(NamedTuple):
    """Strips of one piece from left to right: rows of low, high and sign."""

    rows: Floats
    charge: float  # what the unsure strips, and zeros that rounding moves, may take at most
    settled: bool  # False: too many cells, nothing may be claimed


class CellBounds(NamedTuple):
    """Upper bounds that hold on a whole cell."""

    gross: float  # of the sum of the magnitudes of the terms of g
    grade: float  # of the sum of the magnitudes of their slopes
    bend: float  # of |g''|
    tilt: float  # of |S'|, see `fall_at`


@kernel
def cell_bounds(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
) -> CellBounds:
    """Bounds of the derivatives on [low, high]; `outer` is the exponent of the volume element."""
    gross, grade, bend, tilt = 0.0, 0.0, 0.0, 0.0
    for j in active:
        net, net_gross = net_multiplier(parts, active, multipliers, j)
        if net_gross == 0.0:
            continue
        a, decay = parts.exponent[j], parts.decay[j]
        first = decay * math.exp(low - parts.anchor[j])
        last = decay * math.exp(min(high - parts.anchor[j], 700.0))
        # The slope of the term's logarithm is a - first on the left, a - last on the right.
        most = math.exp(min(largest_log(parts, j, low, high), 700.0))
        steep = max(abs(a - first), abs(a - last))
        gross += most * net_gross
        # The slope of the logarithm is a difference: its rounding is below a hundredth of noise.
        grade += most * net_gross * (steep + 0.01 * (abs(a) + last))
        most *= abs(net) + parts.noise * net_gross
        bend += most * (steep * steep + last)
        tilt += most * (last + steep * max(abs(a - outer - first), abs(a - outer - last)))
    return CellBounds(gross, grade, bend, tilt)


@kernel
def same_sign(parts: Components, active: Integers, multipliers: Floats) -> float:
    """The sign of all active multipliers (POSITIVE if one is infinite), UNSURE if they differ."""
    least, most = 0.0, 0.0
    for j in active:
        multiplier = multipliers[parts.owner[j]]
        least, most = min(least, multiplier), max(most, multiplier)
    if least == 0.0 or most == np.inf:
        return POSITIVE if most > 0.0 else NEGATIVE
    return NEGATIVE if most == 0.0 else UNSURE


@kernel
def zero_between(
    parts: Components, active: Integers, multipliers: Floats, low: float, high: float
) -> float:
    """The zero of g on a cell where g is monotone and has different signs at the ends."""
    rising = density_at(parts, active, multipliers, low)[0] < 0.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if (density_at(parts, active, multipliers, middle)[0] < 0.0) == rising:
            low = middle
        else:
            high = middle


@kernel
def settled_cell(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    left: float,
    right: float,
    rows: Floats,
    n: int,
    last_chance: bool,
) -> tuple[int, float]:
    """Append the sign of g on a cell to `rows`, if it is settled.

    Returns the new number of rows, and what g may take where rounding hides its sign. The number
    is -1 if the cell must be halved first.
    """
    noise = parts.noise
    centre, half = 0.5 * (left + right), 0.5 * (right - left)
    value, slope, gross = density_at(parts, active, multipliers, centre)
    bounds = cell_bounds(parts, active, multipliers, left, right, 0.0)
    bend, slope_rounding = bounds.bend, noise * bounds.grade
    reach = (abs(slope) + slope_rounding) * half + 0.5 * bend * half * half
    rounding = noise * gross
    if abs(value) > reach + rounding or bend == 0.0:
        return add_strip(rows, n, left, right, POSITIVE if value > 0.0 else NEGATIVE), 0.0
    if abs(slope) > bend * half + slope_rounding:
        first = density_at(parts, active, multipliers, left)[0]
        last = density_at(parts, active, multipliers, right)[0]
        if first < 0.0 < last or last < 0.0 < first:
            zero = zero_between(parts, active, multipliers, left, right)
            n = add_strip(rows, n, left, zero, POSITIVE if first > 0.0 else NEGATIVE)
            n = add_strip(rows, n, zero, right, POSITIVE if last > 0.0 else NEGATIVE)
        else:
            n = add_strip(rows, n, left, right, POSITIVE if value > 0.0 else NEGATIVE)
        # Next to its zero, or to an end, rounding may hide the sign of g as long as g is small.
        hidden = 2.0 * noise * bounds.gross
        return n, hidden * min(2.0 * half, hidden / (abs(slope) - bend * half - slope_rounding))
    if reach < 4.0 * rounding or not left < centre < right or last_chance:
        charge = 2.0 * half * max(reach + rounding - value, 0.0)
        return add_strip(rows, n, left, right, UNSURE), charge
    return -1, 0.0


@kernel
def signs_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    work: Floats,
) -> Signs:
    """The sign of g on [low, high]."""
    rows = np.empty((64, 3))
    common = same_sign(parts, active, multipliers)
    if common != UNSURE:
        rows[0, 0], rows[0, 1], rows[0, 2] = low, high, common
        return Signs(rows[:1], 0.0, True)
    n, charge = signs_of_two(parts, active, multipliers, low, high, rows)
    if n > 0:
        work[0] += 4.0
        return Signs(rows[:n], charge, True)
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_SIGN_CELLS):
        work[0] += 1.0
        right = ends[depth - 1]
        rows = room_for(rows, n, whole(2))
        last_chance = depth == len(ends)
        sign, taken = settled_cell(parts, active, multipliers, left, right, rows, n, last_chance)
        if sign < 0:
            ends[depth] = 0.5 * (left + right)
            depth += 1
            continue
        n, charge, left = sign, charge + taken, right
        depth -= 1
        if depth == 0:
            return Signs(rows[:n], charge, True)
    return Signs(rows[:0], 0.0, False)


@kernel
def fall_at(
    parts: Components, active: Integers, multipliers: Floats, outer: float, u: float
) -> tuple[float, float]:
    """S = sum_j l_j (a_j - outer - rate_j t) exp(L_j), which has the sign of the slope of g as a
    density of x; and the sum of the magnitudes of its terms."""
    fall, gross = 0.0, 0.0
    for j in active:
        w = u - parts.anchor[j]
        growth = math.expm1(w)
        level = parts.log_height[j] + parts.exponent[j] * w - parts.decay[j] * growth
        factor = parts.exponent[j] - outer - parts.decay[j] * (growth + 1.0)
        term = multipliers[parts.owner[j]] * math.exp(min(level, 700.0)) * factor
        fall += term
        gross += abs(term)
    return fall, gross


@kernel
def falls_on(
    parts: Components,
    active: Integers,
    multipliers: Floats,
    low: float,
    high: float,
    outer: float,
) -> bool:
    """Whether g, as a density of x, provably falls with |x| wherever it is positive, on a piece."""
    noise = parts.noise
    ends = np.empty(128)
    ends[0], depth, left = high, 1, low
    for _ in range(MOST_FALL_CELLS):
        right = ends[depth - 1]
        centre, half = 0.5 * (left + right), 0.5 * (right - left)
        value, slope, gross = density_at(parts, active, multipliers, centre)
        bounds = cell_bounds(parts, active, multipliers, left, right, outer)
        fall, fall_gross = fall_at(parts, active, multipliers, outer, centre)
        falling = fall + bounds.tilt * half + noise * fall_gross <= 0.0
        reach = (abs(slope) + noise * bounds.grade) * half + 0.5 * bounds.bend * half * half
        missing = value + reach + noise * gross <= 0.0
        if falling or missing:
            left = right
            depth -= 1
            if depth == 0:
                return True
        elif depth == len(ends) or not left < centre < right:
            return False
        else:
            ends[depth] = centre
            depth += 1
    return False


@kernel
def rise_at_cut(
    parts: Components, before: Integers, after: Integers, multipliers: Floats, u: float
) -> float:
    """By which share max(g, 0) may rise at u, where the components `before` give way to `after`;
    inf where it rises from 0.

    Components that are on both sides are the same numbers there. Of the others the rounding counts:
    where two components of a weighted law meet, g rises by rounding only, but by a share that
    cancellation can make large.
    """
    noise = parts.noise
    inner, _, inner_gross = density_at(parts, before, multipliers, u)
    outer, _, outer_gross = density_at(parts, after, multipliers, u)
    if outer + noise * outer_gross <= 0.0:
        return 0.0
    changed = 0.0
    for j in before:
        if parts.stop[j] == u:
            changed += abs(multipliers[parts.owner[j]]) * math.exp(
                min(log_term(parts, j, u), 700.0)
            )
    for j in after:
        if parts.start[j] == u:
            changed += abs(multipliers[parts.owner[j]]) * math.exp(
                min(log_term(parts, j, u), 700.0)
            )
    count = len(before) + len(after)
    rise = outer - inner + noise * changed + SUM_ROUNDING * count * (inner_gross + outer_gross)
    least = inner - noise * inner_gross
    if rise <= 0.0:
        return 0.0
    return rise / least if least > 0.0 else np.inf


@inlined
def loss_inside(base: Base, parts: Components, pieces: Pieces, multipliers: Floats) -> float:
    """By how much at most B is lower at a shorter shift; inf where g, or its positive part, does
    not provably fall with |x| but for rounding (docs/math.md 5)."""
    outer = 0.5 * base.d * base.power
    for i in range(len(multipliers)):
        if not math.isfinite(multipliers[i]):
            return np.inf
    loss, edge = 0.0, -np.inf
    before = np.empty(0, dtype=np.int64)
    for j in range(len(pieces.low)):
        low, high = pieces.low[j], pieces.high[j]
        active = active_on(parts, pieces, j, multipliers)
        if low > edge:
            before = active[:0]
        starts = j > 0
        for i in active:
            starts = starts or parts.start[i] == low
        if starts:
            loss += rise_at_cut(parts, before, active, multipliers, low)
        if not loss < LARGEST_LOSS or (
            same_sign(parts, active, multipliers) != NEGATIVE
            and not falls_on(parts, active, multipliers, low, high, outer)
        ):
            return np.inf
        before, edge = active, high
    # (1 + share) times (1 + share) ... - 1, and a little more for rounding.
    return math.expm1(1.001 * loss)

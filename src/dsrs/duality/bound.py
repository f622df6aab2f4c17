"""The dual bound B, evaluated from below: the only numbers of this package that are trusted.

For any multipliers l (one for P, one for each additional law) weak duality gives

    p_true(x0 + delta) >= B(l) = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i)

with g = sum_i l_i q_i, the density that the multipliers put on x, and X_i the lower end of
interval i where l_i > 0 and the upper end where l_i < 0 (docs/math.md 2). Nothing cancels in this
form, however large the multipliers: near the optimum both parts are at most 1. Let R be where
g(x) > p(x - delta), that is v > V(u) (`curve`). Then

    integral of min = g(outside R) + P(x - delta in R),

and both are integrals along the curve v = V(u), with the laws of the cosines in closed form: the
first has the shells of x outside, the second those of y. For the second, Green's theorem turns

    double integral over R of p(v) dC(v, u)/du,  C(v, u) = Pr[x within shell u | y on shell v]

into the integral of p(V) C(V, u) dV along the curve; where the curve jumps, it runs along the
line u = const (docs/math.md 3).

`dual_bound` subtracts the quadrature's estimate of its own error, a flat charge for what such an
estimate cannot see, and an allowance for rounding. The estimate is not a proof: the checker and
the tests compare it with enclosures and with patient bisection.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    EVERYWHERE,
    NESTED_NODES,
    NESTED_WEIGHTS,
    Base,
    Floats,
    cap,
    crossing,
    curve_speed,
    fill,
    gamma_of,
    half_square,
    line_cuts,
    log_p,
    moved,
    nested_error,
    within_line,
)
from dsrs.duality.curve import BEYOND, KINKED_DIMENSION, WITHIN, Cutting, jumps, strips
from dsrs.duality.density import (
    TAIL,
    Components,
    Integers,
    Pieces,
    active_on,
    density_at,
    log_term,
    pieces_of,
    used_parts,
)
from dsrs.duality.kernel import entry, inlined, kernel
from dsrs.duality.signs import UNSURE, largest_log

# ---- Integrals along the curve v = V(u) and along lines u = const, with an estimate of the error
#
# A panel is integrated by nested rules of 17, 33 and 65 nodes and halved until they agree. What
# lies between two nodes is not seen by any of them, so no panel is accepted that might hide
# something:
#
# - a component of g whose logarithm changes by more than `STEEPEST_LOG_CHANGE` on the panel, unless
#   another one dwarfs it all over (`is_resolved`);
# - a place where g = p. There the integrand, which follows the smaller of g and p, has a kink that
#   the spread of the likelihood ratio over a shell rounds off; for short shifts by less than the
#   distance of two nodes (`kink_between_nodes`).
#
# Where that would take too many panels nothing is claimed: the integral is minus infinity.

ANGLE_ERROR = 1e-10  # of the tabled law of the angle, relative
QUADRATURE_TOLERANCE = 1e-11
NARROW = 2.0  # in standard deviations of ln t: panels no wider start with 17 nodes
MOST_PANELS = 400
MOST_HALVINGS = 78
# By how much the logarithm of a component may change on a panel. Of a component as wide as a
# standard deviation, 65 nodes on a panel of this kind are at most half of it apart; an exponential
# that falls from an end of the panel is resolved by the nodes there.
STEEPEST_LOG_CHANGE = 200.0
DWARFED = 40.0  # logarithm of a share that is below the rounding of the rest
# A kink so near to the end of a panel, as a share of it, counts as the end.
AT_AN_END = 1e-6


class Path(NamedTuple):
    """What is integrated: along the curve over u (line = inf), or along a line over v."""

    base: Base
    parts: Components
    active: Integers  # the components that make up g
    multipliers: Floats
    rho: float
    line: float
    work: Floats


class Part(NamedTuple):
    """An integral, the estimate of its error, and what is to be multiplied by the rounding of a
    term of g."""

    value: float
    error: float
    slack: float


class Nodes(NamedTuple):
    """What was found at the 65 nodes of a panel."""

    values: Floats  # of the integrand
    slacks: Floats  # what of it, times the rounding of a term of g, may be wrong
    ratios: Floats  # a = ln(g/p), along the curve
    slopes: Floats  # da/du


@inlined
def curve_integrand(
    base: Base, parts: Components, active: Integers, multipliers: Floats, rho: float, u: float
) -> tuple[float, float, float, float]:
    """g outside R on shell u, plus p(V) C(V, u) dV; what of it, times the rounding of a term of g,
    may be wrong; and a = ln(g/p) with its slope (0 where g is not positive)."""
    density, slope, gross = density_at(parts, active, multipliers, u)
    if density <= 0.0:
        return density, gross, 0.0, 0.0
    value, slack, a, a_slope = 0.0, 0.0, np.inf, 0.0
    t = gamma_of(base, u)
    if density < np.inf:
        a, a_slope = math.log(density) - log_p(base, u), slope / density - (base.m - t)
    e, growth = crossing(base, t, a)
    h = half_square(base, t)
    climb, h_moved = moved(base, h, e, growth)
    _, outside, _, _ = cap(base, rho, h, climb, 1.0)
    if outside > 0.0 and density < np.inf:
        value = density * outside
        slack = gross * outside + value * (ANGLE_ERROR / parts.noise)
    if e > -np.inf:
        arriving = math.exp(log_p(base, u + e))
        if arriving > 0.0:
            within, _, _, _ = cap(base, rho, h_moved, climb, -1.0)
            value += arriving * within * curve_speed(base, t, growth, a_slope)
    return value, slack, a, a_slope


@inlined
def line_integrand(base: Base, rho: float, line: float, v: float) -> float:
    """Return p(v) C(v, line)."""
    return within_line(base, rho, line, v)[0] * math.exp(log_p(base, v))


@kernel
def is_steep(parts: Components, j: int, low: float, high: float) -> bool:
    """Whether ln of component j may change by more than `STEEPEST_LOG_CHANGE` on [low, high]."""
    # It is concave: its slope is largest at an end.
    left = parts.exponent[j] - parts.decay[j] * math.exp(min(low - parts.anchor[j], 700.0))
    right = parts.exponent[j] - parts.decay[j] * math.exp(min(high - parts.anchor[j], 700.0))
    return bool(max(abs(left), abs(right)) * (high - low) > STEEPEST_LOG_CHANGE)


@kernel
def is_resolved(path: Path, low: float, high: float) -> bool:
    """Whether a panel is so short that nothing hides between its nodes."""
    parts, active, multipliers = path.parts, path.active, path.multipliers
    if path.line < np.inf:
        return not is_steep(parts, 0, low, high)
    steep = False
    for j in active:
        steep = steep or is_steep(parts, j, low, high)
    if not steep:
        return True
    # The largest number that some component reaches all over the panel.
    level = -np.inf
    for j in active:
        size = math.log(abs(multipliers[parts.owner[j]]))
        if size == np.inf:
            return True  # g is infinite, and R everything
        least = min(log_term(parts, j, low), log_term(parts, j, high))
        level = max(level, size + least)
    for j in active:
        size = math.log(abs(multipliers[parts.owner[j]]))
        counts = size + largest_log(parts, j, low, high) > level - DWARFED
        if counts and is_steep(parts, j, low, high):
            return False
    return True


@inlined
def evaluate(path: Path, nodes: Nodes, low: float, high: float, first: int, step: int) -> None:
    """Evaluate the integrand at the nodes first, first + step, ... of 65 on a panel."""
    half, centre = 0.5 * (high - low), 0.5 * (low + high)
    for j in range(first, 65, step):
        path.work[0] += 1.0
        u = centre + half * NESTED_NODES[j]
        if path.line == np.inf:
            nodes.values[j], nodes.slacks[j], nodes.ratios[j], nodes.slopes[j] = curve_integrand(
                path.base, path.parts, path.active, path.multipliers, path.rho, u
            )
        else:
            nodes.values[j] = line_integrand(path.base, path.rho, path.line, u)


@inlined
def nested_rules(
    path: Path, nodes: Nodes, low: float, high: float, share: float
) -> tuple[Part, int]:
    """A panel by 17 or 33 nodes and, unless their error is within `share`, those between them;
    and the distance in `nodes` of those that were used."""
    half = 0.5 * (high - low)
    first = 2 if (high - low) * path.parts.sharpness < NARROW and path.line == np.inf else 3
    missing, fine, stride, level = np.inf, 0.0, 1, first
    for level in range(first, 5):
        stride = 1 << (4 - level)
        # Those that are new at this level.
        start, step = (0, stride) if level == first else (stride, 2 * stride)
        evaluate(path, nodes, low, high, start, step)
        coarse, middle, fine, size = 0.0, 0.0, 0.0, 0.0
        for j in range(0, 65, stride):
            coarse += NESTED_WEIGHTS[level - 2, j] * nodes.values[j]
            middle += NESTED_WEIGHTS[level - 1, j] * nodes.values[j]
            fine += NESTED_WEIGHTS[level, j] * nodes.values[j]
            size += NESTED_WEIGHTS[level, j] * abs(nodes.values[j])
        missing = half * nested_error(coarse, middle, fine)
        if level < 4:
            # Few nodes can agree by accident: believe them only if still fewer nearly do.
            surprise = (middle - coarse) ** 2 / max(size, 1e-300)
            missing = half * max(2.0 * abs(fine - middle), surprise)
        if missing <= share:
            break
    slack = 0.0
    for j in range(0, 65, stride):
        slack += half * NESTED_WEIGHTS[level, j] * nodes.slacks[j]
    return Part(half * fine, missing, slack), stride


@kernel
def kink_between_nodes(path: Path, nodes: Nodes, low: float, high: float, stride: int) -> float:
    """A place where g = p, or nearly, between two nodes that do not see it; else `low`.

    On a shell ln LR has about the spread below. The integrand follows g where a = ln(g/p) is below
    0 by more than that, and p where it is above: the kink is rounded off over a distance of the
    spread by the slope of a. Two nodes see it unless a changes by more than the spread from one
    to the other. Where a has an extremum between them it counts as long as straight lines from
    either node could pass 0.
    """
    base, ratios, slopes = path.base, nodes.ratios, nodes.slopes
    half, centre = 0.5 * (high - low), 0.5 * (low + high)
    t = gamma_of(base, centre)
    h = half_square(base, t)
    if h == 0.0:
        return low
    spread = (base.kappa + t) / base.power * path.rho * math.sqrt(2.0 / (base.d * h))
    for j in range(0, 65 - stride, stride):
        gap = half * (NESTED_NODES[j + stride] - NESTED_NODES[j])
        first, last = ratios[j], ratios[j + stride]
        up, down = slopes[j] * gap, slopes[j + stride] * gap
        if max(abs(first), abs(last)) > 700.0 or max(abs(up), abs(down)) < spread:
            continue
        where = -1.0
        if first * last < 0.0:
            where = first / (first - last)
        elif up * down < 0.0 and up * first < 0.0 and abs(first) < abs(up):
            where = up / (up - down)
        place = float(centre + half * NESTED_NODES[j] + where * gap)
        if where >= 0.0 and AT_AN_END * half < min(place - low, high - place):
            return place
    return low


@kernel
def integrate(path: Path, low: float, high: float) -> Part:
    """The integral from low to high; minus infinity where too many panels would be needed.

    What still misses its share of the tolerance after `MOST_PANELS` is added to the error.
    """
    lows, highs = np.empty(MOST_HALVINGS + 2), np.empty(MOST_HALVINGS + 2)
    nodes = Nodes(np.zeros(65), np.zeros(65), np.zeros(65), np.zeros(65))
    fill(lows, low)
    fill(highs, high)
    depth, panels = 1, 0
    total, error, slack = 0.0, 0.0, 0.0
    while depth > 0:
        depth -= 1
        panels += 1
        a, b = lows[depth], highs[depth]
        cut, hides, part = 0.5 * (a + b), True, Part(0.0, 0.0, 0.0)
        share = QUADRATURE_TOLERANCE * max((b - a) / (high - low), 0.02)
        if is_resolved(path, a, b):
            part, stride = nested_rules(path, nodes, a, b, share)
            place = a
            if path.line == np.inf:
                place = kink_between_nodes(path, nodes, a, b, stride)
            hides = place > a
            if hides:
                cut = place
        elif a < 0.0 < b:
            cut = 0.0  # the peak of P
        if not hides and part.error <= share:
            total += part.value
            error += part.error
            slack += part.slack
        elif panels < MOST_PANELS and depth < MOST_HALVINGS and b - a > 2e-14:
            lows[depth], highs[depth] = a, cut
            lows[depth + 1], highs[depth + 1] = cut, b
            depth += 2
        elif hides:
            return Part(-np.inf, 0.0, 0.0)
        else:
            total += part.value
            error += part.error
            slack += part.slack
    return Part(total, error, slack)


# ---- The bound

# Of the tabled law of the angle, absolute, in few dimensions and many.
ANGLE_UNDERFLOW_FEW, ANGLE_UNDERFLOW = 1e-19, 1e-26
# A kink between two nodes can hide from any estimate a part of the panel's share of the tolerance:
# twenty times the tolerance is subtracted whatever the estimate.
HIDDEN = 2e-10
BOUND_THINNING = 12.0  # strips towards where g vanishes
NEGLIGIBLE_LOG_DENSITY = -34.0  # log-density of a tail that is not worth its integration
LARGEST_MULTIPLIER = 1e200
SMALLEST_SHIFT, LARGEST_SHIFT = 1e-150, 1e150  # in units of the law's scale
# What is subtracted for rounding is measured to be a few times too large (tests/laws). Should it
# be too small somewhere, this much of it bounds the harm; beyond it nothing is claimed.
LARGEST_ROUNDING = 1e-5
MOST_NODES = 3e6  # of one bound; beyond it nothing is claimed


class Problem(NamedTuple):
    """The laws and the box of one input. Constraint 0 is P."""

    base: Base
    parts: Components
    falls: Floats  # of each constraint, whether its law falls with |x| (1) or not (0)
    lowers: Floats
    uppers: Floats
    work: Floats  # integrands evaluated so far, and how many a search may evaluate


@kernel
def is_spent(problem: Problem) -> bool:
    """Whether the search has used up its work. Work is counted, so that results can be repeated."""
    return bool(problem.work[0] > problem.work[1])


@inlined
def line_part(problem: Problem, rho: float, line: float, start: float, stop: float) -> Part:
    """Integral of p(v) C(v, line) from v = start to stop."""
    base, parts = problem.base, problem.parts
    start = min(max(start, parts.low[0]), parts.high[0])
    stop = min(max(stop, parts.low[0]), parts.high[0])
    # The integrand is never negative: what is left of the outer tail may be dropped.
    if start == stop or (0.0 < start < stop and log_p(base, start) < NEGLIGIBLE_LOG_DENSITY):
        return Part(0.0, 0.0, 0.0)
    if abs(stop - start) * parts.sharpness < 1e-12:
        # Where two components meet the curve jumps by rounding only.
        return Part(0.0, abs(stop - start) * parts.sharpness, 0.0)
    low, high = min(start, stop), max(start, stop)
    total, error = 0.0, 0.0
    none = np.empty(0, dtype=np.int64)
    path = Path(base, parts, none, problem.lowers, rho, line, problem.work)
    first, second = line_cuts(base, rho, line)
    for cut in (first, second, high):
        end = min(cut, high)
        if end > low:
            part = integrate(path, low, end)
            total += part.value
            error += part.error
            low = end
    return Part(total if start < stop else -total, error, 0.0)


@kernel
def jump_parts(problem: Problem, rho: float, rows: Floats) -> Part:
    """The sum of `line_part` over rows of line, start and stop."""
    total, error = 0.0, 0.0
    for line, start, stop in rows:
        part = line_part(problem, rho, line, start, stop)
        total += part.value
        error += part.error
    return Part(total, error, 0.0)


@inlined
def overlap(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> Part:
    """Integral of min(g(x), p(x - delta)).

    Shells outside all strips are left out: there min(g, p) is at least the negative part of g.
    Where R has all of a shell the integrand is p(V) dV, if V lies within the shell, or 0. The first
    is integrated over v, since V(u) may run to minus infinity.
    """
    base, parts, work = problem.base, problem.parts, problem.work
    edge = 1.0 if base.d < KINKED_DIMENSION else 0.0
    most = work[0] + MOST_NODES
    along = strips(Cutting(base, parts, multipliers, rho, BOUND_THINNING, True, edge, work), pieces)
    if not along.settled:
        return Part(-np.inf, 0.0, 0.0)
    total, error, slack = 0.0, along.charge, 0.0
    inside = np.empty((len(along.ends), 3))
    n = 0
    for j in range(len(along.ends)):
        low, high, start, stop = along.ends[j]
        if along.state[j] >= WITHIN:
            inside[n, 0], inside[n, 1], inside[n, 2] = EVERYWHERE, start, stop
            n += 1
        if along.state[j] >= BEYOND:
            continue
        active = active_on(parts, pieces, int(along.piece[j]), multipliers)
        if along.sign[j] == UNSURE or len(active) == 0:
            continue
        part = integrate(Path(base, parts, active, multipliers, rho, np.inf, work), low, high)
        total += part.value
        error += part.error
        slack += part.slack
        if total == -np.inf or work[0] > most:
            return Part(-np.inf, 0.0, 0.0)
    for rows in (inside[:n], jumps(along.ends)):
        part = jump_parts(problem, rho, rows)
        total += part.value
        error += part.error
    return Part(total, error, slack)


@kernel
def is_simple(problem: Problem, multipliers: Floats) -> bool:
    """Whether g is a sum of laws that fall with |x|, none with a negative multiplier."""
    simple = True
    for i in range(len(multipliers)):
        simple = simple and (
            multipliers[i] == 0.0 or (multipliers[i] > 0.0 and problem.falls[i] == 1.0)
        )
    return bool(simple)


@kernel
def chosen_ends(problem: Problem, multipliers: Floats) -> Floats:
    """X_i: the end of each interval that is worst for the sign of its multiplier."""
    ends = np.empty(len(multipliers))
    for i in range(len(multipliers)):
        ends[i] = problem.lowers[i] if multipliers[i] > 0.0 else problem.uppers[i]
    return ends


@kernel
def bound_on(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    if not SMALLEST_SHIFT <= rho <= LARGEST_SHIFT:
        return -np.inf
    for i in range(len(multipliers)):
        if not (
            abs(multipliers[i]) <= LARGEST_MULTIPLIER
            or (multipliers[i] == np.inf and problem.lowers[i] == 1.0)
        ):
            return -np.inf
    parts = used_parts(problem.parts, multipliers)
    if len(parts.owner) < len(problem.parts.owner):
        box = problem.falls, problem.lowers, problem.uppers
        problem, pieces = Problem(problem.base, parts, *box, problem.work), pieces_of(parts, 1.0)
    ends = chosen_ends(problem, multipliers)
    part = overlap(problem, pieces, multipliers, rho)
    value, error, scale = part.value, part.error, 1.0 + part.slack
    few = problem.base.d < KINKED_DIMENSION
    left_out = ANGLE_UNDERFLOW_FEW if few else ANGLE_UNDERFLOW
    if not is_simple(problem, multipliers):
        # Tails left out only raise B if g >= 0; else twice their mass is due (docs/math.md 5).
        left_out += 4.0 * TAIL
    for i in range(len(multipliers)):
        size = abs(multipliers[i])
        if ends[i] != 1.0 and size > 0.0:
            value -= multipliers[i] * (1.0 - ends[i])
            scale += size * (1.0 - ends[i])
        if size < np.inf:
            error += size * left_out
    rounding = parts.noise * scale
    bound = value - (error + HIDDEN + rounding)
    # Compiled code divides by 0 without an error: nothing is made of infinity or NaN.
    return bound if rounding <= LARGEST_ROUNDING and abs(bound) < np.inf else -np.inf


@entry
def dual_bound(problem: Problem, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    return bound_on(problem, pieces_of(problem.parts, 1.0), multipliers, rho)

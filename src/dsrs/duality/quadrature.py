"""Integrals along the curve v = V(u), and along lines u = const, with an estimate of their error.

A panel is integrated by nested rules of 17, 33 and 65 nodes and halved until they agree. What lies
between two nodes is not seen by any of them, so no panel is accepted that might hide something:

- a component of g whose logarithm changes by more than `STEEPEST_LOG_CHANGE` on the panel, unless
  another one dwarfs it all over (`is_resolved`);
- a place where g = p. There the integrand, which follows the smaller of g and p, has a kink that
  the spread of the likelihood ratio over a shell rounds off; for short shifts by less than the
  distance of two nodes (`kink_between_nodes`).

Where that would take too many panels nothing is claimed: the integral is minus infinity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.arrays import fill
from dsrs.duality.base import (
    Base,
    Floats,
    cap,
    crossing,
    curve_speed,
    gamma_of,
    half_square,
    log_p,
    moved,
    within_line,
)
from dsrs.duality.density import Components, Integers, density_at, log_term
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.rules import NESTED_NODES, NESTED_WEIGHTS, nested_error
from dsrs.duality.two_terms import largest_log

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

"""The problem on fixed nodes, and the search where one threshold rules each region of shells.

That is P alone, or one truncated law: then P_A of each region fixes its threshold, an equation in
one unknown (docs/math.md 7).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import (
    GAUSS_NODES,
    GAUSS_WEIGHTS,
    STEEP,
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
    whole,
    within_line,
)
from dsrs.duality.bound import Problem
from dsrs.duality.density import Components, Pieces, pieces_of
from dsrs.duality.kernel import inlined, kernel

# ---- The problem of one input on fixed nodes: what the search for multipliers works with

# Which search fits: P alone; one truncated law, where the problem splits in two; anything else.
ALONE, SPLIT, GENERAL = 0, 1, 2

SEARCH_SHARE = 0.82  # leaves out about 1e-13 of each law
PANEL_WIDTH = 9.0  # in standard deviations of ln t; 24 Gauss nodes then reach 1e-10
# Below this dimension the angle's density ends in a corner that more panels must resolve.
SMALL_DIMENSION = 64
LEAST_KAPPA = 0.25  # from which on the curve does not run to minus infinity, or nearly


class Search(NamedTuple):
    """A problem and the nodes of the search, which cover P (ALONE, SPLIT) or nothing (GENERAL)."""

    problem: Problem
    pieces: Pieces  # all but the far tails
    whole: Pieces  # what the trusted bound covers
    t: Floats
    u: Floats
    weight: Floats  # quadrature weight in u
    mass: Floats  # density of P times quadrature weight
    split: int  # nodes before it lie inside the truncation
    inside: float  # mass of P inside the truncation
    kind: int


@kernel
def panel_count(base: Base, parts: Components, low: float, high: float) -> int:
    """How many panels of 24 Gauss nodes resolve every law on [low, high]."""
    width = (high - low) * parts.sharpness
    return max(1, math.ceil(width * (16.0 if base.d < SMALL_DIMENSION else 1.0) / PANEL_WIDTH))


@kernel
def kind_of(base: Base, parts: Components) -> int:
    """Which search fits these laws."""
    if base.m < 1.0 and base.kappa < LEAST_KAPPA:
        # Fixed nodes do not see the pole of p(V) V' where V runs to minus infinity.
        return GENERAL
    if len(parts.owner) == 1:
        return ALONE
    ball = (
        len(parts.owner) == 2
        and parts.exponent[1] == parts.exponent[0]
        and parts.decay[1] == parts.decay[0]
        and parts.anchor[1] == parts.anchor[0]
        and parts.start[1] == -np.inf
    )
    return SPLIT if ball else GENERAL


@kernel
def lay_nodes(problem: Problem) -> Search:
    """Lay out the nodes of one problem: composite Gauss-Legendre that resolves every law."""
    base, parts = problem.base, problem.parts
    pieces, kind = pieces_of(parts, SEARCH_SHARE), kind_of(base, parts)
    count = 0
    for j in range(len(pieces.low) if kind != GENERAL else 0):
        count += 24 * panel_count(base, parts, pieces.low[j], pieces.high[j])
    u, t, weight, mass = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    n, split = 0, count
    for j in range(len(pieces.low) if kind != GENERAL else 0):
        low, high = pieces.low[j], pieces.high[j]
        panels = panel_count(base, parts, low, high)
        step = (high - low) / panels
        if kind == SPLIT and split == count and low >= parts.stop[1]:
            split = n
        for panel in range(panels):
            for i in range(24):
                u[n] = low + step * (panel + 0.5 + 0.5 * GAUSS_NODES[i])
                t[n] = gamma_of(base, u[n])
                weight[n] = 0.5 * step * GAUSS_WEIGHTS[i]
                mass[n] = weight[n] * math.exp(log_p(base, u[n]))
                n += 1
    inside = 1.0
    if kind == SPLIT:
        inside = math.exp(parts.log_height[0] - parts.log_height[1])
    whole = pieces_of(parts, 1.0)
    return Search(problem, pieces, whole, t, u, weight, mass, split, inside, kind)


# ---- Multipliers from thresholds

# ln lambda of a region whose classifier must be right almost everywhere; see `split_multipliers`.
HIGHEST_LOG_THRESHOLD = 15.0
LOWEST_LOG_THRESHOLD = -40.0  # a threshold below is as good as none
LARGEST_EXPONENT = 700.0  # before exp overflows
THRESHOLD_NEWTON_STEPS = 60
# What a Newton step may still gain in B when the search stops. That gain is added, so what is
# neglected is of third order.
SMALLEST_THRESHOLD_GAIN = 2e-7
LINE_PANEL = 5.0  # standard deviations, of ln s or of the cosine, that 24 Gauss nodes resolve
UNIMPORTANT_LOG_DENSITY = -20.0  # log-density of a tail that does not matter


@kernel
def line_value(
    search: Search, rho: float, line: float, start: float, stop: float
) -> tuple[float, float]:
    """Integral of p(v) C(v, line) from v = start to stop (see `bound`); its derivative in rho."""
    base, parts = search.problem.base, search.problem.parts
    low, high = SEARCH_SHARE * parts.low[0], SEARCH_SHARE * parts.high[0]
    start, stop = min(max(start, low), high), min(max(stop, low), high)
    if log_p(base, start) < UNIMPORTANT_LOG_DENSITY and start > 0.0 and stop > start:
        return 0.0, 0.0
    first, second = line_cuts(base, rho, line)
    backwards = stop < start
    low, end = min(start, stop), max(start, stop)
    value, slope = 0.0, 0.0
    if (end - low) * parts.sharpness < 1e-12:
        return 0.0, 0.0
    for part in range(2):
        # Up to the first cut C is 0 or 1; beyond the second it is 0.
        high = min(end, first if part == 0 else second)
        if high <= low:
            continue
        width = (high - low) * math.sqrt(base.m)
        if part == 1:
            # The cosine of y, in standard deviations, falls by about this much.
            h = math.exp(0.5 * base.power * (low + math.log(base.m)))
            fall = (high - low) * base.power * math.sqrt(0.5 * base.d) * h / rho
            width = max(width, min(fall, 2.0 * STEEP))
        panels = math.ceil(width / LINE_PANEL)
        half = 0.5 * (high - low) / panels
        search.problem.work[0] += 24.0 * panels
        for panel in range(panels):
            for i in range(24):
                v = low + half * (2 * panel + 1 + GAUSS_NODES[i])
                within, sweep = within_line(base, rho, line, v)
                mass = half * GAUSS_WEIGHTS[i] * math.exp(log_p(base, v))
                value += mass * within
                slope += mass * sweep
        low = high
    return (-value, -slope) if backwards else (value, slope)


class Region(NamedTuple):
    """A region of shells at one threshold a = ln lambda."""

    a: float
    step: float  # Newton's next step in a
    rate: float  # d a / d rho that keeps P[R] in place
    value: float  # lambda (target - P[R]) + P(x - delta in R), with the gain of the next step
    slope: float  # d value / d rho


@kernel
def region_at(
    search: Search, rho: float, first: int, last: int, target: float, rest: float, a: float
) -> tuple[Region, float, float]:
    """The nodes first <= j < last at threshold a, what P[R] lacks of `target`, and the gain of
    Newton's step. `rest` is what the region has beside `target`.

    Newton works on the logarithm of the smaller of the two.
    """
    base = search.problem.base
    hit, miss, bend, sweep, arrived, arrived_sweep = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    search.problem.work[0] += last - first
    for j in range(first, last):
        t, mass = search.t[j], search.mass[j]
        h = half_square(base, t)
        e, growth = crossing(base, t, a)
        climb, h_moved = moved(base, h, e, growth)
        below, above, by_climb, by_rho = cap(base, rho, h, climb, 1.0)
        hit += mass * below
        miss += mass * above
        sweep += mass * by_rho
        if h_moved > 0.0:
            s = t * (1.0 + growth)
            # d climb / d a, from kappa v + m e^v = const - a.
            bend += mass * by_climb * base.power * h_moved / (s + base.kappa)
            arriving = search.weight[j] * curve_speed(base, t, growth, 0.0)
            arriving *= math.exp(log_p(base, search.u[j] + e))
            below, above, by_climb, by_rho = cap(base, rho, h_moved, climb, -1.0)
            arrived += arriving * below
            arrived_sweep += arriving * by_rho
    gap = miss - rest if rest < target else target - hit
    total, goal = (miss, rest) if rest < target else (hit, target)
    step, gain, rate, ratio = np.inf, np.inf, 0.0, math.exp(a)
    if total > 0.0 and bend > 0.0:
        step = math.copysign(math.log(total / goal) * total / bend, gap)
        gain = 0.5 * ratio * gap * gap / bend
        rate = -sweep / bend
    value = ratio * gap + arrived + min(gain, SMALLEST_THRESHOLD_GAIN)
    return Region(a, step, rate, value, arrived_sweep - ratio * sweep), gap, gain


@kernel
def region_threshold(
    search: Search, rho: float, first: int, last: int, target: float, rest: float, start: float
) -> Region:
    """The threshold at which P[R] over a region equals `target`: Newton inside a bracket."""
    if target <= 0.0:
        return Region(-np.inf, 0.0, 0.0, 0.0, 0.0)
    if rest <= 0.0:
        return Region(np.inf, 0.0, 0.0, 0.0, 0.0)
    low, high = -np.inf, np.inf
    a, stride = min(max(start, LOWEST_LOG_THRESHOLD), LARGEST_EXPONENT), 1.0
    for _ in range(THRESHOLD_NEWTON_STEPS):
        region, gap, gain = region_at(search, rho, first, last, target, rest, a)
        if gain < SMALLEST_THRESHOLD_GAIN:
            break
        if a == LOWEST_LOG_THRESHOLD and gap < 0.0:
            return Region(-np.inf, 0.0, 0.0, 0.0, 0.0)
        if gap > 0.0:
            low = a
        else:
            high = a
        step = region.step
        if not low < a + step < high or abs(step) > 20.0 * stride:
            if math.isfinite(low) and math.isfinite(high):
                step = 0.5 * (low + high) - a
            else:
                step = stride if math.isfinite(low) else -stride
                stride *= 2.0
        a = min(max(a + step, LOWEST_LOG_THRESHOLD), LARGEST_EXPONENT)
    return region


@kernel
def predicted(warm: Floats, row: int, rho: float, share: float, unit: float) -> float:
    """Where a threshold should be at rho: from what `keep` remembers, else that of Gaussian noise
    for a class with `share` of the region."""
    if warm[row, 2] > 0.0:
        change = warm[row, 1] * (rho - warm[row, 2])
        most = 2.0 + 0.5 * abs(warm[row, 0])
        return warm[row, 0] + min(max(change, -most), most)  # type: ignore[no-any-return]
    shift = rho / unit
    return shift * (rough_normal_quantile(share) - 0.5 * shift)


@kernel
def rough_normal_quantile(share: float) -> float:
    """To about 1e-3 in the middle: the root z of 1.5976 z + 0.0706 z^3 = logit(share)."""
    inside = min(max(share, 1e-12), 1.0 - 1e-12)
    logit = math.log(inside / (1.0 - inside))
    return 5.49425 * math.sinh(math.asinh(0.341778 * logit) / 3.0)


@kernel
def keep(warm: Floats, row: int, region: Region, rho: float) -> None:
    """Remember a threshold, its derivative in rho, and the rho, for the next radius."""
    if math.isfinite(region.a) and math.isfinite(region.step):
        warm[row, 0], warm[row, 1], warm[row, 2] = region.a + region.step, region.rate, rho


@kernel
def edge_at(search: Search, u: float, a: float) -> float:
    """Return v on the edge of R at u for the threshold a."""
    base = search.problem.base
    return u + crossing(base, base.m * math.exp(u), a)[0]


@kernel
def alone_multipliers(
    search: Search, rho: float, warm: Floats, multipliers: Floats, rates: Floats
) -> tuple[float, float]:
    """Multipliers from P alone (Neyman-Pearson); arguments as in `best_multipliers`."""
    low = search.problem.lowers[0]
    start = predicted(warm, 0, rho, low, search.problem.base.unit)
    region = region_threshold(search, rho, whole(0), len(search.t), low, 1.0 - low, start)
    keep(warm, 0, region, rho)
    fill(multipliers, 0.0)
    fill(rates, 0.0)
    multipliers[0] = math.exp(region.a + region.step)
    rates[0] = multipliers[0] * region.rate
    end = search.pieces.high[-1]
    value, slope = line_value(search, rho, end, edge_at(search, end, region.a), np.inf)
    return region.value + value, region.slope + slope


@inlined
def split_multipliers(
    search: Search, rho: float, warm: Floats, multipliers: Floats, rates: Floats
) -> tuple[float, float]:
    """One truncated law: two thresholds, each from an equation of its own (docs/math.md 7).

    First with Q-; if that asks for a negative l2, with Q+; if that asks for a positive one,
    l2 = 0. B is concave, so exactly one of the three is the maximum. l1 < 0 never helps: then
    the outer threshold is 0, and raising l1 to 0 raises B, since P+ >= Q- inside.
    """
    inside, cut = search.inside, search.split
    p, count, unit = search.problem.lowers[0], len(search.t), search.problem.base.unit
    tau, end = search.problem.parts.stop[1], search.pieces.high[-1]
    for side in range(2):
        q = search.problem.lowers[1] if side == 0 else search.problem.uppers[1]
        target = p - q * inside
        spare = (1.0 - inside) - target
        # On the edge P_A = 1 - (1 - Q_A) inside the outer threshold has no finite optimum.
        if side == 0 and spare <= 0.0:
            continue
        spare = max(spare, 1e-300)
        start = predicted(warm, 1, rho, q, unit)
        inner = region_threshold(search, rho, whole(0), cut, q * inside, (1.0 - q) * inside, start)
        start = predicted(warm, 2, rho, target / (1.0 - inside), unit)
        outer = region_threshold(search, rho, cut, count, target, spare, start)
        keep(warm, 1, inner, rho)
        keep(warm, 2, outer, rho)
        if side == 1 and outer.a + outer.step > HIGHEST_LOG_THRESHOLD:
            outer, _, _ = region_at(search, rho, cut, count, target, spare, HIGHEST_LOG_THRESHOLD)
            outer = Region(HIGHEST_LOG_THRESHOLD, 0.0, 0.0, outer.value, outer.slope)
        if (side == 0 and inner.a >= outer.a) or (side == 1 and inner.a <= outer.a):
            high, low = math.exp(inner.a + inner.step), math.exp(outer.a + outer.step)
            multipliers[0], rates[0] = low, low * outer.rate
            multipliers[1] = (high - low) * inside
            rates[1] = (high * inner.rate - rates[0]) * inside if high < np.inf else 0.0
            value, slope = line_value(
                search, rho, tau, edge_at(search, tau, inner.a), edge_at(search, tau, outer.a)
            )
            last, last_slope = line_value(search, rho, end, edge_at(search, end, outer.a), np.inf)
            value += inner.value + outer.value + last
            slope += inner.slope + outer.slope + last_slope
            return value, slope
    return alone_multipliers(search, rho, warm, multipliers, rates)

"""Multipliers where one threshold rules each region of shells: P alone, or one truncated law.

Then P_A of each region fixes its threshold, an equation in one unknown (MATH 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dsrs.duality.geometry import Floats
from dsrs.duality.nodes import SEARCH_SHARE, Problem
from dsrs.duality.rules import GAUSS_NODES, GAUSS_WEIGHTS
from dsrs.duality.shell import cap, crossing, line_cuts, log_shell_density

# ln lambda of a region whose classifier must be right almost everywhere; see `split_multipliers`.
HIGHEST = 15.0
LOWEST = -40.0  # a threshold below is as good as none
LARGEST = 700.0  # before exp overflows
NEWTON_STEPS = 60
# What a Newton step may still gain in B when the search stops. That gain is added, so what is
# neglected is of third order.
ENOUGH = 2e-7
LINE_PANEL = 5.0  # standard deviations, of ln s or of the cosine, that 24 Gauss nodes resolve
STEEP = 8.0  # standard deviations of the cosine beyond which C is 0 or 1
NOTHING = -28.0  # log-density of a tail that does not matter


@njit(cache=True, nogil=True)
def line_value(
    problem: Problem, rho: float, line: float, start: float, stop: float
) -> tuple[float, float]:
    """Integral of p(v) C(v, line) from v = start to stop (see bound.py); its derivative in rho."""
    g, laws = problem.g, problem.laws
    low, high = SEARCH_SHARE * laws[0, 5], SEARCH_SHARE * laws[0, 6]
    start, stop = min(max(start, low), high), min(max(stop, low), high)
    if log_shell_density(laws, 0, start) < NOTHING and start > 0.0 and stop > start:
        return 0.0, 0.0
    first, second = line_cuts(g, rho, line, STEEP)
    backwards = stop < start
    low, end = min(start, stop), max(start, stop)
    value, slope = 0.0, 0.0
    for part in range(2):
        # Up to the first cut C is 0 or 1; beyond the second it is 0.
        high = min(end, first if part == 0 else second)
        if high <= low:
            continue
        width = (high - low) * math.sqrt(g.m)
        if part == 1:
            # The cosine of y, in standard deviations, falls by about this much.
            fall = (high - low) * math.sqrt(0.5 * g.m * g.d) * math.exp(0.5 * low) / rho
            width = max(width, min(fall, 2.0 * STEEP))
        panels = math.ceil(width / LINE_PANEL)
        half = 0.5 * (high - low) / panels
        for panel in range(panels):
            for i in range(24):
                v = low + half * (2 * panel + 1 + GAUSS_NODES[i])
                s = g.m * math.exp(v)
                within, _, _, sweep = cap(g, rho, s, s * math.expm1(line - v), -1.0)
                mass = half * GAUSS_WEIGHTS[i] * math.exp(log_shell_density(laws, 0, v))
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


@njit(cache=True, nogil=True)
def region_at(
    problem: Problem, rho: float, first: int, last: int, target: float, rest: float, a: float
) -> tuple[Region, float, float]:
    """The nodes first <= j < last at threshold a, what P[R] lacks of `target`, and the gain of
    Newton's step. `rest` is what the region has beside `target`.

    Newton works on the logarithm of the smaller of the two.
    """
    g = problem.g
    hit, miss, bend, sweep, moved, moved_sweep = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        t, mass = problem.t[j], problem.mass[0, j]
        climb, s, shift = crossing(g.k, t, a)
        below, above, by_climb, by_rho = cap(g, rho, t, climb, 1.0)
        hit += mass * below
        miss += mass * above
        sweep += mass * by_rho
        if s > 0.0:
            bend += mass * by_climb * s / (s + g.k)
            moved_mass = problem.weight[j] * (t + g.k) / (s + g.k)
            moved_mass *= math.exp(log_shell_density(problem.laws, 0, problem.u[j] + shift))
            below, above, by_climb, by_rho = cap(g, rho, s, climb, -1.0)
            moved += moved_mass * below
            moved_sweep += moved_mass * by_rho
    gap = miss - rest if rest < target else target - hit
    total, goal = (miss, rest) if rest < target else (hit, target)
    step, gain, rate, ratio = np.inf, np.inf, 0.0, math.exp(a)
    if total > 0.0 and bend > 0.0:
        step = math.copysign(math.log(total / goal) * total / bend, gap)
        gain = 0.5 * ratio * gap * gap / bend
        rate = -sweep / bend
    value = ratio * gap + moved + min(gain, ENOUGH)
    return Region(a, step, rate, value, moved_sweep - ratio * sweep), gap, gain


@njit(cache=True, nogil=True)
def region_threshold(
    problem: Problem, rho: float, first: int, last: int, target: float, rest: float, start: float
) -> Region:
    """The threshold at which P[R] over a region equals `target`: Newton inside a bracket."""
    if target <= 0.0:
        return Region(-np.inf, 0.0, 0.0, 0.0, 0.0)
    if rest <= 0.0:
        return Region(np.inf, 0.0, 0.0, 0.0, 0.0)
    low, high = -np.inf, np.inf
    a, stride = min(max(start, LOWEST), LARGEST), 1.0
    for _ in range(NEWTON_STEPS):
        region, gap, gain = region_at(problem, rho, first, last, target, rest, a)
        if gain < ENOUGH:
            break
        if a == LOWEST and gap < 0.0:
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
        a = min(max(a + step, LOWEST), LARGEST)
    return region


@njit(cache=True, nogil=True)
def predicted(warm: Floats, row: int, rho: float, share: float, unit: float) -> float:
    """Where a threshold should be at rho: from what `keep` remembers, else that of Gaussian noise
    for a class with `share` of the region."""
    if warm[row, 2] > 0.0:
        change = warm[row, 1] * (rho - warm[row, 2])
        most = 2.0 + 0.5 * abs(warm[row, 0])
        return warm[row, 0] + min(max(change, -most), most)  # type: ignore[no-any-return]
    shift = rho / unit
    return shift * (rough_normal_quantile(share) - 0.5 * shift)


@njit(cache=True, nogil=True)
def rough_normal_quantile(share: float) -> float:
    """To about 1e-3 in the middle: the root z of 1.5976 z + 0.0706 z^3 = logit(share)."""
    inside = min(max(share, 1e-12), 1.0 - 1e-12)
    logit = math.log(inside / (1.0 - inside))
    return 5.49425 * math.sinh(math.asinh(0.341778 * logit) / 3.0)


@njit(cache=True, nogil=True)
def keep(warm: Floats, row: int, region: Region, rho: float) -> None:
    """Remember a threshold, its derivative in rho, and the rho, for the next radius."""
    if math.isfinite(region.a) and math.isfinite(region.step):
        warm[row, 0], warm[row, 1], warm[row, 2] = region.a + region.step, region.rate, rho


@njit(cache=True, nogil=True)
def curve_at(problem: Problem, u: float, a: float) -> float:
    """v on the edge of R at u."""
    _, _, shift = crossing(problem.g.k, problem.g.m * math.exp(u), a)
    return u + shift


@njit(cache=True, nogil=True)
def alone_multipliers(
    problem: Problem, rho: float, warm: Floats, found: Floats, rates: Floats
) -> tuple[float, float]:
    """Neyman-Pearson: only the lower bound of P_A counts. As `best_multipliers`."""
    low = problem.lowers[0]
    start = predicted(warm, 0, rho, low, problem.g.unit)
    region = region_threshold(problem, rho, 0, len(problem.t), low, 1.0 - low, start)
    keep(warm, 0, region, rho)
    found[:], rates[:] = 0.0, 0.0
    found[0] = math.exp(region.a + region.step)
    rates[0] = found[0] * region.rate
    end = problem.pieces[-1, 1]
    value, slope = line_value(problem, rho, end, curve_at(problem, end, region.a), np.inf)
    return region.value + value, region.slope + slope


@njit(cache=True, nogil=True)
def split_multipliers(
    problem: Problem, rho: float, warm: Floats, found: Floats, rates: Floats
) -> tuple[float, float]:
    """One truncated law: two thresholds, each from an equation of its own (MATH 3).

    First with Q-; if that asks for a negative l2, with Q+; if that asks for a positive one,
    l2 = 0. B is concave, so exactly one of the three is the maximum. l1 < 0 never helps: then
    the outer threshold is 0, and raising l1 to 0 raises B, since P+ >= Q- inside.
    """
    inside, cut = problem.inside, problem.split
    p, count, unit = problem.lowers[0], len(problem.t), problem.g.unit
    tau, end = problem.laws[1, 4], problem.pieces[-1, 1]
    for side in range(2):
        q = problem.lowers[1] if side == 0 else problem.uppers[1]
        target = p - q * inside
        spare = (1.0 - inside) - target
        # On the edge P_A = 1 - (1 - Q_A) inside the outer threshold has no finite optimum.
        if side == 0 and spare <= 0.0:
            continue
        spare = max(spare, 1e-300)
        start = predicted(warm, 1, rho, q, unit)
        inner = region_threshold(problem, rho, 0, cut, q * inside, (1.0 - q) * inside, start)
        start = predicted(warm, 2, rho, target / (1.0 - inside), unit)
        outer = region_threshold(problem, rho, cut, count, target, spare, start)
        keep(warm, 1, inner, rho)
        keep(warm, 2, outer, rho)
        if side == 1 and outer.a + outer.step > HIGHEST:
            outer, _, _ = region_at(problem, rho, cut, count, target, spare, HIGHEST)
            outer = Region(HIGHEST, 0.0, 0.0, outer.value, outer.slope)
        if (side == 0 and inner.a >= outer.a) or (side == 1 and inner.a <= outer.a):
            high, low = math.exp(inner.a + inner.step), math.exp(outer.a + outer.step)
            found[0], rates[0] = low, low * outer.rate
            found[1] = (high - low) * inside
            rates[1] = (high * inner.rate - rates[0]) * inside if high < np.inf else 0.0
            value, slope = line_value(
                problem, rho, tau, curve_at(problem, tau, inner.a), curve_at(problem, tau, outer.a)
            )
            last, last_slope = line_value(
                problem, rho, end, curve_at(problem, end, outer.a), np.inf
            )
            value += inner.value + outer.value + last
            slope += inner.slope + outer.slope + last_slope
            return value, slope
    return alone_multipliers(problem, rho, warm, found, rates)

"""Multipliers where Newton gives up: one at a time, slow but sure."""

from __future__ import annotations

import math

import numpy as np

from dsrs.duality.arrays import whole
from dsrs.duality.base import Floats
from dsrs.duality.bound import is_spent
from dsrs.duality.kernel import inlined, kernel
from dsrs.duality.measure import measure
from dsrs.duality.nodes import Search

SCAN_STEPS = 40
SWEEPS = 3


@inlined
def slope_at(search: Search, rho: float, multipliers: Floats, i: int, side: float) -> float:
    """Slope of B in multiplier i, seen from its positive or negative side."""
    count = len(multipliers)
    hits, unused, curvature = np.empty(count), np.empty(count), np.empty((count, count))
    measure(search, rho, multipliers, hits, unused, curvature)
    return (search.problem.lowers[i] if side > 0.0 else search.problem.uppers[i]) - hits[i]  # type: ignore[no-any-return]


@kernel
def best_alone(search: Search, rho: float, multipliers: Floats, i: int, size: float) -> None:
    """Put multiplier i at the maximum of B, the others fixed; `size` is a first guess."""
    side = 0.0
    for sign in (1.0, -1.0):
        multipliers[i] = 0.0
        if side == 0.0 and sign * slope_at(search, rho, multipliers, i, sign) > 0.0:
            side = sign
    low, high, y = -np.inf, np.inf, math.log(max(size, 1e-12))
    f_low, f_high, last = 0.0, 0.0, 0
    for attempt in range(SCAN_STEPS if side != 0.0 else 0):
        multipliers[i] = side * math.exp(y)
        f = side * slope_at(search, rho, multipliers, i, side)
        if f > 0.0:
            if last == 1:
                f_high *= 0.5
            low, f_low, last = y, f, 1
        else:
            if last == 2:
                f_low *= 0.5
            high, f_high, last = y, f, 2
        if high - low < 1e-9 or f == 0.0 or is_spent(search.problem):
            break
        if low == -np.inf or high == np.inf:
            y += 2.0 if f > 0.0 else -2.0
        elif attempt % 3 == 2:
            y = 0.5 * (low + high)
        else:
            y = (low * f_high - high * f_low) / (f_high - f_low)


@inlined
def scan_multipliers(search: Search, rho: float, multipliers: Floats) -> None:
    """Two laws where Newton gives up: B is a thin curved ridge when g changes its sign.

    The best l2 for each l1, and the best l1 by bisection: slow but sure, for the maximum over l2
    of a concave B is concave in l1.
    """
    low, high = -np.inf, np.inf
    first, second = whole(0), whole(1)
    size, side, x = max(abs(multipliers[1]), 1e-3), 1.0, math.log(max(abs(multipliers[0]), 1e-6))
    for step in range(2 * SCAN_STEPS):
        multipliers[0] = side * math.exp(x)
        best_alone(search, rho, multipliers, second, size)
        size = max(abs(multipliers[1]), 1e-12)
        if side * slope_at(search, rho, multipliers, first, side) > 0.0:
            low = x
        else:
            high = x
        if high - low < 1e-7 or is_spent(search.problem):
            break
        if low == -np.inf or high == np.inf:
            x += 1.0 if high == np.inf else -1.0
        else:
            x = 0.5 * (low + high)
        if x < -12.0:
            # No positive l1 is best: the other side.
            low, high, x, side = -np.inf, np.inf, 0.0, -side
            if step >= SCAN_STEPS:
                break


@inlined
def sweep_multipliers(search: Search, rho: float, multipliers: Floats) -> None:
    """Three laws or more: each multiplier in turn. The kinks of B lie at l_i = 0, one multiplier
    each, so a maximum along every axis is the maximum."""
    for _ in range(SWEEPS):
        for i in range(len(multipliers)):
            best_alone(search, rho, multipliers, i, max(abs(multipliers[i]), 1e-6))

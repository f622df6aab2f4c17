"""The problem of one input on fixed nodes: what the search for multipliers works with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dsrs.duality.base import Base, Floats, gamma_of, log_p
from dsrs.duality.bound import Problem
from dsrs.duality.density import Components, Pieces, pieces_of
from dsrs.duality.kernel import kernel
from dsrs.duality.rules import GAUSS_NODES, GAUSS_WEIGHTS

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

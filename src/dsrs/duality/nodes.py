"""The problem of one input, on fixed nodes: what the search for multipliers works with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.rules import GAUSS_NODES, GAUSS_WEIGHTS
from dsrs.duality.shell import log_shell_density, present, sharpness, shell_pieces

# Which search fits: P alone; one truncated law, where the problem splits in two; anything else.
ALONE, SPLIT, GENERAL = 0, 1, 2

SEARCH_SHARE = 0.82  # leaves out about 1e-13 of each law
PANEL_WIDTH = 9.0  # in standard deviations of ln t; 24 Gauss nodes then reach 1e-10
# Below this dimension the angle's density ends in a corner that more panels must resolve.
SMALL_DIMENSION = 64


class Problem(NamedTuple):
    """Laws, box and nodes. Arrays with one row a law have P in row 0."""

    g: Geometry
    laws: Floats
    lowers: Floats
    uppers: Floats
    u: Floats  # nodes, t = m exp(u)
    t: Floats
    weight: Floats  # quadrature weight in u
    mass: Floats  # one row a law: density times quadrature weight
    pieces: Floats  # what the nodes cover, between cuts
    split: int  # nodes before it lie inside the truncation
    inside: float  # mass of P inside the truncation
    kind: int


@njit(cache=True, nogil=True)
def search_ranges(laws: Floats) -> Floats:
    """The laws with SEARCH_SHARE of each range about its centre: the far tails do not matter."""
    laws = laws.copy()
    for i in range(len(laws)):
        peak = min(max(-laws[i, 1], laws[i, 5]), laws[i, 6])
        laws[i, 5] = peak + SEARCH_SHARE * (laws[i, 5] - peak)
        laws[i, 6] = min(peak + SEARCH_SHARE * (laws[i, 6] - peak), laws[i, 4])
    return laws


@njit(cache=True, nogil=True)
def panel_count(g: Geometry, laws: Floats, low: float, high: float) -> int:
    """How many panels of 24 Gauss nodes resolve every law on [low, high]."""
    width = (high - low) * sharpness(laws)
    return max(1, math.ceil(width * (16.0 if g.d < SMALL_DIMENSION else 1.0) / PANEL_WIDTH))


@njit(cache=True, nogil=True)
def pose(g: Geometry, laws: Floats, lowers: Floats, uppers: Floats) -> Problem:
    """Lay out the nodes of one problem: composite Gauss-Legendre that resolves every law."""
    pieces = shell_pieces(search_ranges(laws))
    count = 0
    for j in range(len(pieces)):
        count += 24 * panel_count(g, laws, pieces[j, 0], pieces[j, 1])
    u, t, weight = np.empty(count), np.empty(count), np.empty(count)
    mass = np.zeros((len(laws), count))
    n = 0
    for j in range(len(pieces)):
        panels = panel_count(g, laws, pieces[j, 0], pieces[j, 1])
        step = (pieces[j, 1] - pieces[j, 0]) / panels
        for panel in range(panels):
            for i in range(24):
                u[n] = pieces[j, 0] + step * (panel + 0.5 + 0.5 * GAUSS_NODES[i])
                t[n] = g.m * math.exp(u[n])
                weight[n] = 0.5 * step * GAUSS_WEIGHTS[i]
                for row in range(len(laws)):
                    if present(laws, row, pieces[j, 0], pieces[j, 1]):
                        mass[row, n] = weight[n] * math.exp(log_shell_density(laws, row, u[n]))
                n += 1
    kind, split, inside = GENERAL, len(u), 1.0
    if len(laws) == 1:
        kind = ALONE
    elif len(laws) == 2 and laws[1, 0] == g.m and laws[1, 1] == 0.0 and laws[1, 3] == -np.inf:
        # P restricted to a ball: shape m, rate 1, no inner cut.
        kind = SPLIT
        split = 0
        while split < len(u) and u[split] < laws[1, 4]:
            split += 1
        inside = math.exp(laws[0, 2] - laws[1, 2])
    return Problem(g, laws, lowers, uppers, u, t, weight, mass, pieces, split, inside, kind)

"""The problem of one input, on fixed nodes: what the search for multipliers works with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dsrs.duality.geometry import Floats, Geometry
from dsrs.duality.rules import GAUSS_PANEL_NODES, GAUSS_PANEL_WEIGHTS
from dsrs.duality.shell import log_shell_density, shell_pieces

# Which search fits: P alone; one truncated law, where the problem splits in two; anything else.
ALONE, SPLIT, GENERAL = 0, 1, 2

SEARCH_SHARE = 0.78  # leaves out about 1e-12 of each law
PANEL_WIDTH = 6.0  # in standard deviations of ln t; 16 Gauss nodes then reach 1e-10
# Below this dimension the angle's density ends in a corner that more panels must resolve.
SMALL_DIMENSION = 32


class Problem(NamedTuple):
    """Laws, box and nodes. Arrays with one row a law have P in row 0."""

    g: Geometry
    laws: Floats
    lowers: Floats
    uppers: Floats
    t: Floats  # shells
    mass: Floats  # one row a law: density times quadrature weight
    split: int  # nodes before it lie inside the truncation
    inside: float  # mass of P inside the truncation
    kind: int


@njit(cache=True, nogil=True)
def shell_nodes(g: Geometry, laws: Floats) -> tuple[Floats, Floats]:
    """Composite Gauss-Legendre nodes and weights in u that resolve every law and its cuts."""
    # The search can do without the far tails: keep SEARCH_SHARE of each range about its centre.
    laws = laws.copy()
    for i in range(len(laws)):
        peak = min(max(-laws[i, 1], laws[i, 5]), laws[i, 6])
        laws[i, 5] = peak + SEARCH_SHARE * (laws[i, 5] - peak)
        laws[i, 6] = peak + SEARCH_SHARE * (laws[i, 6] - peak)
        if laws[i, 4] < np.inf:
            laws[i, 6] = min(laws[i, 6], laws[i, 4])
    pieces = shell_pieces(laws)
    finer = 4.0 if g.d < SMALL_DIMENSION else 1.0
    panels = np.empty(len(pieces), dtype=np.int64)
    for j in range(len(pieces)):
        width = (pieces[j, 1] - pieces[j, 0]) * math.sqrt(laws[:, 0].max())
        panels[j] = math.ceil(width * finer / PANEL_WIDTH)
    u = np.empty(16 * panels.sum())
    weights = np.empty(len(u))
    n = 0
    for j in range(len(pieces)):
        step = (pieces[j, 1] - pieces[j, 0]) / panels[j]
        for panel in range(panels[j]):
            for i in range(16):
                u[n] = pieces[j, 0] + step * (panel + 0.5 + 0.5 * GAUSS_PANEL_NODES[i])
                weights[n] = 0.5 * step * GAUSS_PANEL_WEIGHTS[i]
                n += 1
    return u, weights


@njit(cache=True, nogil=True)
def pose(g: Geometry, laws: Floats, lowers: Floats, uppers: Floats) -> Problem:
    """Lay out the nodes of one problem."""
    u, weights = shell_nodes(g, laws)
    mass = np.empty((len(laws), len(u)))
    for j in range(len(u)):
        for i in range(len(laws)):
            mass[i, j] = weights[j] * math.exp(log_shell_density(laws, i, u[j]))
    kind, split, inside = GENERAL, len(u), 1.0
    if len(laws) == 1:
        kind = ALONE
    elif len(laws) == 2 and laws[1, 0] == g.m and laws[1, 1] == 0.0 and laws[1, 3] == -np.inf:
        # P restricted to a ball: shape m, rate 1, no inner cut.
        kind = SPLIT
        split = int(np.searchsorted(u, laws[1, 4]))
        inside = math.exp(laws[0, 2] - laws[1, 2])
    return Problem(g, laws, lowers, uppers, g.m * np.exp(u), mass, split, inside, kind)

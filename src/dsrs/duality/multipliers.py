"""The search for the best multipliers at one radius: fast, and allowed to be sloppy.

Whatever it returns is only a candidate; `bound.dual_bound` decides what it proves.
"""

from __future__ import annotations

from numba import njit

from dsrs.duality.geometry import Floats
from dsrs.duality.newton import general_multipliers
from dsrs.duality.nodes import ALONE, SPLIT, Problem
from dsrs.duality.thresholds import alone_multipliers, split_multipliers


@njit(cache=True, nogil=True)
def best_multipliers(
    problem: Problem, rho: float, warm: Floats, found: Floats, rates: Floats
) -> tuple[float, float]:
    """Multipliers that nearly maximise B at shift rho, into `found`, and their derivatives in rho,
    into `rates`; returns that B and dB/drho.

    `warm`, three rows of zeros to begin with, carries ln lambda from one radius to the next;
    `found` is where the general search starts.
    """
    if problem.kind == ALONE:
        return alone_multipliers(problem, rho, warm, found, rates)
    if problem.kind == SPLIT:
        return split_multipliers(problem, rho, warm, found, rates)
    return general_multipliers(problem, rho, warm, found, rates)

"""From lambda on shells to a law: made to fall, and drawn with few knots.

A law whose density falls with |x| proves a ball with one evaluation of the dual bound
(docs/math.md 5). With kappa = 2k/eta, lambda t^(-kappa) e^(-t) falls on a piece of slope
b = d ln lambda / d ln t if b <= kappa + t at the start of the piece.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.landscape.shells import Shells
from dsrs.laws import GeneralizedGaussian, Weighted

Floats = NDArray[np.float64]

MOST_FITTED_KNOTS = 24
# A knot more where ln lambda is off by this much, weighted by the root of the shell's share of Q.
KNOT_TOLERANCE = 2e-3
WEIGHT_DECIMALS = 3  # of ln lambda: finer than what knots miss
# Shells with less of Q (and of P) are left to the slopes at the ends.
LEAST_SHELL_SHARE = 1e-6
STEEPEST_WEIGHT = 1e4


def falling(base: GeneralizedGaussian, t: Floats, log_weights: Floats) -> Floats:
    """The least lambda above the given one whose law falls on each piece between the shells.

    Raised towards the centre: there P has little noise, so votes spent on it are few.
    """
    raised = log_weights.copy()
    limits = (base.power_in_t + t[:-1]) * np.diff(np.log(t)) * (1 - 1e-9)
    for i in range(len(t) - 2, -1, -1):
        raised[i] = max(raised[i], raised[i + 1] - limits[i])
    return raised


def knotted(base: GeneralizedGaussian, shells: Shells, log_weights: Floats) -> Weighted:
    """A law through the points of a falling lambda that matter, at most `MOST_FITTED_KNOTS`.

    Greedy: the shell that the lines so far miss by most becomes a knot. Lines between points of a
    falling lambda may be too steep at their start; they are made to fall once more. Noise is keyed
    by the law, so lambda is rounded first: its last bits depend on the threads of matrix products.
    """
    t, log_weights = shells.t, np.round(log_weights, WEIGHT_DECIMALS)
    with np.errstate(divide="ignore"):
        share = np.exp(log_weights - np.max(log_weights)) * shells.mass
    share /= share.sum()
    matters = (share > LEAST_SHELL_SHARE) | (
        (shells.mass > LEAST_SHELL_SHARE) & (log_weights > -np.inf)
    )
    positive = np.flatnonzero(log_weights > -np.inf)
    last = positive[-1]
    inside = np.flatnonzero(matters)
    stop = max(min(inside[-1], last), 1)
    first = min(inside[0], stop - 1)
    u, places = np.log(t), [first, stop]
    importance = np.sqrt(share)
    while len(places) < min(MOST_FITTED_KNOTS, stop - first + 1):
        line = np.interp(u, u[places], log_weights[places])
        off = np.abs(line - log_weights)[first : stop + 1] * importance[first : stop + 1]
        if not off.max() > KNOT_TOLERANCE:
            break
        places = sorted([*places, first + int(np.argmax(off))])
    chosen = falling(base, t[places], log_weights[places])
    chosen -= chosen.max()
    slopes = np.diff(chosen) / np.diff(u[places])
    inner = float(np.clip(slopes[0], -0.5 * base.m, base.power_in_t))
    # Zero from the first shell on where lambda is zero.
    outer = None
    if last == len(t) - 1:
        outer = float(np.clip(slopes[-1], -STEEPEST_WEIGHT, base.power_in_t + t[stop]))
    return Weighted(base, tuple(t[places].tolist()), tuple(chosen.tolist()), inner, outer)

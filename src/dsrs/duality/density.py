"""The density g that multipliers put on x: a sum of components, each on its own shells.

g = sum_i l_i q_i, where q_i is the law of constraint i (P is constraint 0) and a law is a list of
components (`laws.Component`). Everything is a density of u = ln(t / m).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.duality.base import Floats, picked, sort_distinct
from dsrs.duality.kernel import kernel
from dsrs.laws import Component

Integers = NDArray[np.int64]

TAIL = 1e-19  # mass left out at each end of a component; times lambda it stays below rounding
FAINT = 1e-30  # mass that SciPy's Gamma functions do not invert well
# Relative rounding of sums of a few hundred terms, of SciPy's Gamma functions (about 1e-14) and,
# times the sharpness, of exponents: they are about 10 sharpness, with a factor of 5 to spare.
ROUNDING, EXPONENT_ROUNDING = 1e-13, 1e-14


class Components(NamedTuple):
    """All components of all constraints, P's first; each array has one number a component."""

    owner: Integers  # which constraint
    log_height: Floats  # log-density in u at the anchor
    exponent: Floats
    decay: Floats  # rate t at the anchor
    anchor: Floats
    start: Floats  # in u
    stop: Floats
    low: Floats  # [low, high] holds all but TAIL of the mass at each end
    high: Floats
    sharp: Floats  # 1 over its standard deviation of u, at most
    rounding: Floats  # relative rounding of the component and of its mass
    sharpness: float  # the largest of `sharp`
    noise: float  # the largest of `rounding`


class Pieces(NamedTuple):
    """Intervals of u that no component's start or stop crosses, and the components on each."""

    low: Floats
    high: Floats
    first: Integers  # members[first[j] : first[j + 1]] are those of piece j
    members: Integers


def components_of(m: float, laws: tuple[tuple[Component, ...], ...]) -> Components:
    """The components of P (shape m) and of the additional laws as arrays; not to be written to."""
    return _components(m, laws)


@functools.lru_cache(maxsize=1024)
def _components(m: float, laws: tuple[tuple[Component, ...], ...]) -> Components:
    every = [(0, Component.gamma(m, m))]
    every += [(i + 1, component) for i, law in enumerate(laws) for component in law]
    ranges = [_range(m, component) for _, component in every]
    columns = np.array([component for _, component in every], dtype=np.float64).T
    log_height, exponent, rate, anchor, start, stop, doubt = columns
    with np.errstate(divide="ignore"):
        cuts = np.log(start / m), np.log(stop / m)
    # The curvature of the log-density at the peak or, where there is none inside, at the far end.
    ends, decay = np.array(ranges), rate * m * np.exp(anchor)
    bends = np.minimum(rate * m * np.exp(ends[:, 1]), np.maximum(exponent, 0.0))
    sharp = np.sqrt(np.maximum(bends, m))
    rounding = ROUNDING + EXPONENT_ROUNDING * np.sqrt(np.maximum(decay, m)) + doubt
    return Components(
        np.array([owner for owner, _ in every], dtype=np.int64),
        log_height.copy(),
        exponent.copy(),
        decay,
        anchor.copy(),
        *cuts,
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        sharp,
        rounding,
        float(sharp.max()),
        float(rounding.max()),
    )


@functools.lru_cache(maxsize=8192)
def _range(m: float, component: Component) -> tuple[float, float]:
    """Ends in u of what holds all but TAIL of the component's mass at each end."""
    shape, rate, start, stop = component.exponent, component.rate, component.start, component.stop
    low = math.log(start / m) if start > 0 else _lower_end(shape, rate * stop) - math.log(rate * m)
    high = math.log(stop / m)
    if stop == math.inf:
        high = _upper_end(shape, rate * start) - math.log(rate * m)
    return low, high


@functools.lru_cache(maxsize=8192)
def _lower_end(shape: float, stop: float) -> float:
    """Return ln of the t below which t^(shape-1) e^(-t) has TAIL of its mass on (0, stop]."""
    mass = float(special.gammainc(shape, stop))
    if mass < FAINT:
        # In ln t the density grows at a rate of shape - t or more below the stop.
        return math.log(stop) + math.log(TAIL) / (shape - stop)
    low = float(special.gammaincinv(shape, TAIL * mass))
    # Where the quantile underflows, its leading term t^shape / Gamma(shape + 1) is exact.
    if low < 1e-280:
        return (math.log(TAIL * mass) + math.lgamma(shape + 1)) / shape
    return math.log(low)


@functools.lru_cache(maxsize=8192)
def _upper_end(shape: float, start: float) -> float:
    """Return ln of the t above which t^(shape-1) e^(-t) has TAIL of its mass on (start, inf)."""
    mass = float(special.gammaincc(shape, start)) if shape > 0 else 0.0
    if mass < FAINT:
        # In t the density falls at a rate of 1 - (shape - 1)/start or more beyond the start.
        return math.log(start - math.log(TAIL) / (1 - max(shape - 1, 0.0) / start))
    return math.log(float(special.gammainccinv(shape, TAIL * mass)))


@kernel
def used_parts(parts: Components, multipliers: Floats) -> Components:
    """The components of P and of the laws whose multiplier is not 0; `parts` itself if all are.

    A law that a proof does not use must not cut its integrals, nor blur them.
    """
    kept = np.empty(len(parts.owner), dtype=np.int64)
    n, sharpness, noise = 0, 0.0, 0.0
    for j in range(len(parts.owner)):
        if parts.owner[j] == 0 or multipliers[parts.owner[j]] != 0.0:
            kept[n] = j
            n += 1
            sharpness, noise = max(sharpness, parts.sharp[j]), max(noise, parts.rounding[j])
    if n == len(parts.owner):
        return parts
    kept = kept[:n]
    return Components(
        picked(parts.owner, kept),
        picked(parts.log_height, kept),
        picked(parts.exponent, kept),
        picked(parts.decay, kept),
        picked(parts.anchor, kept),
        picked(parts.start, kept),
        picked(parts.stop, kept),
        picked(parts.low, kept),
        picked(parts.high, kept),
        picked(parts.sharp, kept),
        picked(parts.rounding, kept),
        sharpness,
        noise,
    )


@kernel
def log_term(parts: Components, j: int, u: float) -> float:
    """Log-density in u of component j, its cuts ignored."""
    w = u - parts.anchor[j]
    return float(parts.log_height[j] + parts.exponent[j] * w - parts.decay[j] * math.expm1(w))


@kernel
def pieces_of(parts: Components, share: float) -> Pieces:
    """The pieces that hold the mass of all components, of each range the middle `share`."""
    count = len(parts.owner)
    lows, highs = parts.low.copy(), parts.high.copy()
    cuts = np.empty(4 * count)
    n = 0
    for j in range(count):
        peak = min(max(parts.anchor[j], lows[j]), highs[j])
        # An end that is a cut stays: only tails are left out.
        if lows[j] > parts.start[j]:
            lows[j] = peak + share * (lows[j] - peak)
        if highs[j] < parts.stop[j]:
            highs[j] = peak + share * (highs[j] - peak)
    for j in range(count):
        for end in (lows[j], highs[j]):
            cuts[n] = end
            n += 1
    low_end, high_end = np.inf, -np.inf
    for j in range(count):
        low_end, high_end = min(low_end, lows[j]), max(high_end, highs[j])
    for j in range(count):
        for end in (parts.start[j], parts.stop[j]):
            if low_end < end < high_end:
                cuts[n] = end
                n += 1
    edges, n = cuts, sort_distinct(cuts, n)
    low, high = np.empty(n), np.empty(n)
    cut_count = 0
    for i in range(n - 1):
        covered, glued = False, cut_count > 0 and high[cut_count - 1] == edges[i]
        for j in range(count):
            covered = covered or (lows[j] <= edges[i] and edges[i + 1] <= highs[j])
            glued = glued and parts.start[j] != edges[i] and parts.stop[j] != edges[i]
        if not covered:
            continue
        if glued:
            # Where only the range of a component ends, nothing happens to g.
            high[cut_count - 1] = edges[i + 1]
        else:
            low[cut_count], high[cut_count] = edges[i], edges[i + 1]
            cut_count += 1
    first = np.zeros(cut_count + 1, dtype=np.int64)
    members = np.empty(cut_count * count, dtype=np.int64)
    n = 0
    for i in range(cut_count):
        for j in range(count):
            if high[i] > parts.start[j] and low[i] < parts.stop[j]:
                members[n] = j
                n += 1
        first[i + 1] = n
    return Pieces(low[:cut_count], high[:cut_count], first, members[:n])


@kernel
def active_on(parts: Components, pieces: Pieces, j: int, multipliers: Floats) -> Integers:
    """The components on piece j whose multiplier is not 0."""
    members = np.empty(pieces.first[j + 1] - pieces.first[j], dtype=np.int64)
    n = 0
    for i in pieces.members[pieces.first[j] : pieces.first[j + 1]]:
        if multipliers[parts.owner[i]] != 0.0:
            members[n] = i
            n += 1
    return members[:n]


@kernel
def density_at(
    parts: Components, active: Integers, multipliers: Floats, u: float
) -> tuple[float, float, float]:
    """Return g at u, its derivative, and the sum of the magnitudes of its terms."""
    total, slope, gross = 0.0, 0.0, 0.0
    for j in active:
        w = u - parts.anchor[j]
        fall = parts.decay[j] * math.expm1(w)
        term = math.exp(min(parts.log_height[j] + parts.exponent[j] * w - fall, 700.0))
        term *= multipliers[parts.owner[j]]
        total += term
        slope += term * (parts.exponent[j] - parts.decay[j] - fall)
        gross += abs(term)
    return total, slope, gross

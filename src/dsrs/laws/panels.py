"""Masses and quantiles of laws without library functions: disjoint components, cut into panels.

On a panel a component's density exp(A(u)), A concave, is so close to an exponential that a Gauss
rule of 8 nodes integrates it to rounding (tests compare with mpmath). Incomplete Gamma functions
would do the same for positive exponents only; the exponents of a weight are any real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.component import Component

Floats = NDArray[np.float64]

# Where a component's density has fallen to e^-PANEL_REACH of its maximum it is left out.
PANEL_REACH = 80.0
# From a panel's start to its end: change of A, width in u, and a pull on which A is a line.
LARGEST_PANEL_RISE, LARGEST_PANEL_WIDTH, NO_PULL = 1.0, 0.5, 1e-18
LONGEST_LINE = 500.0  # exp of it does not overflow
QUANTILE_NEWTON_STEPS = 3
QUANTILES_PER_BLOCK = 2**11

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# On [0, 1].
PANEL_NODES, PANEL_WEIGHTS = 0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Panels in order of u = ln(t / m). At z = u - start the density in u is

        exp(log_start + exponent z - pull expm1(z)),   0 <= z <= width.

    `below` holds the probability below each panel, and 1 at the end; `log_total` is ln of the mass
    of all components, which is divided out.
    """

    start: Floats
    width: Floats
    exponent: Floats
    pull: Floats
    below: Floats
    log_total: float
    _whole: Floats = field(init=False, repr=False)  # `part` of all of each panel

    def __post_init__(self) -> None:
        object.__setattr__(self, "_whole", self._shapes(np.arange(len(self.start))).part(1.0))

    def cdf(self, u: Floats) -> Floats:
        """Probability of shells below u."""
        i = np.clip(np.searchsorted(self.start, u, side="right") - 1, 0, None)
        fraction = np.clip((u - self.start[i]) / self.width[i], 0.0, 1.0)
        inside = self._shapes(i).part(fraction) / self._whole[i]
        return np.asarray(self.below[i] + inside * (self.below[i + 1] - self.below[i]))

    def quantile(self, probability: Floats) -> Floats:
        """The u below which this probability lies."""
        shells = np.empty(probability.size)
        flat = probability.ravel()
        for first in range(0, flat.size, QUANTILES_PER_BLOCK):
            shells[first : first + QUANTILES_PER_BLOCK] = self._quantile(
                flat[first : first + QUANTILES_PER_BLOCK]
            )
        return shells.reshape(probability.shape)

    def _quantile(self, probability: Floats) -> Floats:
        i = np.clip(np.searchsorted(self.below, probability) - 1, 0, len(self.start) - 1)
        # A panel that rounds to nothing is met at probability 0 only.
        inside = np.maximum(self.below[i + 1] - self.below[i], np.finfo(np.float64).tiny)
        share = (probability - self.below[i]) / inside
        wanted, shapes = share * self._whole[i], self._shapes(i)
        # Start from the exponential through the panel's ends; panels are short, so that Newton's
        # steps cannot leave its basin.
        rise = shapes.log_density(1.0)
        rise = np.where(np.abs(rise) < 1e-9, 1e-9, rise)
        fraction = np.log1p(share * np.expm1(rise)) / rise
        for _ in range(QUANTILE_NEWTON_STEPS):
            step = (shapes.part(fraction) - wanted) / np.exp(shapes.log_density(fraction))
            fraction = np.clip(fraction - step, 0.0, 1.0)
        return np.asarray(self.start[i] + self.width[i] * fraction)

    def _shapes(self, i: NDArray[np.intp]) -> _Shapes:
        return _Shapes(self.width[i], self.exponent[i], self.pull[i])


class _Shapes(NamedTuple):
    """The densities on some panels, one for each value that is asked for."""

    width: Floats
    exponent: Floats
    pull: Floats

    def log_density(self, fraction: Floats | float) -> Floats:
        """Return ln of the density over that at the start of its panel, at this fraction of its
        width."""
        z = self.width * fraction
        return np.asarray(self.exponent * z - self.pull * np.expm1(z))

    def part(self, fraction: Floats | float) -> Floats:
        """Mass up to this fraction of the panel, over width times density at its start."""
        # All nodes at once: calls of NumPy cost more than their arithmetic on few values.
        nodes, weights = (
            each.reshape(-1, *(1,) * self.width.ndim) for each in (PANEL_NODES, PANEL_WEIGHTS)
        )
        terms = weights * np.exp(self.log_density(fraction * nodes))
        total = np.zeros(self.width.shape)
        for term in terms:
            total += term
        return fraction * total


def panels_of(components: Sequence[Component], m: float) -> Panels:
    """The panels of components that are in order, do not overlap, and have a positive rate."""
    height, exponent, rate, anchor, first, last, _ = np.array(components, dtype=np.float64).T
    pull_at_0 = rate * m
    with np.errstate(divide="ignore"):
        first, last = np.log(first / m), np.log(last / m)
        peak = np.where(exponent > 0, np.log(np.maximum(exponent, 0) / pull_at_0), -np.inf)
    top = np.clip(peak, first, last)
    pull = pull_at_0 * np.exp(top)
    # Where the ends are at the latest: A(top - x) - A(top) <= exponent (1 - x) where A rises up to
    # the top, and A(top + x) - A(top) <= -pull (e^x - 1 - x).
    reach = 1 + PANEL_REACH / np.maximum(exponent, 1e-300)
    start = top - _distance(-exponent, -pull, np.minimum(top - first, reach))
    reach = np.maximum(2.0, np.log(2 * PANEL_REACH / pull))
    reach = np.minimum(np.sqrt(2 * PANEL_REACH / pull), reach)
    end = top + _distance(exponent, pull, np.minimum(last - top, reach))
    away = top - anchor
    log_top = height + exponent * away - pull_at_0 * np.exp(anchor) * np.expm1(away)

    start, width, owner = _cut(start, end, exponent, pull_at_0)
    exponent, z = exponent[owner], start - top[owner]
    log_start = log_top[owner] + exponent * z - pull[owner] * np.expm1(z)
    pull = pull[owner] * np.exp(z)
    log_mass = log_start + np.log(width * _Shapes(width, exponent, pull).part(1.0))
    largest = float(log_mass.max())
    below = np.concatenate([[0.0], np.cumsum(np.exp(log_mass - largest))])
    return Panels(start, width, exponent, pull, below / below[-1], largest + math.log(below[-1]))


def _distance(exponent: Floats, pull: Floats, most: Floats) -> Floats:
    """The largest x <= `most` at which A has fallen by no more than PANEL_REACH, by bisection.

    A(top + x) - A(top) = exponent x - pull expm1(x); with both signs turned, A(top - x).
    """
    sign = np.sign(pull)
    low, high = np.zeros_like(most), most
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            fall = exponent * middle - np.abs(pull) * np.expm1(sign * middle)
        low, high = (
            np.where(fall > -PANEL_REACH, middle, low),
            np.where(fall > -PANEL_REACH, high, middle),
        )
    return high


def _cut(
    start: Floats, end: Floats, exponent: Floats, pull_at_0: Floats
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Halve the ranges until every panel is short: starts, widths, and the component of each.

    Raises InvalidInput for a range that would have to be shorter than the spacing of numbers.
    """
    owner = np.flatnonzero(end > start)
    start, end = start[owner], end[owner]
    done = []
    while len(start):
        width = end - start
        pull = pull_at_0[owner] * np.exp(end)  # -A'' at the end, where it is largest
        rise = exponent[owner] * width + pull * np.expm1(-width)
        fits = (np.abs(rise) <= LARGEST_PANEL_RISE) & (pull * width * width <= LARGEST_PANEL_RISE)
        fits &= (width <= LARGEST_PANEL_WIDTH) | (
            (pull * width <= NO_PULL) & (width <= LONGEST_LINE)
        )
        done.append((start[fits], width[fits], owner[fits]))
        start, end, owner = start[~fits], end[~fits], owner[~fits]
        middle = 0.5 * (start + end)
        if np.any((middle <= start) | (middle >= end)):
            raise InvalidInput(
                "a weighted law has a piece so far outside of P that double precision cannot tell "
                "its shells apart; move its knots nearer to P"
            )
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        owner = np.concatenate([owner, owner])
    starts, widths, owners = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.argsort(starts, kind="stable")
    return starts[order], widths[order], owners[order]

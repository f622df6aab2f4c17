"""Q = lambda(t) P / nu with ln lambda piecewise linear in ln t (docs/math.md 1 and 9).

Its masses and quantiles come without library functions: disjoint components, cut into panels. On a
panel a component's density exp(A(u)), A concave, is so close to an exponential that a Gauss rule of
8 nodes integrates it to rounding (tests compare with mpmath). Incomplete Gamma functions would do
the same for positive exponents only; the exponents of a weight are any real numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.smoothing import (
    ULP,
    Component,
    Floats,
    GeneralizedGaussian,
    checked_probability,
    real_number,
    shown,
)

# ---- Masses and quantiles by panels

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


# ---- The law

MOST_KNOTS = 256
SMALLEST_KNOT, LARGEST_KNOT = 1e-150, 1e150
LARGEST_LOG_WEIGHT, LARGEST_SLOPE = 1e4, 1e5
# ln of the least mass under P, with the largest weight 1, that is still computed to rounding.
LEAST_LOG_MASS = -700.0


class Piece(NamedTuple):
    """A piece lambda = exp(log_weight) (t / at)^slope on (start, stop]; `at` is one of its ends."""

    slope: float
    at: float
    log_weight: float
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class Weighted(AdditionalLaw):
    """P weighted by lambda, a line in (ln t, ln lambda) through the points (knot, log weight).

    Two equal knots in a row are a jump. A piece between two log weights of -inf is zero. The scale
    of lambda does not matter.

    Attributes:
        base: the smoothing law P.
        knots: the shells t of the points, rising.
        log_weights: ln lambda at each knot.
        inner: the slope d ln lambda / d ln t below the first knot; lambda is zero there when None.
        outer: the slope beyond the last knot; lambda is zero there when None.

    In text: `weighted:0.5:0,3:0.25,9:-1` (KNOT:LOG_WEIGHT), with `inner=SLOPE,` before and
    `,outer=SLOPE` behind.
    """

    kind: ClassVar[str] = "weighted"

    knots: tuple[float, ...]
    log_weights: tuple[float, ...]
    inner: float | None = None
    outer: float | None = None
    _components: tuple[Component, ...] = field(init=False, repr=False, compare=False)
    _panels: Panels = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        knots, logs = _points(self.knots, self.log_weights)
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "log_weights", logs)
        for name, value in (("inner", self.inner), ("outer", self.outer)):
            slope = None if value is None else real_number(name, value)
            object.__setattr__(self, name, slope)
            if slope is not None and logs[0 if name == "inner" else -1] == -math.inf:
                raise InvalidInput(f"`{name}` must be left out where lambda is zero at the end")
        m = self.base.m
        pieces = list(self._pieces())
        if not pieces:
            raise InvalidInput("the weights of a weighted law must not be zero everywhere")
        if max(abs(piece.slope) for piece in pieces) > LARGEST_SLOPE:
            raise InvalidInput(
                f"the slopes of a weighted law must be at most {LARGEST_SLOPE:g}; "
                "for a jump give the same knot twice"
            )
        if self.inner is not None and not m + self.inner > 1e-3 * m:
            raise InvalidInput(
                f"`inner` must be above -m = {-m:g} (by a thousandth of it at least), "
                f"or Q has infinite mass near 0; got {self.inner!r}"
            )
        raw = [Component.tilted(m, *piece) for piece in pieces]
        panels = panels_of(raw, m)
        if not panels.log_total >= LEAST_LOG_MASS:
            raise InvalidInput(
                "the weights of a weighted law must be positive where P has noise; P has less "
                f"than e^{LEAST_LOG_MASS:g} of its mass there"
            )
        total = panels.log_total
        scaled = (
            c._replace(log_height=c.log_height - total, doubt=c.doubt + ULP * abs(total))
            for c in raw
        )
        object.__setattr__(self, "_components", tuple(scaled))
        object.__setattr__(self, "_panels", panels)

    def _pieces(self) -> Iterator[Piece]:
        """The pieces on which lambda is positive, in order, with the largest weight divided out."""
        most = max(self.log_weights)
        points = list(zip(self.knots, self.log_weights, strict=True))
        (first, log_first), (last, log_last) = points[0], points[-1]
        if self.inner is not None:
            yield Piece(self.inner, first, log_first - most, 0.0, first)
        for (t, log), (end, end_log) in itertools.pairwise(points):
            if end > t and log > -math.inf:
                yield Piece((end_log - log) / math.log(end / t), t, log - most, t, end)
        if self.outer is not None:
            yield Piece(self.outer, last, log_last - most, last, math.inf)

    @classmethod
    def from_text(cls, value: str, base: GeneralizedGaussian, p_lower: float | None) -> Weighted:
        slopes: dict[str, float] = {}
        points = []
        for part in value.split(","):
            name, equals, slope = part.partition("=")
            if equals and name in ("inner", "outer") and name not in slopes:
                slopes[name] = float(slope)
            else:
                knot, _, log_weight = part.partition(":")
                points.append((float(knot), float(log_weight)))
        knots, log_weights = zip(*points, strict=True)
        return cls(base, knots, log_weights, **slopes)

    @property
    def text(self) -> str:
        inner = [] if self.inner is None else [f"inner={self.inner!r}"]
        outer = [] if self.outer is None else [f"outer={self.outer!r}"]
        points = [f"{t!r}:{log!r}" for t, log in zip(self.knots, self.log_weights, strict=True)]
        return f"{self.kind}:" + ",".join(inner + points + outer)

    def to_dict(self) -> dict[str, Any]:
        # JSON has no infinity; the text is read back.
        logs = [log if math.isfinite(log) else str(log) for log in self.log_weights]
        return {
            "kind": self.kind,
            "knots": list(self.knots),
            "log_weights": logs,
            "inner": self.inner,
            "outer": self.outer,
        }

    @property
    def falls(self) -> bool:
        """On a piece the density at x, lambda t^(-kappa) e^(-t), falls if slope <= kappa + t."""
        kappa, previous = self.base.power_in_t, None
        for piece in self._pieces():
            if piece.slope > kappa + piece.start:
                return False
            if piece.start > (previous.stop if previous else 0.0):
                return False  # it rises from zero
            previous = piece
        jumps = itertools.pairwise(zip(self.knots, self.log_weights, strict=True))
        return not any(end == t and after > before for (t, before), (end, after) in jumps)

    @property
    def full_support(self) -> bool:
        return None not in (self.inner, self.outer) and -math.inf not in self.log_weights

    def components(self) -> tuple[Component, ...]:
        return self._components

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        t = self.base.shell(np.maximum(norm, 0.0))
        with np.errstate(divide="ignore"):
            return self._panels.cdf(np.log(t / self.base.m))

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        share = checked_probability(probability)
        t = self.base.m * np.exp(self._panels.quantile(share))
        # The panels leave out the last of infinite tails, and round at the other ends.
        t = np.where(share == 0, 0.0, np.where(share == 1, np.inf, t))
        return self.base.norm(np.clip(t, self._components[0].start, self._components[-1].stop))

    def describe(self) -> str:
        ends = f"t = {self.knots[0]:.4g} to {self.knots[-1]:.4g}"
        return f"P weighted by a line through {len(self.knots)} points, {ends}"


def _points(
    knots: Sequence[float], log_weights: Sequence[float | str]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points as tuples of floats, or an error that names what is wrong with them."""
    for name, values in (("knots", knots), ("log_weights", log_weights)):
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise InvalidInput(f"`{name}` must be a list of numbers, got {shown(values)}")
    if not 1 <= len(knots) <= MOST_KNOTS or len(knots) != len(log_weights):
        raise InvalidInput(
            f"a weighted law must have 1 to {MOST_KNOTS} knots and as many log weights, "
            f"got {len(knots)} and {len(log_weights)}"
        )
    places = tuple(real_number("knots", t) for t in knots)
    logs = tuple(
        -math.inf if log in (-math.inf, "-inf") else real_number("log_weights", log)
        for log in log_weights
    )
    if min(places) < SMALLEST_KNOT or max(places) > LARGEST_KNOT:
        raise InvalidInput(
            f"`knots` must be positive, from {SMALLEST_KNOT:g} to {LARGEST_KNOT:g}, "
            f"got {shown(places)}"
        )
    if max(map(abs, (log for log in logs if log > -math.inf)), default=0.0) > LARGEST_LOG_WEIGHT:
        raise InvalidInput(
            f"`log_weights` must be at most {LARGEST_LOG_WEIGHT:g} in size, got {shown(logs)}"
        )
    points = list(zip(places, logs, strict=True))
    for (t, log), (end, end_log) in itertools.pairwise(points):
        if end < t:
            raise InvalidInput(f"`knots` must be in rising order, got {end!r} after {t!r}")
        if end > t and (log == -math.inf) != (end_log == -math.inf):
            raise InvalidInput(
                f"a piece of a weighted law must be zero at both ends or at none; for a jump at "
                f"{t!r} or {end!r} give that knot twice"
            )
    if any(places[i] == places[i + 2] for i in range(len(places) - 2)):
        raise InvalidInput("a knot of a weighted law must be given twice at most")
    return places, logs

"""Q = lambda(t) P / nu with ln lambda piecewise linear in ln t (docs/math.md 1 and 9)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import InvalidInput
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.component import ULP, Component
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian, checked_probability
from dsrs.laws.panels import Panels, panels_of
from dsrs.laws.parameters import real_number, shown

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

"""What a certificate says, read from its JSON and believed in nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dsrs.audit.findings import Refuted
from dsrs.errors import DataError

STATUSES = ("certified", "short", "abstained", "undecided")
METHODS = ("neyman-pearson", "double-sampling", "leading-class", "first-order")


@dataclass(frozen=True, slots=True)
class Interval:
    """A probability is said to lie between these."""

    lower: float
    upper: float

    @property
    def says_nothing(self) -> bool:
        return self.lower == 0 and self.upper == 1


@dataclass(frozen=True, slots=True)
class Seen:
    """An additional law, as JSON, and the interval of its probability."""

    law: Mapping[str, Any]
    interval: Interval


@dataclass(frozen=True, slots=True)
class Step:
    """At this shift these multipliers are said to give this bound."""

    radius: float
    multipliers: tuple[float, ...]
    bound: float


@dataclass(frozen=True, slots=True)
class OnGrid:
    """Input and noise were rounded to a grid, the input moved by so much."""

    step: float
    moved: float
    variation: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A certificate."""

    d: int
    sigma: float
    k: float
    eta: float
    p: Interval
    additional: tuple[Seen, ...]
    radius: float
    np_radius: float
    status: str
    method: str
    proof: tuple[Step, ...]
    rival: float | None = None
    uniform: float | None = None
    gradient: float | None = None  # bound of sigma |grad P_A|
    grid: OnGrid | None = None
    other_radii: Mapping[str, float] | None = None  # of other norms

    @classmethod
    def from_dict(cls, fields: Any) -> Claim:
        """A certificate from its JSON; DataError where it is none."""
        law = _field(fields, "law", dict)
        return cls(
            d=_whole(_field(law, "d")),
            sigma=_number(_field(law, "sigma")),
            k=_number(_field(law, "k")),
            eta=_number(law.get("eta", 2.0)),
            p=_interval(_field(fields, "p", list)),
            additional=tuple(_seen(each) for each in _field(fields, "additional", list)),
            radius=_number(_field(fields, "radius")),
            np_radius=_number(_field(fields, "np_radius")),
            status=_field(fields, "status", str),
            method=_field(fields, "method", str),
            proof=tuple(_step(each) for each in _field(fields, "proof", list)),
            rival=_optional(fields, "rival"),
            uniform=_optional(fields, "uniform"),
            gradient=_optional(fields, "gradient"),
            grid=_grid(fields.get("grid")),
            other_radii={
                name: _number(fields[name])
                for name in ("linf_radius", "l1_radius")
                if name in fields
            },
        )

    def beyond_move(self, radius: float) -> Fraction:
        """How far from the grid point a finite radius around the input reaches."""
        return Fraction(radius) + Fraction(self.grid.moved if self.grid else 0)

    def check_words(self) -> None:
        """Raise Refuted where the parts of the claim contradict each other."""
        if self.status not in STATUSES or self.method not in METHODS:
            raise Refuted(f"there is no status {self.status!r} with method {self.method!r}")
        if not (self.radius >= 0 and self.np_radius >= 0):
            raise Refuted("a radius is negative")
        proves = self.status == "certified" or (self.status == "short" and self.radius > 0)
        if proves != (self.radius > 0) or proves != bool(self.proof):
            raise Refuted(f"status {self.status}, radius {self.radius!r} and proof do not fit")
        if self.np_radius > self.radius:
            raise Refuted("the Neyman-Pearson radius exceeds the radius")
        if (self.method == "leading-class") != (self.rival is not None):
            raise Refuted("a bound of the rivals belongs to the method leading-class alone")
        if (self.method == "first-order") != (self.gradient is not None):
            raise Refuted("a bound of the gradient belongs to the method first-order alone")
        if self.rival is not None and not 0 <= self.rival <= 1:
            raise Refuted(f"the rivals have probability {self.rival!r}")
        if self.uniform is not None and not 0 <= self.uniform <= 1:
            raise Refuted(f"the uniform number is {self.uniform!r}")
        for interval in (self.p, *(seen.interval for seen in self.additional)):
            if not 0 <= interval.lower <= interval.upper <= 1:
                raise Refuted(f"[{interval.lower!r}, {interval.upper!r}] is no interval")
        if not (self.d >= 2 and self.sigma > 0 and self.eta > 0 and 0 <= self.k < self.d / 2):
            raise Refuted("there is no such smoothing law")
        if self.grid and not (
            0 < self.grid.step < math.inf
            and 0 <= self.grid.moved < math.inf
            and 0 <= self.grid.variation <= 1
        ):
            raise Refuted(f"there is no such grid: {self.grid}")
        for step in self.proof:
            bounds = 1 + len(self.additional) + (self.gradient is not None)
            if len(step.multipliers) != bounds:
                raise Refuted("a step has not one multiplier for each bound")
            if any(map(math.isnan, (step.radius, step.bound, *step.multipliers))):
                raise Refuted("a number of the proof is not a number")

    def check_other_norms(self) -> None:
        """The ball of radius r in l-infinity lies in that of r sqrt(d) in l2, that of l1 in l2."""
        for name, value in (self.other_radii or {}).items():
            most = self.d if name == "linf_radius" else 1
            if math.isnan(value) or (math.isinf(value) and not math.isinf(self.radius)):
                raise Refuted(f"`{name}` is {value!r}")
            if math.isfinite(value) and math.isfinite(self.radius):
                above = Fraction(value) ** 2 * most > Fraction(self.radius) ** 2
                if value < 0 or above:
                    raise Refuted(f"`{name}` {value!r} does not follow from {self.radius!r}")


def _field(fields: Any, name: str, kind: type = object) -> Any:
    if not isinstance(fields, Mapping) or name not in fields:
        raise DataError(f"this is not a certificate: `{name}` is missing")
    if not isinstance(fields[name], kind):
        raise DataError(f"this is not a certificate: `{name}` is of the wrong kind")
    return fields[name]


def _number(value: Any) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DataError(f"this is not a certificate: expected a number, got {str(value)[:60]!r}")
    try:
        return float(value)
    except OverflowError:
        raise DataError("this is not a certificate: a number is too large") from None


def _optional(fields: Mapping[str, Any], name: str) -> float | None:
    return None if fields.get(name) is None else _number(fields[name])


def _grid(fields: Any) -> OnGrid | None:
    names = ("step", "moved", "variation")
    return None if fields is None else OnGrid(*(_number(_field(fields, name)) for name in names))


def _whole(value: Any) -> int:
    number = _number(value)
    if not number.is_integer():
        raise DataError(f"this is not a certificate: a dimension of {number!r}")
    return int(number)


def _interval(ends: list[Any]) -> Interval:
    if len(ends) != 2:
        raise DataError("this is not a certificate: an interval has two ends")
    return Interval(_number(ends[0]), _number(ends[1]))


def _seen(fields: Any) -> Seen:
    # The first version wrote the law's `kind` and `value` beside its interval.
    law = fields.get("law", fields) if isinstance(fields, Mapping) else None
    if not isinstance(law, Mapping) or not isinstance(law.get("kind"), str):
        raise DataError("this is not a certificate: an additional law has no `kind`")
    own = {name: value for name, value in law.items() if name != "q"}
    return Seen(own, _interval(_field(fields, "q", list)))


def _step(fields: Any) -> Step:
    return Step(
        _number(_field(fields, "radius")),
        tuple(_number(value) for value in _field(fields, "multipliers", list)),
        _number(_field(fields, "dual_bound")),
    )

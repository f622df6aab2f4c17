"""The frozen records that travel between the rooms: intervals, votes, certificates, results."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, law_from_dict
from dsrs.laws.parameters import real_number, shown

# `short`: a radius was asked for, and less was proved.
Status = Literal["certified", "short", "abstained", "undecided"]
Method = Literal["neyman-pearson", "double-sampling", "leading-class", "first-order"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A probability known to lie in [lower, upper]."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if not 0 <= value <= 1:
                raise InvalidInput(f"`{name}` must be a probability in [0, 1], got {value!r}")
        if self.lower > self.upper:
            raise InvalidInput(f"`lower` must not exceed `upper`, got [{self.lower}, {self.upper}]")


@dataclass(frozen=True, slots=True)
class Observation:
    """What was learned under one additional law: its Q_A lies in `interval`."""

    law: AdditionalLaw
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss; the base of the law is not repeated."""
        return {"law": self.law.to_dict(), "q": [self.interval.lower, self.interval.upper]}

    @classmethod
    def from_dict(cls, fields: Any, base: GeneralizedGaussian) -> Observation:
        """The observation that `to_dict` was made from.

        The first version wrote the law's `kind` and `value` beside `q`.
        """
        if isinstance(fields, dict) and "law" not in fields:
            law = {name: _field(fields, name) for name in ("kind", "value")}
        else:
            law = _field(fields, "law", dict)
        return cls(law_from_dict(law, base), _interval(_field(fields, "q", list)))


@dataclass(frozen=True, slots=True)
class ProofStep:
    """At shift length `radius` these multipliers make the dual bound at least `dual_bound`.

    `multipliers` holds lambda_p, then one number for each additional law.
    """

    radius: float
    multipliers: tuple[float, ...]
    dual_bound: float


@dataclass(frozen=True, slots=True)
class OnGrid:
    """Input and noise were rounded to a grid of this `step` (docs/grid.md).

    The input was `moved` this far (l2) to its grid point: proofs are about that point, radii are
    less by the distance. `variation` is what every probability was charged at most for noise that
    is not quite the law's.
    """

    step: float
    moved: float
    variation: float

    def to_dict(self) -> dict[str, float]:
        """For JSON, without loss."""
        return {"step": self.step, "moved": self.moved, "variation": self.variation}

    @classmethod
    def from_dict(cls, fields: Any) -> OnGrid:
        """The note that `to_dict` was made from."""
        names = ("step", "moved", "variation")
        return cls(*(_number(_field(fields, name)) for name in names))


def radius_less(radius: float, distance: float) -> float:
    """radius - distance, rounded down, and 0 where nothing is left."""
    if distance == 0 or math.isinf(radius):
        return radius
    left = radius - distance
    while left > 0 and Fraction(left) + Fraction(distance) > Fraction(radius):
        left = math.nextafter(left, 0.0)
    return max(left, 0.0)


@dataclass(frozen=True, slots=True)
class Certificate:
    """No perturbation shorter than `radius` (l2) changes the smoothed answer, with its proof.

    `proof` is checked by `dsrs.check` without any search. Most proofs are one step at `radius`;
    docs/math.md 5 says when more are needed. With a `grid` the proof is about the input's grid
    point, and begins farther out by the distance that it moved.
    """

    law: GeneralizedGaussian
    p: Interval
    additional: tuple[Observation, ...]
    radius: float
    np_radius: float
    status: Status
    method: Method
    proof: tuple[ProofStep, ...] = field(default=())
    complete: bool = True  # False: the search ran out of work, a larger radius may be provable
    rival: float | None = None  # upper bound of every other class, for `leading-class`
    uniform: float | None = None  # the uniform number of its bounds, if they are randomized
    gradient: float | None = None  # upper bound of sigma |grad P_A|, for `first-order`
    grid: OnGrid | None = None  # what input and noise were rounded to; None: float32, as they came

    @property
    def moved(self) -> float:
        """How far the proof's point lies from the input."""
        return 0.0 if self.grid is None else self.grid.moved

    @property
    def linf_radius(self) -> float:
        """Certified l-infinity radius: l2 / sqrt(d), rounded down."""
        ratio = self.radius / math.sqrt(self.law.d)
        if not 0 < ratio < math.inf:
            return ratio
        while Fraction(ratio) ** 2 * self.law.d > Fraction(self.radius) ** 2:
            ratio = math.nextafter(ratio, 0.0)
        return ratio

    @property
    def l1_radius(self) -> float:
        """Certified l1 radius: the l1 ball lies inside the l2 ball of the same radius."""
        return self.radius

    @property
    def multipliers(self) -> tuple[float, ...]:
        """lambda_p and the lambda of each additional law at the certified radius."""
        return self.proof[0].multipliers if self.proof else ()

    @property
    def dual_bound(self) -> float | None:
        """The proved lower bound of the class probability at the certified radius."""
        return self.proof[0].dual_bound if self.proof else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return {
            "law": self.law.to_dict(),
            "p": [self.p.lower, self.p.upper],
            "additional": [seen.to_dict() for seen in self.additional],
            "radius": _finite(self.radius),
            "linf_radius": _finite(self.linf_radius),
            "l1_radius": _finite(self.l1_radius),
            "np_radius": _finite(self.np_radius),
            "status": self.status,
            "method": self.method,
            "complete": self.complete,
            "rival": self.rival,
            "uniform": self.uniform,
            "gradient": self.gradient,
            "grid": None if self.grid is None else self.grid.to_dict(),
            "proof": [
                {
                    "radius": _finite(step.radius),
                    "multipliers": [_finite(value) for value in step.multipliers],
                    "dual_bound": step.dual_bound,
                }
                for step in self.proof
            ],
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Certificate:
        """The certificate that `to_dict` was made from; whatever else it is raises `DataError`.

        Derived numbers are not believed: the radii of other norms must follow from this radius
        (the first version rounded some of them further down).
        """
        try:
            law = GeneralizedGaussian.from_dict(_field(fields, "law", dict))
            found = cls(
                law=law,
                p=_interval(_field(fields, "p", list)),
                additional=tuple(
                    Observation.from_dict(seen, law) for seen in _field(fields, "additional", list)
                ),
                radius=_number(_field(fields, "radius")),
                np_radius=_number(_field(fields, "np_radius")),
                status=_field(fields, "status", str),
                method=_field(fields, "method", str),
                proof=tuple(_proof_step(step) for step in _field(fields, "proof", list)),
                complete=_field(fields, "complete", bool) if "complete" in fields else True,
                rival=_optional_number(fields, "rival"),
                uniform=_optional_number(fields, "uniform"),
                gradient=_optional_number(fields, "gradient"),
                grid=None if fields.get("grid") is None else OnGrid.from_dict(fields["grid"]),
            )
        except InvalidInput as error:
            raise DataError(f"this is not a certificate: {error}") from None
        for name in ("linf_radius", "l1_radius"):
            exact = getattr(found, name)
            # The first version rounded down by a step too many.
            if name in fields and not exact * (1 - 1e-15) <= _number(fields[name]) <= exact:
                raise DataError(
                    f"`{name}` must be {exact!r} for a radius of {found.radius!r}, "
                    f"got {shown(fields[name])}"
                )
        return found

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)

    @property
    def proof_text(self) -> str:
        """The proof in one cell of a table: [radius, multipliers, dual bound] of every step, as
        JSON; empty where there is none."""
        steps = [
            [step["radius"], step["multipliers"], step["dual_bound"]]
            for step in self.to_dict()["proof"]
        ]
        return json.dumps(steps) if steps else ""

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The certificate that `to_json` wrote."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected a certificate in JSON: {error}") from None
        return cls.from_dict(fields)


def _field(fields: Any, name: str, kind: type = object) -> Any:
    """One entry of a JSON object, of the kind it must have."""
    if not isinstance(fields, dict) or name not in fields:
        raise DataError(f"this is not a certificate: `{name}` is missing")
    if not isinstance(fields[name], kind):
        raise DataError(f"this is not a certificate: `{name}` is {shown(fields[name])}")
    return fields[name]


def _number(value: Any) -> float:
    """A float of JSON, with infinity as text, as `_finite` writes it."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DataError(f"this is not a certificate: expected a number, got {shown(value)}")
    return real_number("a number of the certificate", value)


def _optional_number(fields: dict[str, Any], name: str) -> float | None:
    return None if fields.get(name) is None else _number(fields[name])


def _interval(ends: list[Any]) -> Interval:
    if len(ends) != 2:
        raise DataError(f"this is not a certificate: an interval has two ends, got {shown(ends)}")
    return Interval(_number(ends[0]), _number(ends[1]))


def _proof_step(step: Any) -> ProofStep:
    return ProofStep(
        _number(_field(step, "radius")),
        tuple(_number(value) for value in _field(step, "multipliers", list)),
        _number(_field(step, "dual_bound")),
    )


def _finite(value: float) -> float | str:
    # JSON has no infinity.
    return value if math.isfinite(value) else str(value)

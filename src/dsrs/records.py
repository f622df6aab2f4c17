"""The frozen records that travel between the rooms: intervals, votes, certificates, results."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, law_from_dict

Status = Literal["certified", "abstained", "undecided"]
Method = Literal["neyman-pearson", "double-sampling"]

HISTOGRAM_BINS = 64


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
    def from_dict(cls, fields: dict[str, Any], base: GeneralizedGaussian) -> Observation:
        """The observation that `to_dict` was made from.

        The first version wrote the law's `kind` and `value` beside `q`.
        """
        law = fields.get("law", {name: fields.get(name) for name in ("kind", "value")})
        return cls(law_from_dict(law, base), Interval(*fields["q"]))


@dataclass(frozen=True, slots=True)
class ProofStep:
    """At shift length `radius` these multipliers make the dual bound at least `dual_bound`.

    `multipliers` holds lambda_p, then one number for each additional law.
    """

    radius: float
    multipliers: tuple[float, ...]
    dual_bound: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """No perturbation shorter than `radius` (l2) changes the smoothed answer, with its proof.

    `proof` is checked by `dsrs.check` without any search. Most proofs are one step at `radius`;
    see `dsrs.duality.proof` for when more are needed.
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
    def from_dict(cls, fields: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` was made from."""
        law = GeneralizedGaussian.from_dict(fields["law"])
        return cls(
            law=law,
            p=Interval(*fields["p"]),
            additional=tuple(Observation.from_dict(seen, law) for seen in fields["additional"]),
            radius=float(fields["radius"]),
            np_radius=float(fields["np_radius"]),
            status=fields["status"],
            method=fields["method"],
            proof=tuple(
                ProofStep(
                    float(step["radius"]),
                    tuple(map(float, step["multipliers"])),
                    step["dual_bound"],
                )
                for step in fields["proof"]
            ),
        )

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        return cls.from_dict(json.loads(text))


def _finite(value: float) -> float | str:
    # JSON has no infinity; float() reads the string back.
    return value if math.isfinite(value) else str(value)

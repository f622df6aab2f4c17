"""A smoothing law that the package does not know: a generalized Gaussian by its shape m."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dsrs.laws import GeneralizedGaussian


@dataclass(frozen=True, slots=True)
class Shaped(GeneralizedGaussian):
    """|x|^2 / s^2 follows Gamma(m, 1): k is (d - 2m) / 2."""

    kind: ClassVar[str] = "shaped"

    @classmethod
    def of_shape(cls, d: int, sigma: float, m: float) -> Shaped:
        return cls(d, sigma, (d - 2 * m) / 2)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "d": self.d, "sigma": self.sigma, "m": self.m}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Shaped:
        return cls.of_shape(fields["d"], fields["sigma"], fields["m"])

    def describe(self) -> str:
        return f"shaped(d={self.d}, m={self.m:g}, sigma={self.sigma:g})"

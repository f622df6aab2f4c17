"""A law that the package does not know: what somebody else writes to add one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.laws import AdditionalLaw, Component, Floats, GeneralizedGaussian


@dataclass(frozen=True, slots=True)
class Annulus(AdditionalLaw):
    """P between two shells: the shares `low` and `high` of its mass lie within them."""

    kind: ClassVar[str] = "annulus"

    low: float
    high: float

    @classmethod
    def from_text(cls, value: str, base: GeneralizedGaussian, p_lower: float | None) -> Annulus:
        low, high = value.split("-")
        return cls(base, float(low), float(high))

    @property
    def text(self) -> str:
        return f"annulus:{self.low!r}-{self.high!r}"

    @property
    def falls(self) -> bool:
        return False

    @property
    def full_support(self) -> bool:
        return False

    def components(self) -> tuple[Component, ...]:
        m = self.base.m
        start, stop = (float(special.gammaincinv(m, end)) for end in (self.low, self.high))
        share = 1 / (self.high - self.low)
        return (Component.gamma(m, m, coefficient=share, start=start, stop=stop),)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        inside = self.base.radial_cdf(norm).clip(self.low, self.high)
        return (inside - self.low) / (self.high - self.low)

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        share = np.asarray(probability, dtype=np.float64)
        return self.base.radial_quantile(self.low + (self.high - self.low) * share)

    def describe(self) -> str:
        return f"P from {self.low:g} to {self.high:g} of its mass"

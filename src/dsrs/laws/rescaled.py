"""Q = the same generalized Gaussian with another size beta (paper appendix, MATH 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import InvalidInput
from dsrs.laws.additional import ShellLaw
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian


@dataclass(frozen=True, slots=True)
class Rescaled:
    """P with sigma replaced by `beta`."""

    base: GeneralizedGaussian
    beta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.beta) and self.beta > 0):
            raise InvalidInput(
                f"`beta` of a rescaled law must be a positive number, got {self.beta!r}"
            )
        object.__setattr__(self, "beta", float(self.beta))

    @property
    def kind(self) -> str:
        return "rescaled"

    @property
    def value(self) -> float:
        return self.beta

    @property
    def law(self) -> GeneralizedGaussian:
        """Q itself as a generalized Gaussian."""
        return GeneralizedGaussian(self.base.d, self.beta, self.base.k)

    def shell_law(self) -> ShellLaw:
        return ShellLaw(shape=self.base.m, rate=(self.base.sigma / self.beta) ** 2)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        return self.law.radial_cdf(norm)

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        return self.law.radial_quantile(probability)

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        return self.law.sample_norms(count, generator)

    def describe(self) -> str:
        return f"rescaled to {self.beta:g} (factor {self.beta / self.base.sigma:.4g})"

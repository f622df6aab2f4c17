"""Q = P with another size beta (docs/math.md 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.errors import InvalidInput
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.component import Component
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian
from dsrs.laws.parameters import real_number

SMALLEST_FACTOR, LARGEST_FACTOR = 1e-6, 1e6


@dataclass(frozen=True, slots=True)
class Rescaled(AdditionalLaw):
    """P with another sigma.

    Attributes:
        base: the smoothing law P.
        beta: the sigma of this law, from 1e-6 to 1e6 times that of P.
    """

    kind: ClassVar[str] = "rescaled"

    beta: float

    def __post_init__(self) -> None:
        beta, sigma = real_number("beta", self.beta), self.base.sigma
        if not SMALLEST_FACTOR * sigma <= beta <= LARGEST_FACTOR * sigma:
            raise InvalidInput(
                f"`beta` of a rescaled law must be positive, from {SMALLEST_FACTOR:g} to "
                f"{LARGEST_FACTOR:g} times sigma = {sigma:g}, got {beta!r}"
            )
        object.__setattr__(self, "beta", beta)
        GeneralizedGaussian(self.base.d, beta)  # refuses a size beyond its limits

    @classmethod
    def from_text(cls, value: str, base: GeneralizedGaussian, p_lower: float | None) -> Rescaled:
        """Read `0.4`, which is beta, or `0.8x`, which is a factor of sigma."""
        if value.endswith("x"):
            return cls(base, float(value[:-1]) * base.sigma)
        return cls(base, float(value))

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.beta!r}"

    @property
    def short_text(self) -> str:
        return f"{self.kind}:{self.beta:.4g}"

    @property
    def law(self) -> GeneralizedGaussian:
        """Q itself as a smoothing law."""
        return self.base.resized(self.beta)

    @property
    def rate(self) -> float:
        """Return (sigma / beta)^eta: times t it follows Gamma(m, 1) under Q."""
        return float((self.base.sigma / self.beta) ** self.base.eta)

    @property
    def falls(self) -> bool:
        return True

    @property
    def full_support(self) -> bool:
        return True

    def components(self) -> tuple[Component, ...]:
        return (Component.gamma(self.base.m, self.base.m, self.rate),)

    def p_range(self, q_lower: float, q_upper: float) -> tuple[float, float]:
        # q/p falls with t if Q is narrower than P, and rises if it is wider: balls or complements.
        m, rate = self.base.m, self.rate

        def share_of_p(share_of_q: float) -> float:
            if rate > 1:
                return float(special.gammainc(m, special.gammaincinv(m, share_of_q) / rate))
            return float(special.gammaincc(m, special.gammainccinv(m, share_of_q) / rate))

        return share_of_p(q_lower), 1 - share_of_p(1 - q_upper)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        return self.law.radial_cdf(norm)

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        return self.law.radial_quantile(probability)

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        return self.law.sample_norms(count, generator)

    def describe(self) -> str:
        return f"rescaled to {self.beta:g} (factor {self.beta / self.base.sigma:.4g})"

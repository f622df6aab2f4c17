"""Q = P truncated to the ball |x| <= T (paper Table 1, MATH 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.errors import InvalidInput
from dsrs.laws.additional import ShellLaw
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian

Heuristic = Literal["paper", "recorded"]


@dataclass(frozen=True, slots=True)
class Truncated:
    """P restricted to the ball that holds the share `percentile` of its mass."""

    base: GeneralizedGaussian
    percentile: float

    def __post_init__(self) -> None:
        if not 0 < self.percentile <= 1:
            raise InvalidInput(
                f"`percentile` of a truncated law must be in (0, 1], got {self.percentile!r}"
            )
        object.__setattr__(self, "percentile", float(self.percentile))

    @classmethod
    def at_radius(cls, base: GeneralizedGaussian, radius: float) -> Truncated:
        """Truncated to the ball of radius T."""
        if not radius > 0:
            raise InvalidInput(f"the truncation radius must be positive, got {radius!r}")
        return cls(base, float(base.radial_cdf(radius)))

    @classmethod
    def by_heuristic(
        cls, base: GeneralizedGaussian, p_lower: float, rule: Heuristic = "recorded"
    ) -> Truncated:
        """The paper's choice of T from the lower bound of P_A."""
        return cls(base, heuristic_percentile(p_lower, rule))

    @property
    def kind(self) -> str:
        return "truncated"

    @property
    def value(self) -> float:
        return self.percentile

    @property
    def tau(self) -> float:
        """The shell t of the truncation radius: T^2 / (2 s'^2)."""
        return float(special.gammaincinv(self.base.m, self.percentile))

    @property
    def radius(self) -> float:
        """T."""
        return float(self.base.norm(self.tau))

    def shell_law(self) -> ShellLaw:
        return ShellLaw(shape=self.base.m, stop=self.tau, mass=self.percentile)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        return np.minimum(self.base.radial_cdf(norm) / self.percentile, 1.0)

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        share = np.asarray(probability, dtype=np.float64) * self.percentile
        return self.base.radial_quantile(share)

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        # Inverse transform: never rejects, so a sample costs the same for every percentile.
        return np.minimum(self.radial_quantile(generator.random(count)), self.radius)

    def describe(self) -> str:
        return f"truncated at {self.percentile:.4g} of the mass (T = {self.radius:.5g})"


def heuristic_percentile(p_lower: float, rule: Heuristic = "recorded") -> float:
    """The paper's percentile from the lower bound of P_A (appendix, T heuristics).

    `paper`: max(-0.08 ln(1 - P-) + 0.2, 0.5), as the text states it. `recorded`: what the
    recorded runs used (MATH 4): the same line without the maximum for P- >= 0.5, and 0.5 below.
    Both are cut at 1 (P- -> 1), where Q is P itself.
    """
    if not 0 <= p_lower <= 1:
        raise InvalidInput(f"`p_lower` must be in [0, 1], got {p_lower!r}")
    line = 1.0 if p_lower == 1 else -0.08 * math.log1p(-p_lower) + 0.2
    if rule == "paper":
        return min(max(line, 0.5), 1.0)
    if rule == "recorded":
        return min(line, 1.0) if p_lower >= 0.5 else 0.5
    raise InvalidInput(f"the truncation heuristic is 'paper' or 'recorded', got {rule!r}")

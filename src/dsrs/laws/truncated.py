"""Q = P truncated to the ball |x| <= T (docs/math.md 1)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.component import Component
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian, checked_probability
from dsrs.laws.parameters import real_number

Heuristic = Literal["paper", "recorded"]
# The mass within the quantile of SciPy is the percentile to rounding from here on, for every shape;
# below it may be wrong by a third of itself (from shapes of 1e6 on).
SMALLEST_PERCENTILE = 1e-5
# As texts name them.
HEURISTICS: dict[str, Heuristic] = {"heuristic": "recorded", "paper-heuristic": "paper"}


@dataclass(frozen=True, slots=True)
class Truncated(AdditionalLaw):
    """P restricted to a ball around 0.

    Attributes:
        base: the smoothing law P.
        percentile: the share of P's mass that the ball holds, from 1e-5 to 1.
    """

    kind: ClassVar[str] = "truncated"

    percentile: float

    def __post_init__(self) -> None:
        percentile = real_number("percentile", self.percentile)
        if not SMALLEST_PERCENTILE <= percentile <= 1:
            raise InvalidInput(
                f"`percentile` of a truncated law must be in [{SMALLEST_PERCENTILE:g}, 1], "
                f"got {percentile!r}"
            )
        object.__setattr__(self, "percentile", percentile)
        if self.tau < np.finfo(np.float64).tiny:
            raise InvalidInput(
                f"`percentile` of a truncated law must be larger for a shape as small as "
                f"{self.base.m:.3g}: the ball that holds {percentile:g} of the mass is too small "
                "to compute with"
            )

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

    @classmethod
    def from_text(cls, value: str, base: GeneralizedGaussian, p_lower: float | None) -> Truncated:
        """Read `0.8`, a share of the mass, `T=12.5`, a radius, or `heuristic`, the choice of the
        paper."""
        if cls.depends_on_votes(value):
            if p_lower is None:
                raise UnknownLaw(f"'truncated:{value}' needs the lower bound of P_A")
            return cls.by_heuristic(base, p_lower, HEURISTICS[value])
        if value.upper().startswith("T="):
            return cls.at_radius(base, float(value[2:]))
        return cls(base, float(value))

    @classmethod
    def depends_on_votes(cls, value: str) -> bool:
        return value in HEURISTICS

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.percentile!r}"

    @property
    def short_text(self) -> str:
        return f"{self.kind}:{self.percentile:.4g}"

    @property
    def tau(self) -> float:
        """The shell t of the truncation radius."""
        return _shell_below(self.base.m, self.percentile)

    @property
    def radius(self) -> float:
        """Return T, the radius of the ball that the law is restricted to."""
        return float(self.base.norm(self.tau))

    @property
    def falls(self) -> bool:
        return True

    @property
    def full_support(self) -> bool:
        return math.isinf(self.tau)

    def components(self) -> tuple[Component, ...]:
        m = self.base.m
        return (Component.gamma(m, m, coefficient=1 / self.percentile, stop=self.tau),)

    def p_range(self, q_lower: float, q_upper: float) -> tuple[float, float]:
        return q_lower * self.percentile, 1 - (1 - q_upper) * self.percentile

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        return np.minimum(self.base.radial_cdf(norm) / self.percentile, 1.0)

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        share = checked_probability(probability) * self.percentile
        return np.minimum(self.base.radial_quantile(share), self.radius)

    def describe(self) -> str:
        return f"truncated at {self.percentile:.4g} of the mass (T = {self.radius:.5g})"


@functools.lru_cache(maxsize=4096)
def _shell_below(m: float, share: float) -> float:
    """The t below which this share of Gamma(m, 1) lies."""
    return float(special.gammaincinv(m, share))


def heuristic_percentile(p_lower: float, rule: Heuristic = "recorded") -> float:
    """The paper's percentile from the lower bound of P_A (appendix, T heuristics).

    `paper`: max(-0.08 ln(1 - P-) + 0.2, 0.5), as the text states it. `recorded`: what the
    recorded runs used (docs/differences.md): the same line without the maximum for P- >= 0.5, and
    0.5 below.
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

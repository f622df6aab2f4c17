"""The laws Q of the paper, truncated and rescaled P (docs/math.md 1), and all laws by their names.

`LAW_KINDS` has every kind. Their text (of the command line and of tables) and their JSON are read
here and nowhere else.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.smoothing import (
    Component,
    Floats,
    GeneralizedGaussian,
    checked_probability,
    real_number,
    shown,
)
from dsrs.laws.weighted import Weighted

# ---- Q = P truncated to the ball |x| <= T

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


# ---- Q = P with another size beta

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


# ---- Laws by name: text and JSON

Law = TypeVar("Law", bound=type[AdditionalLaw])
LONGEST_SHOWN = 26  # letters; truncated:paper-heuristic has 25

# A new law is added here.
LAW_KINDS: dict[str, type[AdditionalLaw]] = {
    law.kind: law for law in (Truncated, Rescaled, Weighted)
}


def register(law: Law) -> Law:
    """Make a law of another package known to all commands and formats, under its `kind`."""
    if LAW_KINDS.get(law.kind, law) is not law:
        raise InvalidInput(f"there is a law of kind {law.kind!r} already")
    LAW_KINDS[law.kind] = law
    return law


def names_a_law(text: str) -> bool:
    """Whether this is the text of an additional law, `KIND:VALUE`, of a kind that is known."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind in LAW_KINDS


def chosen_from_votes(text: str) -> bool:
    """Whether the law of this text is chosen from the votes under P, by a heuristic."""
    kind, _, value = text.partition(":")
    return names_a_law(text) and LAW_KINDS[kind].depends_on_votes(value)


def parse_additional_law(
    text: str, base: GeneralizedGaussian, p_lower: float | None = None
) -> AdditionalLaw:
    """Read an additional law from its text.

    Args:
        text: `truncated:0.8`, `truncated:T=12.5`, `truncated:heuristic`, `rescaled:0.4`,
            `rescaled:0.8x` (times sigma), or `weighted:...` (see `Weighted`).
        base: the smoothing law P.
        p_lower: a lower bound of P_A, from which `truncated:heuristic` and
            `truncated:paper-heuristic` choose.
    """
    kind, _, value = text.partition(":")
    if not names_a_law(text):
        raise UnknownLaw(
            f"a law is written KIND:VALUE with KIND one of {', '.join(sorted(LAW_KINDS))} "
            f"(for example truncated:0.8 or rescaled:0.4), got {shown(text)}"
        )
    try:
        return LAW_KINDS[kind].from_text(value, base, p_lower)
    except InvalidInput:
        raise
    except ValueError:
        raise UnknownLaw(
            f"expected a number after {kind + ':'!r}, such as truncated:0.8, got {shown(value)}"
        ) from None


def short_law_text(text: str) -> str:
    """The text of a law (or of a method) for a table: at most a few digits and words.

    A law of many numbers is told from others of its kind by four letters made from its text.
    """
    kind, _, value = text.partition(":")
    if len(text) <= LONGEST_SHOWN:
        return text
    try:
        return f"{kind}:{float(value):.6g}"
    except ValueError:
        mark = hashlib.sha256(text.encode()).hexdigest()[:4]
        return f"{kind[:LONGEST_SHOWN]} #{mark} ({value.count(',') + 1} points)"


def law_from_dict(fields: Mapping[str, Any], base: GeneralizedGaussian) -> AdditionalLaw:
    """The law that `AdditionalLaw.to_dict` was made from."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in LAW_KINDS:
        raise UnknownLaw(
            f"the `kind` of a law must be one of {', '.join(sorted(LAW_KINDS))}, "
            f"got {shown(fields)}"
        )
    return LAW_KINDS[kind].from_dict(fields, base)


def additional_law(kind: str, value: float, base: GeneralizedGaussian) -> AdditionalLaw:
    """The law of a kind with one parameter: a percentile (truncated) or beta (rescaled)."""
    if kind not in LAW_KINDS:
        raise UnknownLaw(f"`q_shape` must be one of {', '.join(sorted(LAW_KINDS))}, got {kind!r}")
    return parse_additional_law(f"{kind}:{real_number('value', value)!r}", base)

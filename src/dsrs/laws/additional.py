"""What an additional law Q is to the package. A new law is one file with these names."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.smoothing import Component, Floats, FloatType, GeneralizedGaussian, shown


@dataclass(frozen=True, slots=True)
class AdditionalLaw(ABC):
    """A law Q beside the smoothing law P = `base`, round in the same norm.

    A law is a frozen dataclass whose further fields are its parameters. It is known to the rest of
    the package once its class is in `naming.LAW_KINDS`.
    """

    kind: ClassVar[str]  # one word, as in `truncated:0.8`

    base: GeneralizedGaussian

    @abstractmethod
    def components(self) -> tuple[Component, ...]:
        """Its density on the shells t of P; terms of one shell add up."""

    @property
    @abstractmethod
    def falls(self) -> bool:
        """Whether its density at x never rises with |x|."""

    @property
    @abstractmethod
    def full_support(self) -> bool:
        """Whether its density is positive almost everywhere."""

    @abstractmethod
    def radial_cdf(self, norm: ArrayLike) -> Floats:
        """Return Pr[|x| <= norm] under Q for each norm."""

    @abstractmethod
    def radial_quantile(self, probability: ArrayLike) -> Floats:
        """Return the norm below which noise from Q stays with this probability."""

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the law in words."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Return `kind:...`, from which `naming.parse_additional_law` makes this law again."""

    @property
    def short_text(self) -> str:
        """The text for a narrow column, with a few digits; it need not parse."""
        return self.kind

    @classmethod
    @abstractmethod
    def from_text(
        cls, value: str, base: GeneralizedGaussian, p_lower: float | None
    ) -> AdditionalLaw:
        """The law of the text `kind:value`. `p_lower`, the lower bound of P_A, is for heuristics.

        A ValueError becomes a message that shows the text.
        """

    @classmethod
    def depends_on_votes(cls, value: str) -> bool:
        """Whether the law of the text `kind:value` is chosen from votes, by a heuristic."""
        return False

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        """Draw independent noise norms under Q, by inverse transform unless the law knows better.

        Args:
            count: how many norms.
            generator: NumPy's source of randomness.
        """
        return self.radial_quantile(generator.random(count))

    def p_range(self, q_lower: float, q_upper: float) -> tuple[float, float]:
        """Return the least and the largest P_A that are possible, (0, 1) where that is not known.

        The extreme classifiers are right on the shells of largest, or of smallest, weight q/p.

        Args:
            q_lower: a lower bound of Q_A.
            q_upper: an upper bound of Q_A.
        """
        return 0.0, 1.0

    def log_weight(self, t: ArrayLike) -> Floats:
        """Return ln w(t) = ln q/p on shell t of P (docs/math.md 1); -inf outside the support."""
        m = self.base.m
        shells = np.maximum(np.asarray(t, dtype=np.float64), np.finfo(np.float64).tiny)
        u = np.log(shells / m)
        log_q = np.full(u.shape, -np.inf)
        for component in self.components():
            inside = (shells > component.start) & (shells <= component.stop)
            log_q[inside] = np.logaddexp(log_q[inside], component.log_density(u[inside], m))
        return np.asarray(log_q - Component.gamma(m, m).log_density(u, m))

    def pieces(self) -> list[tuple[float, float, float, float, float]]:
        """Return (start, stop, log, slope, rate): ln w(t) = log + slope ln t - rate t between.

        The form of a law in proof files (checker/FORMAT.md 3), up to a factor of w.
        """
        m, pieces, before = self.base.m, [], 0.0
        plain = Component.gamma(m, m)
        for each in self.components():
            if each.start < before:
                raise InvalidInput(f"the terms of {self.text} share shells, which no piece may")
            before = each.stop
            slope, rate, t = each.exponent - m, each.rate - 1, m * math.exp(each.anchor)
            at_anchor = each.log_height - float(plain.log_density(np.array(each.anchor), m))
            log = at_anchor - slope * math.log(t) + rate * t
            pieces.append((each.start, each.stop, log, slope, rate))
        if len(pieces) == 1:  # the factor of w is free
            pieces = [(*pieces[0][:2], 0.0, *pieces[0][3:])]
        return pieces

    def resembles(self, other: AdditionalLaw) -> bool:
        """Whether both are the same law but for rounding, as rescaled:0.8x is rescaled:0.4."""
        mine, others = self.components(), other.components()
        return self.base == other.base and (
            len(mine) == len(others) and bool(np.allclose(mine, others, rtol=1e-9, atol=1e-9))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the law as JSON, without loss: `kind` and the parameters, but not the base."""
        return {"kind": self.kind} | {name: getattr(self, name) for name in self._parameters()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], base: GeneralizedGaussian) -> AdditionalLaw:
        """The law that `to_dict` was made from; `naming.law_from_dict` finds the class."""
        parameters = {name: value for name, value in fields.items() if name != "kind"}
        if parameters.keys() != set(cls._parameters()):
            raise InvalidInput(
                f"a law of kind {cls.kind} has the parameters {', '.join(cls._parameters())}, "
                f"got {shown(parameters)}"
            )
        return cls(base, **parameters)

    @classmethod
    def _parameters(cls) -> list[str]:
        return [each.name for each in dataclasses.fields(cls) if each.init and each.name != "base"]


def sample_additional(
    law: AdditionalLaw,
    count: int,
    generator: np.random.Generator,
    dtype: FloatType = np.float64,
) -> NDArray[Any]:
    """Draw independent noise vectors of an additional law, one a row.

    Args:
        law: the additional law.
        count: how many vectors.
        generator: NumPy's source of randomness.
        dtype: the type of the values, np.float32 or np.float64.
    """
    return law.base.with_norms(law.sample_norms(count, generator), generator, dtype)

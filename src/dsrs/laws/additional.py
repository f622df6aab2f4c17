"""What an additional law Q is to the rest of the package."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian, with_norms


class WeightTerms(NamedTuple):
    """The weight w(t) = q/p of an isotropic law on shell t, as numbers that kernels can use.

    ln w(t) = log_scale + slope t + power ln t for start < t <= stop, and w(t) = 0 elsewhere.
    """

    log_scale: float
    slope: float = 0.0
    power: float = 0.0
    start: float = 0.0
    stop: float = math.inf

    def log_weight(self, t: ArrayLike) -> Floats:
        """ln w(t); -inf outside the support."""
        shells = np.asarray(t, dtype=np.float64)
        inside = (shells > self.start) & (shells <= self.stop)
        with np.errstate(divide="ignore"):
            curved = self.power * np.log(shells) if self.power else 0.0
        return np.where(inside, self.log_scale + self.slope * shells + curved, -np.inf)


class AdditionalLaw(Protocol):
    """An isotropic law Q beside the smoothing law P. A new law is one file with these names."""

    @property
    def base(self) -> GeneralizedGaussian:
        """The smoothing law P that the weight refers to."""

    @property
    def kind(self) -> str:
        """One word, as in `truncated:0.8`."""

    @property
    def value(self) -> float:
        """The number after the colon: a percentile for truncated, beta for rescaled."""

    def weight_terms(self) -> WeightTerms:
        """w(t) = q/p."""

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        """Pr[|x| <= norm] under Q."""

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        """The norm below which noise from Q stays with this probability."""

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        """Independent noise norms under Q."""

    def describe(self) -> str:
        """For people."""


def sample_additional(
    law: AdditionalLaw,
    count: int,
    generator: np.random.Generator,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """`count` independent noise vectors of an additional law, one a row."""
    return with_norms(law.sample_norms(count, generator), law.base.d, generator, dtype)

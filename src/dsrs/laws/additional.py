"""What an additional law Q is to the rest of the package."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.laws.generalized_gaussian import Floats, FloatType, GeneralizedGaussian, with_norms


class ShellLaw(NamedTuple):
    """The radial law of an isotropic Q on the shells t of P, as numbers that kernels can use.

    rate * t follows Gamma(shape, 1), restricted to start < t <= stop, a set of probability `mass`.
    P itself is ShellLaw(shape=m).
    """

    shape: float
    rate: float = 1.0
    start: float = 0.0
    stop: float = math.inf
    mass: float = 1.0

    def log_weight(self, t: ArrayLike, m: float) -> Floats:
        """ln w(t) = ln q/p against P of shape m (MATH 1); -inf outside the support."""
        shells = np.asarray(t, dtype=np.float64)
        inside = (shells > self.start) & (shells <= self.stop)
        level = self.shape * math.log(self.rate) - math.log(self.mass)
        level += float(special.gammaln(m) - special.gammaln(self.shape))
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = special.xlogy(self.shape - m, shells)
            return np.where(inside, level + curved - (self.rate - 1) * shells, -np.inf)


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

    def shell_law(self) -> ShellLaw:
        """Its radial law on the shells of P, which fixes the weight w(t) = q/p."""

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
    dtype: FloatType = np.float64,
) -> NDArray[Any]:
    """`count` independent noise vectors of an additional law, one a row."""
    return with_norms(law.sample_norms(count, generator), law.base.d, generator, dtype)

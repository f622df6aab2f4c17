"""The smoothing law P: Gaussian (k = 0) and generalized Gaussian noise.

Symbols (MATH 1, paper Table 1): dimension d, exponent k with 0 <= k < d/2, shape m = d/2 - k,
scale s' = sigma sqrt(d / (d - 2k)). The density at x is proportional to
|x|^(-2k) exp(-|x|^2 / (2 s'^2)), so the direction is uniform and t = |x|^2 / (2 s'^2) follows
Gamma(m, 1). E |x|^2 = sigma^2 d for every k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]
FloatType = type[np.float32] | type[np.float64]


@dataclass(frozen=True, slots=True)
class GeneralizedGaussian:
    """Isotropic noise of dimension `d`, size `sigma` and exponent `k` (0 is the Gaussian)."""

    d: int
    sigma: float
    k: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.d, bool) or int(self.d) != self.d or self.d < 2:
            raise InvalidInput(f"`d` must be a whole number >= 2, got {self.d!r}")
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise InvalidInput(f"`sigma` must be a positive number, got {self.sigma!r}")
        if not (math.isfinite(self.k) and 0 <= self.k < self.d / 2):
            raise InvalidInput(f"`k` must be in [0, d/2) = [0, {self.d / 2:g}), got {self.k!r}")
        object.__setattr__(self, "d", int(self.d))
        object.__setattr__(self, "sigma", float(self.sigma))
        object.__setattr__(self, "k", float(self.k))

    @property
    def m(self) -> float:
        """Shape of the radial Gamma law: d/2 - k."""
        return self.d / 2 - self.k

    @property
    def scale(self) -> float:
        """s' = sigma sqrt(d / (d - 2k)), the unit of length of the radial law."""
        return self.sigma * math.sqrt(self.d / (2 * self.m))

    def shell(self, norm: ArrayLike) -> Floats:
        """t = norm^2 / (2 s'^2)."""
        return 0.5 * np.square(np.asarray(norm, dtype=np.float64) / self.scale)

    def norm(self, t: ArrayLike) -> Floats:
        """The noise norm s' sqrt(2t) of shell t."""
        return np.asarray(self.scale * np.sqrt(2 * np.asarray(t, dtype=np.float64)))

    def radial_pdf(self, norm: ArrayLike) -> Floats:
        """Density of the noise norm."""
        x = np.asarray(norm, dtype=np.float64) / self.scale
        with np.errstate(divide="ignore"):
            log_density = (
                special.xlogy(2 * self.m - 1, x)
                - x * x / 2
                - (self.m - 1) * math.log(2)
                - special.gammaln(self.m)
            )
        return np.where(x >= 0, np.exp(log_density) / self.scale, 0.0)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        """Pr[|x| <= norm]."""
        return np.asarray(special.gammainc(self.m, self.shell(np.maximum(norm, 0.0))))

    def radial_sf(self, norm: ArrayLike) -> Floats:
        """Pr[|x| > norm], exact in the upper tail."""
        return np.asarray(special.gammaincc(self.m, self.shell(np.maximum(norm, 0.0))))

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        """The norm below which the noise stays with this probability."""
        return self.norm(special.gammaincinv(self.m, _probability(probability)))

    def radial_upper_quantile(self, probability: ArrayLike) -> Floats:
        """The norm that the noise exceeds with this probability."""
        return self.norm(special.gammainccinv(self.m, _probability(probability)))

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        """`count` independent noise norms."""
        return self.norm(generator.standard_gamma(self.m, count))

    def sample(
        self, count: int, generator: np.random.Generator, dtype: FloatType = np.float64
    ) -> NDArray[Any]:
        """`count` independent noise vectors, one a row."""
        if self.k == 0:
            noise: NDArray[Any] = generator.standard_normal((count, self.d), dtype=dtype)
            noise *= dtype(self.sigma)
            return noise
        return with_norms(self.sample_norms(count, generator), self.d, generator, dtype)

    def describe(self) -> str:
        """For people: `Gaussian(d=784, sigma=0.5)`."""
        if self.k == 0:
            return f"Gaussian(d={self.d}, sigma={self.sigma:g})"
        return f"generalized Gaussian(d={self.d}, k={self.k:.10g}, sigma={self.sigma:g})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` gives the same law back."""
        return {"d": self.d, "sigma": self.sigma, "k": self.k}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> GeneralizedGaussian:
        return cls(d=fields["d"], sigma=fields["sigma"], k=fields["k"])


def with_norms(
    norms: Floats, d: int, generator: np.random.Generator, dtype: FloatType = np.float64
) -> NDArray[Any]:
    """Vectors of the given norms in independent uniform directions."""
    vectors: NDArray[Any] = generator.standard_normal((len(norms), d), dtype=dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    vectors *= (norms / lengths)[:, None].astype(vectors.dtype)
    return vectors


def _probability(value: ArrayLike) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise InvalidInput(f"a probability must be in [0, 1], got {value!r}")
    return array

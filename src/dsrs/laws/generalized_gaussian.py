"""The smoothing law P: Gaussian, generalized Gaussian and exponential-family noise.

Symbols (docs/math.md 1): dimension d, exponents k (0 <= k < d/2) and eta. The density
at x is proportional to |x|^(-2k) exp(-t) with t = (|x| / s)^eta, so the direction is uniform and
t follows Gamma(m, 1) with shape m = (d - 2k) / eta. The unit of length s is fixed by
E |x|^2 = sigma^2 d for every k and eta. eta = 2 is the generalized Gaussian, and k = 0 with it the
Gaussian.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.errors import InvalidInput
from dsrs.laws.component import log_gamma_peak, log_gamma_step
from dsrs.laws.parameters import real_number, shown

Floats = NDArray[np.float64]
FloatType = type[np.float32] | type[np.float64]

LARGEST_D = 10**9
# Squares of norms must neither overflow nor underflow.
SMALLEST_SIGMA, LARGEST_SIGMA = 1e-100, 1e100
SMALLEST_ETA, LARGEST_ETA = 0.5, 8.0
# A smaller shape puts half of the noise below the smallest number. (1e-3 and room for rounding.)
SMALLEST_SHAPE = 9.9e-4


@dataclass(frozen=True, slots=True)
class GeneralizedGaussian:
    """Isotropic noise: its density at x is proportional to |x|^(-2k) exp(-(|x| / s)^eta).

    Attributes:
        d: the dimension, which is the number of values of one input.
        sigma: the size: E |x|^2 = sigma^2 d, which fixes the unit of length s.
        k: the first exponent, 0 <= k < d/2; 0 is the Gaussian.
        eta: the second exponent, from 0.5 to 8; 2 is the Gaussian.
    """

    kind: ClassVar[str] = "generalized-gaussian"  # a subclass has another, and writes it in JSON

    d: int
    sigma: float
    k: float = 0.0
    eta: float = 2.0

    def __post_init__(self) -> None:
        d = self.d
        whole = type(d) is int or (isinstance(d, numbers.Real) and not isinstance(d, bool))
        if not (whole and 2 <= d <= LARGEST_D and int(d) == d):
            raise InvalidInput(f"`d` must be a whole number from 2 to {LARGEST_D}, got {shown(d)}")
        sigma = real_number("sigma", self.sigma)
        if not SMALLEST_SIGMA <= sigma <= LARGEST_SIGMA:
            raise InvalidInput(
                f"`sigma` must be a positive number from {SMALLEST_SIGMA:g} to "
                f"{LARGEST_SIGMA:g}, got {sigma!r}"
            )
        eta = real_number("eta", self.eta)
        if not SMALLEST_ETA <= eta <= LARGEST_ETA:
            raise InvalidInput(
                f"`eta` must be from {SMALLEST_ETA:g} to {LARGEST_ETA:g}, got {eta!r}"
            )
        k = real_number("k", self.k)
        if not 0 <= k < d / 2:
            raise InvalidInput(f"`k` must be in [0, d/2) = [0, {d / 2:g}), got {k!r}")
        if (d - 2 * k) / eta < SMALLEST_SHAPE:
            raise InvalidInput(
                f"`k` must be further below d/2 = {d / 2:g}: the shape (d - 2k) / eta must be "
                f"at least {SMALLEST_SHAPE:g}, got {(d - 2 * k) / eta:.3g}"
            )
        for name, value in (("d", int(d)), ("sigma", sigma), ("k", k), ("eta", eta)):
            object.__setattr__(self, name, value)

    @property
    def m(self) -> float:
        """Shape of the radial Gamma law: (d - 2k) / eta."""
        return (self.d - 2 * self.k) / self.eta

    @property
    def power_in_t(self) -> float:
        """Return kappa = 2k / eta: the density at x is proportional to t^(-kappa) e^(-t)."""
        return 2 * self.k / self.eta

    @property
    def is_gaussian(self) -> bool:
        """Whether the coordinates are independent normals."""
        return self.k == 0 and self.eta == 2

    @property
    def scale(self) -> float:
        """The unit of length s / sqrt(2), from 2 scale^2 Gamma(m + 2/eta) / Gamma(m) = sigma^2 d.

        For eta = 2 it is s' = sigma sqrt(d / (d - 2k)).
        """
        if self.eta == 2:
            return self.sigma * math.sqrt(self.d / (2 * self.m))
        growth = math.exp(-0.5 * log_gamma_step(self.m, 2 / self.eta))
        return self.sigma * math.sqrt(self.d / 2) * growth

    def shell(self, norm: ArrayLike) -> Floats:
        """Return the shell t = (norm / (scale sqrt 2))^eta of each norm."""
        ratio = np.asarray(norm, dtype=np.float64) / self.scale
        if self.eta == 2:
            return 0.5 * np.square(ratio)
        return np.asarray((ratio / math.sqrt(2)) ** self.eta)

    def norm(self, t: ArrayLike) -> Floats:
        """Return the noise norm scale sqrt(2) t^(1/eta) of shell t."""
        shells = np.asarray(t, dtype=np.float64)
        if self.eta == 2:
            return np.asarray(self.scale * np.sqrt(2 * shells))
        return np.asarray(self.scale * math.sqrt(2) * shells ** (1 / self.eta))

    def radial_pdf(self, norm: ArrayLike) -> Floats:
        """Density of the noise norm: eta t^m e^(-t) / (Gamma(m) norm)."""
        x = np.asarray(norm, dtype=np.float64)
        m = self.m
        share = self.shell(np.maximum(x, 0.0)) / m  # 1 at the peak of the shells
        at_peak = math.log(self.eta / self.norm(m)) + log_gamma_peak(m)
        with np.errstate(divide="ignore", over="ignore"):
            log_density = at_peak + special.xlogy(m - 1 / self.eta, share) - m * (share - 1)
            return np.where(x >= 0, np.exp(log_density), 0.0)

    def radial_cdf(self, norm: ArrayLike) -> Floats:
        """Return Pr[|x| <= norm] for each norm."""
        return np.asarray(special.gammainc(self.m, self.shell(np.maximum(norm, 0.0))))

    def radial_quantile(self, probability: ArrayLike) -> Floats:
        """Return the norm below which the noise stays with this probability."""
        return self.norm(special.gammaincinv(self.m, checked_probability(probability)))

    def sample_norms(self, count: int, generator: np.random.Generator) -> Floats:
        """Draw independent noise norms.

        Args:
            count: how many norms.
            generator: NumPy's source of randomness.
        """
        return self.norm(generator.standard_gamma(self.m, count))

    def sample(
        self, count: int, generator: np.random.Generator, dtype: FloatType = np.float64
    ) -> NDArray[Any]:
        """Draw independent noise vectors, one a row.

        Args:
            count: how many vectors.
            generator: NumPy's source of randomness.
            dtype: the type of the values, np.float32 or np.float64.
        """
        if self.is_gaussian:
            noise: NDArray[Any] = generator.standard_normal((count, self.d), dtype=dtype)
            noise *= dtype(self.sigma)
            return noise
        return self.with_norms(self.sample_norms(count, generator), generator, dtype)

    def with_norms(
        self, norms: Floats, generator: np.random.Generator, dtype: FloatType = np.float64
    ) -> NDArray[Any]:
        """Draw vectors of given norms in independent directions.

        Args:
            norms: the norm of each vector.
            generator: NumPy's source of randomness.
            dtype: the type of the values, np.float32 or np.float64.
        """
        vectors: NDArray[Any] = generator.standard_normal((len(norms), self.d), dtype=dtype)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        vectors *= (norms / lengths)[:, None].astype(vectors.dtype)
        return vectors

    def resized(self, sigma: float) -> GeneralizedGaussian:
        """Return the law of the same shape and of size `sigma`."""
        return GeneralizedGaussian(self.d, sigma, self.k, self.eta)

    def describe(self) -> str:
        """Return a description in words: `Gaussian(d=784, sigma=0.5)`."""
        if self.is_gaussian:
            return f"Gaussian(d={self.d}, sigma={self.sigma:g})"
        eta = "" if self.eta == 2 else f", eta={self.eta:.10g}"
        return f"generalized Gaussian(d={self.d}, k={self.k:.10g}{eta}, sigma={self.sigma:g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the law as JSON; `from_dict` gives the same law back."""
        return {"d": self.d, "sigma": self.sigma, "k": self.k, "eta": self.eta}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> GeneralizedGaussian:
        """The law that `to_dict` was made from; without `eta` it is 2."""
        needed = {"d", "sigma", "k"}
        if not (isinstance(fields, Mapping) and needed <= fields.keys() <= needed | {"eta"}):
            raise InvalidInput(f"a smoothing law has d, sigma, k and eta, got {shown(fields)}")
        return cls(**fields)


def checked_probability(value: ArrayLike) -> Floats:
    """Return `value` as an array of probabilities, or raise InvalidInput."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise InvalidInput(f"a probability must be in [0, 1], got {value!r}")
    return array

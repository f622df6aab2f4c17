"""Noise that is round in the l1, l2 or l-infinity norm, of the generalized Gaussian family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.errors import UnknownLaw
from dsrs.laws import AdditionalLaw, GeneralizedGaussian

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]


@dataclass(frozen=True, slots=True)
class NormLaw:
    """Noise with density proportional to |x|^(-2k) exp(-(|x| / s)^eta), |x| in the given norm.

    For every norm |x| and x / |x| are independent, the direction follows the cone measure of the
    unit sphere, and t = (|x| / s)^eta follows Gamma((d - 2k) / eta, 1) (docs/math.md 1). So the
    shells, and the additional laws as weights on shells, are those of the l2 law `radial`. The
    l1 norm with eta = 1 and k = 0 is noise of independent Laplace coordinates.

    `sigma` is the root mean square of one coordinate, for every norm, k and eta; this fixes s.
    """

    norm: Norm
    d: int
    sigma: float
    k: float = 0.0
    eta: float = 2.0

    def __post_init__(self) -> None:
        if self.norm not in get_args(Norm):
            raise UnknownLaw(f"`norm` must be one of l1, l2, linf, got {self.norm!r}")
        radial = self.radial
        object.__setattr__(self, "d", radial.d)
        object.__setattr__(self, "sigma", radial.sigma)
        object.__setattr__(self, "k", radial.k)
        object.__setattr__(self, "eta", radial.eta)

    @property
    def radial(self) -> GeneralizedGaussian:
        """The l2 law with the same shells; additional laws are built on it."""
        return GeneralizedGaussian(self.d, self.sigma, self.k, self.eta)

    @property
    def scale(self) -> float:
        """The unit of length s / sqrt(2), from sigma^2 = E |x|^2 E[u_1^2].

        |x| are the norms of `radial` in another unit; u is uniform on the unit sphere.
        """
        coordinate = {
            "l1": 2 / (self.d * (self.d + 1)),
            "l2": 1 / self.d,
            "linf": (self.d + 2) / (3 * self.d),
        }[self.norm]
        return self.radial.scale / math.sqrt(self.d * coordinate)

    def norms(self, t: ArrayLike) -> Floats:
        """The noise norm of shell t."""
        return self.radial.norm(t) * (self.scale / self.radial.scale)

    def sample_shells(
        self, count: int, generator: np.random.Generator, additional: AdditionalLaw | None = None
    ) -> Floats:
        """Independent shells t, of this law or of an additional one."""
        if additional is None:
            return generator.standard_gamma(self.radial.m, count)
        return self.radial.shell(additional.sample_norms(count, generator))

    def sample(
        self, count: int, generator: np.random.Generator, additional: AdditionalLaw | None = None
    ) -> Floats:
        """Independent noise vectors, one a row, of this law or of an additional one."""
        norms = self.norms(self.sample_shells(count, generator, additional))
        return norms[:, None] * self._directions(count, generator)

    def _directions(self, count: int, generator: np.random.Generator) -> Floats:
        """Points of the unit sphere under its cone measure."""
        if self.norm == "linf":
            # One coordinate, any of them, sits at the end of its range.
            cube = generator.uniform(-1.0, 1.0, (count, self.d))
            face = generator.integers(self.d, size=count)
            cube[np.arange(count), face] = generator.choice([-1.0, 1.0], count)
            return cube
        if self.norm == "l1":
            vectors = generator.laplace(size=(count, self.d))
            return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))
        vectors = generator.standard_normal((count, self.d))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def describe(self) -> str:
        """For people."""
        eta = "" if self.eta == 2 else f", eta={self.eta:.10g}"
        return f"{self.norm} noise(d={self.d}, k={self.k:.10g}{eta}, sigma={self.sigma:g})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"norm": self.norm} | self.radial.to_dict()

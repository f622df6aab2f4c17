"""Smoothing laws that are round in the l1 or l-infinity norm.

The density at x is proportional to |x|^(-2k) exp(-(|x| / s)^eta) with |x| in that norm. As for l2,
|x| and x / |x| are independent, and t = (|x| / s)^eta follows Gamma((d - 2k) / eta, 1): the shells
are the same, and so are additional laws, which are weights on shells; only spheres have another
shape. Directions x / |x| follow the cone measure of the unit sphere: that of y / |y| for any y
whose density is a function of |y|, such as independent Laplace coordinates (l1) or a uniform point
of the cube (l-infinity).

`sigma` is the root mean square of one coordinate, for every norm, k and eta. This fixes s: with
E[u_1^2] of a direction u, sigma^2 = E |x|^2 E[u_1^2].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.generalized_gaussian import Floats, FloatType, GeneralizedGaussian
from dsrs.laws.norms import Norm
from dsrs.laws.parameters import shown


@dataclass(frozen=True, slots=True)
class RoundInNorm(GeneralizedGaussian, ABC):
    """Noise of dimension `d`, size `sigma` and exponents `k`, `eta`, round in another norm."""

    @property
    @abstractmethod
    def coordinate_square(self) -> float:
        """E[u_1^2] for a direction u."""

    @property
    def is_gaussian(self) -> bool:
        return False

    @property
    def scale(self) -> float:
        return self.isotropic.scale / math.sqrt(self.d * self.coordinate_square)

    @property
    def isotropic(self) -> GeneralizedGaussian:
        """The l2 law of the same parameters, which has the same shells."""
        return GeneralizedGaussian(self.d, self.sigma, self.k, self.eta)

    @abstractmethod
    def directions(self, count: int, generator: np.random.Generator) -> Floats:
        """Independent noise vectors of norm 1."""

    def with_norms(
        self, norms: Floats, generator: np.random.Generator, dtype: FloatType = np.float64
    ) -> NDArray[Any]:
        return np.asarray(norms[:, None] * self.directions(len(norms), generator), dtype)

    def resized(self, sigma: float) -> GeneralizedGaussian:
        return type(self)(self.d, sigma, self.k, self.eta)

    def describe(self) -> str:
        eta = "" if self.eta == 2 else f", eta={self.eta:.10g}"
        return f"{self.kind} noise(d={self.d}, k={self.k:.10g}{eta}, sigma={self.sigma:g})"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.isotropic.to_dict()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> GeneralizedGaussian:
        names = {"kind", "d", "sigma", "k", "eta"}
        if not isinstance(fields, Mapping) or fields.keys() != names or fields["kind"] != cls.kind:
            raise InvalidInput(
                f"a smoothing law of kind {cls.kind} has d, sigma, k and eta, got {shown(fields)}"
            )
        return cls(**{name: value for name, value in fields.items() if name != "kind"})


@dataclass(frozen=True, slots=True)
class L1Law(RoundInNorm):
    """Noise that is round in the l1 norm; eta = 1 and k = 0 are independent Laplace coordinates."""

    kind: ClassVar[str] = "l1"
    measured_in: ClassVar[Norm] = "l1"

    @property
    def coordinate_square(self) -> float:
        return 2 / (self.d * (self.d + 1))

    def directions(self, count: int, generator: np.random.Generator) -> Floats:
        vectors = generator.laplace(size=(count, self.d))
        return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class LinfLaw(RoundInNorm):
    """Noise that is round in the l-infinity norm."""

    kind: ClassVar[str] = "linf"
    measured_in: ClassVar[Norm] = "linf"

    @property
    def coordinate_square(self) -> float:
        return (self.d + 2) / (3 * self.d)

    def directions(self, count: int, generator: np.random.Generator) -> Floats:
        cube = generator.uniform(-1.0, 1.0, (count, self.d))
        return np.asarray(cube / np.abs(cube).max(axis=1, keepdims=True))

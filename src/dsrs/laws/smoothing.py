"""The smoothing law P: Gaussian, generalized Gaussian and exponential-family noise.

Symbols (docs/math.md 1): dimension d, exponents k (0 <= k < d/2) and eta. The density
at x is proportional to |x|^(-2k) exp(-t) with t = (|x| / s)^eta, so the direction is uniform and
t follows Gamma(m, 1) with shape m = (d - 2k) / eta. The unit of length s is fixed by
E |x|^2 = sigma^2 d for every k and eta. eta = 2 is the generalized Gaussian, and k = 0 with it the
Gaussian.

Noise, kernels and landscape know P by its d, sigma, k and eta alone. A new kind of P is a subclass
of `GeneralizedGaussian` which has a `kind`, parameters of its own for such a law, `to_dict` and
`from_dict`; and an entry of SMOOTHING_KINDS. The JSON of a plain `GeneralizedGaussian` names no
kind.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.errors import InvalidInput, UnknownLaw

# ---- Parameters: numbers and norms


def real_number(name: str, value: object) -> float:
    """Return `value` as a finite float. Refuses truth values, text, NaN, infinity and huge
    integers."""
    if type(value) is float and math.isfinite(value):
        return value  # nearly always; asking for any real number takes ten times as long
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"`{name}` must be a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"`{name}` must be a finite number, got {shown(value)}")
    return number


def shown(value: object) -> str:
    """What came, short enough for a message."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[Norm, ...] = get_args(Norm)
_ORDER: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": math.inf}


def check_norm(norm: object) -> None:
    """Raise InvalidInput unless `norm` is l1, l2 or linf."""
    if norm not in NORMS:
        raise InvalidInput(f"`norm` must be one of {', '.join(NORMS)}, got {shown(norm)}")


def norm_of(vector: NDArray[Any], norm: Norm) -> float:
    """The length of a vector in this norm."""
    return float(np.linalg.norm(vector.ravel(), _ORDER[norm]))


HISTOGRAM_BINS = 64  # of noise norm, in which votes are counted: of equal mass under P

# ---- Terms of radial densities
#
# What every radial law is made of: power-exponential terms on the shells of P. A shell is t ~
# Gamma(m, 1) under P; it is walked in u = ln(t / m), so that u = 0 is the peak of P. In u a term is
# exp(concave), analytic for every exponent, and free of cancellation near its anchor.

ULP = 1e-15  # relative rounding of a few operations in a row


class Component(NamedTuple):
    """One term c t^(a-1) e^(-b t) of a density of t, on start < t <= stop.

    As a density of u = ln(t / m) its logarithm is
    log_height + exponent (u - anchor) - rate m e^anchor expm1(u - anchor).
    """

    log_height: float  # at the anchor
    exponent: float  # a; any real number
    rate: float  # b >= 0
    anchor: float  # a u near which the term matters
    start: float = 0.0  # in t
    stop: float = math.inf
    doubt: float = 0.0  # relative rounding of its mass by that of the numbers it was made from

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def gamma(
        cls,
        m: float,
        shape: float,
        rate: float = 1.0,
        *,
        coefficient: float = 1.0,
        start: float = 0.0,
        stop: float = math.inf,
    ) -> Component:
        """`coefficient` times the law of t with rate t ~ Gamma(shape, 1), cut to (start, stop].

        P itself is `Component.gamma(m, m)`.
        """
        height = log_gamma_peak(shape) + math.log(coefficient)
        return cls(height, shape, rate, math.log(shape / (rate * m)), start, stop)

    @classmethod
    def tilted(
        cls, m: float, power: float, at: float, log_weight: float, start: float, stop: float
    ) -> Component:
        """P times a weight that is exp(log_weight) (t / at)^power, on (start, stop].

        It is anchored where it is largest. `doubt` adds up the roundings of its height (each in
        proportion to a summand) and of the places on the axis of u, an `ulp` of which changes the
        density by its slope and the length of the piece by 1 over it.
        """
        peak = min(max(m + power, start), stop)
        u, rise = math.log(peak / m), power * math.log(peak / at)
        fall = m * (u - math.expm1(u))
        steep = abs(power) + abs(m + power - peak) + math.sqrt(peak)
        if 0 < start < stop < math.inf:
            steep += 1 / math.log(stop / start)
        doubt = ULP * (abs(log_weight) + abs(rise) + abs(fall) + steep * (1 + abs(u)))
        height = log_gamma_peak(m) + fall + (log_weight + rise)
        return cls(height, m + power, 1.0, u, start, stop, doubt)

    def log_density(self, u: NDArray[np.float64], m: float) -> NDArray[np.float64]:
        """The logarithm above, as if the term had no start and no stop."""
        away = u - self.anchor
        pull = self.rate * m * math.exp(self.anchor)
        return self.log_height + self.exponent * away - pull * np.expm1(away)


@functools.lru_cache(maxsize=4096)
def log_gamma_peak(shape: float) -> float:
    """Return shape ln shape - shape - ln Gamma(shape), the log-density of ln(t / shape) at 0.

    Stirling's series from 50 on, where the difference of large logarithms would lose digits.
    """
    if shape < 50:
        return shape * math.log(shape) - shape - math.lgamma(shape)
    square = shape * shape
    series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / shape
    return 0.5 * math.log(shape / (2 * math.pi)) - series


def log_gamma_step(x: float, step: float) -> float:
    """Return ln Gamma(x + step) - ln Gamma(x) for x, step > 0, precise for large x too."""
    end = x + step
    smooth = x * math.log1p(step / x) + step * math.log(end) - step
    return smooth - (log_gamma_peak(end) - log_gamma_peak(x))


# ---- The law

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


# ---- Kinds of smoothing law, by their names in JSON

Kind = TypeVar("Kind", bound=type[GeneralizedGaussian])

SMOOTHING_KINDS: dict[str, type[GeneralizedGaussian]] = {
    GeneralizedGaussian.kind: GeneralizedGaussian
}


def register_smoothing(law: Kind) -> Kind:
    """Make a smoothing law of another package known to plans, runs and certificates."""
    if SMOOTHING_KINDS.get(law.kind, law) is not law:
        raise InvalidInput(f"there is a smoothing law of kind {law.kind!r} already")
    SMOOTHING_KINDS[law.kind] = law
    return law


def smoothing_law_from_dict(fields: Any) -> GeneralizedGaussian:
    """The smoothing law that `to_dict` was made from."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if kind is None:
        return GeneralizedGaussian.from_dict(fields)
    if not isinstance(kind, str) or kind not in SMOOTHING_KINDS:
        raise UnknownLaw(
            f"the `kind` of a smoothing law must be one of {', '.join(SMOOTHING_KINDS)}, got "
            f"{shown(kind)}"
        )
    return SMOOTHING_KINDS[kind].from_dict(fields)

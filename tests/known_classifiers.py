"""Classifiers whose probabilities and true radii are known without sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

from dsrs.classifiers import Classifier
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated


@dataclass(frozen=True)
class Linear(Classifier):
    """Class 1 where the first value is below `margin`, class 0 elsewhere, in d dimensions.

    Under Gaussian noise at 0: P_A = Phi(margin / sigma), and the true radius is `margin`.
    """

    d: int
    margin: float
    num_classes: int = 2
    bounds: tuple[float, float] = (0.0, 1.0)
    fingerprint: str = "linear"
    description: str = "a linear classifier"
    input_shape: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_shape", (self.d,))

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return (batch[:, 0] < self.margin).astype(np.int64)

    def probability(self, law: GeneralizedGaussian) -> float:
        return float(special.ndtr(self.margin / law.sigma))

    @lru_cache(maxsize=10_000)  # noqa: B019
    def probability_under(self, q: Rescaled | Truncated) -> float:
        if isinstance(q, Rescaled):
            return float(special.ndtr(self.margin / q.beta))
        sigma, bound = q.base.sigma, q.radius

        def slice_mass(first: float) -> float:
            rest = special.gammainc((self.d - 1) / 2, (bound**2 - first**2) / (2 * sigma**2))
            return float(stats.norm.pdf(first, scale=sigma) * rest)

        stop = min(self.margin, bound)
        mass, _ = integrate.quad(slice_mass, max(-bound, -12 * sigma), stop, epsabs=1e-11)
        return min(1.0, float(mass) / q.percentile)

    @property
    def true_radius(self) -> float:
        return self.margin


@dataclass(frozen=True)
class Ball(Classifier):
    """Class 1 within `reach` of the origin, class 0 elsewhere: P_A is the radial CDF at `reach`."""

    law: GeneralizedGaussian
    reach: float
    num_classes: int = 2
    bounds: tuple[float, float] = (0.0, 1.0)
    fingerprint: str = "ball"
    description: str = "a ball"
    input_shape: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_shape", (self.law.d,))

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.asarray(np.einsum("ij,ij->i", batch, batch) < self.reach**2, dtype=np.int64)

    def probability(self, law: GeneralizedGaussian) -> float:
        return float(law.radial_cdf(self.reach))

    def probability_under(self, q: Rescaled | Truncated) -> float:
        return float(q.radial_cdf(self.reach))

    @cached_property
    def true_radius(self) -> float:
        """The distance from the origin at which the class loses its majority."""
        half = (self.law.d - 1) / 2

        def majority(distance: float) -> float:
            def shell(norm: float) -> float:
                cosine = (self.reach**2 - norm**2 - distance**2) / (2 * norm * distance)
                inside = special.betainc(half, half, (1 + min(1.0, max(-1.0, cosine))) / 2)
                return float(self.law.radial_pdf(norm) * inside)

            far = float(self.law.radial_quantile(1 - 1e-12))
            kinks = [abs(self.reach - distance), min(far, self.reach + distance)]
            return float(integrate.quad(shell, 0, far, points=kinks, limit=400)[0])

        low, high = 1e-6, 4 * self.reach
        while high - low > 1e-7:
            middle = (low + high) / 2
            low, high = (middle, high) if majority(middle) > 0.5 else (low, middle)
        return high


def margin_of(probability: float, sigma: float) -> float:
    """The margin at which a linear classifier has this P_A."""
    return sigma * float(special.ndtri(probability))


def monte_carlo_slack(alpha: float, runs: int) -> float:
    """Three standard errors of a share that is alpha: what a correct method may exceed it by."""
    return 3 * math.sqrt(alpha * (1 - alpha) / runs)


def brightest(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Class 1 if the mean is above 0.4, for `--model known_classifiers:brightest`."""
    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.4)
    return np.stack([-score, score], axis=1)

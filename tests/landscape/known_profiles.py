"""Profiles whose truth is known in closed form, and votes drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from dsrs.landscape import Profile
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan, entry_of

Floats = NDArray[np.float64]
Accuracy = Callable[[Floats], Floats]


def half_space(d: int, distance: float) -> Accuracy:
    """Right where the coordinate along one direction is below `distance`: Pr[norm c <= distance],
    by SciPy's Beta law of (1 + c)/2 and nothing of ours."""
    law = stats.beta((d - 1) / 2, (d - 1) / 2)

    def accuracy(norm: Floats) -> Floats:
        cosine = np.clip(distance / np.maximum(norm, 1e-12), -1, 1)
        return np.asarray(law.cdf((1 + cosine) / 2))

    return accuracy


def constant(right: float) -> Accuracy:
    """Equally often right at all norms."""
    return lambda norm: np.full_like(norm, right)


def ball(radius: float) -> Accuracy:
    """Right where the noise is shorter than `radius`."""
    return lambda norm: np.where(norm < radius, 1.0, 0.0)


def rising(size: float) -> Accuracy:
    """More often right under longer noise."""
    return lambda norm: np.asarray(special.ndtr(3 * norm / size - 1.5))


def wrong_in_the_centre(size: float) -> Accuracy:
    """Never right within 0.6 of the size, mostly right beyond."""
    return lambda norm: np.where(norm > 0.6 * size, 0.97, 0.0)


def exact_profile(accuracy: Accuracy, low: float, high: float) -> Profile:
    """The profile of a known curve between two norms, without doubt."""
    points = np.linspace(np.log(low), np.log(high), 400)
    scores = np.clip(special.ndtri(accuracy(np.exp(points))), -6, 6)
    return Profile(points, scores, np.zeros((1, len(points))), np.ones(1), 10**9, 10**6)


def pilot_votes(
    accuracy: Accuracy, base: GeneralizedGaussian, n: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Hits and trials of n votes under P in 64 equal-mass bins."""
    norms = base.sample_norms(n, generator)
    right = generator.random(n) < accuracy(norms)
    place = np.minimum((64 * base.radial_cdf(norms)).astype(int), 63)
    trials = np.bincount(place, minlength=64).astype(np.float64)
    return np.bincount(place, right, 64).astype(np.float64), trials


def predicted_radii(
    profiles: Sequence[Profile], law: GeneralizedGaussian, method: str, n: int, alpha: float
) -> NDArray[np.float64]:
    """What a method forecasts for each profile."""
    plan = Plan(law, (method,), n=n, alpha=alpha)
    radii: NDArray[np.float64] | None = entry_of(method).load()(plan, method).forecast(profiles)
    assert radii is not None
    return radii

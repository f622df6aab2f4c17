"""Noise that is round in l1, l2 and l-infinity, and the claim about the worst shift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws import Rescaled, Truncated
from dsrs.other_norms import NormLaw
from dsrs.other_norms.law import Norm
from dsrs.other_norms.worst_shift import ShellSample

ORDER: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": np.inf}
NORMS = tuple(ORDER)


def worst_direction(norm: Norm, d: int) -> np.ndarray:
    return np.asarray({"l1": np.eye(d)[0], "l2": np.eye(d)[-1], "linf": np.ones(d)}[norm])


def lengths(norm: Norm, vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(vectors, ord=ORDER[norm], axis=1))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("k", "eta"), [(0.0, 2.0), (3.5, 2.0), (1.0, 1.0), (1.0, 4.0)])
def test_sigma_is_the_size_of_a_coordinate(norm: Norm, k: float, eta: float) -> None:
    law = NormLaw(norm, 9, 0.7, k, eta)
    noise = law.sample(40_000, np.random.default_rng(1))
    squares = np.square(noise).mean(axis=1)
    assert squares.mean() == pytest.approx(0.49, abs=5 * squares.std() / math.sqrt(40_000))
    # Nor is any coordinate or sign preferred.
    each = np.square(noise).mean(axis=0)
    assert np.allclose(each, 0.49, rtol=0.1)
    assert np.all(np.abs(noise.mean(axis=0)) < 5 * 0.7 / math.sqrt(40_000))


@pytest.mark.parametrize("norm", NORMS)
def test_shells_follow_the_gamma_law(norm: Norm) -> None:
    law = NormLaw(norm, 9, 0.7, 2.0)
    noise = law.sample(20_000, np.random.default_rng(2))
    t = 0.5 * np.square(lengths(norm, noise) / law.scale)
    assert stats.kstest(t, stats.gamma(law.radial.m).cdf).pvalue > 1e-3


def test_l1_noise_of_eta_1_has_laplace_coordinates() -> None:
    law = NormLaw("l1", 6, 0.7, eta=1.0)
    noise = law.sample(20_000, np.random.default_rng(2))
    assert stats.kstest(noise[:, 2], stats.laplace(scale=0.7 / math.sqrt(2)).cdf).pvalue > 1e-3


@pytest.mark.parametrize("norm", NORMS)
def test_noise_has_the_stated_density(norm: Norm) -> None:
    """Within a shell the density is flat, so a small ball there holds its share of the volume."""
    law = NormLaw(norm, 2, 1.0)
    noise = law.sample(400_000, np.random.default_rng(3))
    typical = law.scale * math.sqrt(2 * law.radial.m)

    def near(point: np.ndarray) -> float:
        inside = np.abs(noise - point).max(axis=1) < 0.06 * typical
        # Undo the radial part: weight by the inverse density at the true distance.
        t = 0.5 * np.square(lengths(norm, noise[inside]) / law.scale)
        return float(np.exp(t).sum())

    points = [np.array([1.0, 0.0]), np.array([-1.0, 0.5]), np.array([0.6, -0.6])]
    masses = [near(typical * p / lengths(norm, p[None])[0]) for p in points]
    # Over a thousand draws fall in each ball: 3% each, and four times that between two.
    assert max(masses) / min(masses) < 1.17


@pytest.mark.parametrize("norm", NORMS)
def test_additional_laws_sample_their_shells(norm: Norm) -> None:
    law = NormLaw(norm, 9, 0.7, 2.0)
    generator = np.random.default_rng(4)
    cut = Truncated(law.radial, 0.6)
    noise = law.sample(20_000, generator, cut)
    t = 0.5 * np.square(lengths(norm, noise) / law.scale)
    assert t.max() <= cut.tau * (1 + 1e-12)
    wide = Rescaled(law.radial, 1.4)
    assert np.square(law.sample(20_000, generator, wide)).mean() == pytest.approx(1.96, rel=0.05)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("size", "eta"), [(0.2, 2.0), (1.5, 2.0), (1.5, 1.0), (0.5, 4.0)])
def test_overlaps_stand_for_whole_vectors(norm: Norm, size: float, eta: float) -> None:
    law = NormLaw(norm, 7, 0.7, 1.0, eta)
    generator = np.random.default_rng(5)
    noise = law.sample(30_000, generator)
    radius = size * law.scale
    moved = noise + radius * worst_direction(norm, 7)
    sample = ShellSample.draw(law, 30_000, generator)
    shells, log_ratio = sample.shifted(radius)
    before, after = lengths(norm, noise), lengths(norm, moved)
    # Rounded, because for l1 and l-infinity a share of the vectors moves by exactly r.
    gained = np.round((after - before) / law.scale, 9)
    expected = np.round((law.norms(shells) - law.norms(sample.t)) / law.scale, 9)
    assert stats.ks_2samp(gained, expected).pvalue > 1e-3
    unit = law.scale * math.sqrt(2)
    log_density = [-2 * law.k * np.log(n) - (n / unit) ** eta for n in (before, after)]
    direct = np.round(log_density[1] - log_density[0], 9)
    assert stats.ks_2samp(direct, np.round(log_ratio, 9)).pvalue > 1e-3


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [0.0, 2.0])
def test_no_shift_of_the_ball_is_worse(norm: Norm, k: float) -> None:
    """V(delta), estimated from vectors, at 12 shifts of the ball and at the proved worst one."""
    d, draws = 5, 60_000
    law = NormLaw(norm, d, 1.0, k)
    generator = np.random.default_rng(6)
    noise = law.sample(draws, generator)
    radius = 0.8 * law.scale
    cut = Truncated(law.radial, 0.5)

    def estimate(delta: np.ndarray, multipliers: tuple[float, float]) -> tuple[float, float]:
        n, s = (lengths(norm, x) / law.scale for x in (noise, noise + delta))
        weight = np.where(0.5 * s * s <= cut.tau, 1 / 0.5, 0.0)
        ratio = np.exp(2 * k * np.log(n / s) + 0.5 * (n * n - s * s))
        above = np.maximum(1 - (multipliers[0] + multipliers[1] * weight) * ratio, 0.0)
        return float(above.mean()), float(above.std() / math.sqrt(draws))

    shifts = generator.standard_normal((12, d)) * (generator.random((12, d)) < 0.6)
    shifts[:, 0] += 1e-3
    shifts *= (radius * generator.uniform(0.5, 1, 12) / lengths(norm, shifts))[:, None]
    for multipliers in ((0.5, 0.0), (1.0, 0.0), (4.0, 0.0), (0.0, 2.0), (0.5, 0.8), (0.2, 20.0)):
        worst, noise_of_worst = estimate(radius * worst_direction(norm, d), multipliers)
        for delta in shifts:
            value, error = estimate(delta, multipliers)
            assert value <= worst + 4 * math.hypot(error, noise_of_worst)


def test_bad_laws_are_refused() -> None:
    with pytest.raises(UnknownLaw, match="one of l1, l2, linf, got 'l3'"):
        NormLaw("l3", 5, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`sigma`"):
        NormLaw("l1", 5, -1.0)

"""Noise in torch follows the law: norms by their quantiles, directions without preference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("torch")

import torch

from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.training import NoiseLaw, sample_noise, seed_epoch

COUNT = 20_000
P = GeneralizedGaussian(d=48, sigma=0.5, k=12)
LAWS = [
    GeneralizedGaussian(d=48, sigma=0.5),
    GeneralizedGaussian(d=48, sigma=0.5, eta=1),
    P,
    Truncated(P, 0.6),
    Rescaled(P, 0.4),
    Weighted(P, (6.0, 15.0), (0.0, -2.0)),
]


@pytest.fixture(params=LAWS, ids=lambda law: law.describe())
def law(request: pytest.FixtureRequest) -> NoiseLaw:
    chosen: NoiseLaw = request.param
    return chosen


@pytest.fixture
def noise(law: NoiseLaw) -> np.ndarray:
    torch.manual_seed(7)
    images = torch.zeros(COUNT, 3, 4, 4)
    return sample_noise(law, images, np.random.default_rng(7)).flatten(1).double().numpy()


def test_norms_follow_the_radial_law(law: NoiseLaw, noise: np.ndarray) -> None:
    norms = np.linalg.norm(noise, axis=1)
    # A wrong shape or scale by 2 % gives p-values below 1e-6 at this count.
    assert stats.kstest(norms, law.radial_cdf).pvalue > 1e-3
    probabilities = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(
        np.quantile(norms, probabilities), law.radial_quantile(probabilities), rtol=0.01
    )


def test_directions_are_uniform_and_free_of_the_norm(noise: np.ndarray) -> None:
    norms = np.linalg.norm(noise, axis=1)
    directions = noise / norms[:, None]
    # Each coordinate of a direction has mean 0 and variance 1/d; 5 standard errors of 48 means.
    assert np.abs(directions.mean(axis=0)).max() < 5 / np.sqrt(48 * COUNT)
    # (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2) for a fixed direction (docs/math.md 3).
    assert stats.kstest((1 + directions[:, 5]) / 2, stats.beta(23.5, 23.5).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(norms, directions[:, 5])[0, 1]) < 5 / np.sqrt(COUNT)


def test_noise_repeats_with_its_seeds() -> None:
    images = torch.zeros(5, 48)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(sample_noise(P, images, np.random.default_rng(seed)))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_law_of_another_dimension_is_refused() -> None:
    with pytest.raises(InvalidInput, match="d = 48"):
        sample_noise(P, torch.zeros(2, 1, 28, 28), np.random.default_rng(0))


def test_every_epoch_and_seed_has_its_own_randomness() -> None:
    def draws(seed: int, epoch: int) -> tuple[float, float]:
        generator = seed_epoch(seed, epoch)
        return float(generator.random()), float(torch.rand(()))

    seen = [draws(seed, epoch) for seed in (0, 1) for epoch in (0, 1, 2)]
    assert len({draw for pair in seen for draw in pair}) == 12
    assert draws(1, 1) == seen[4]

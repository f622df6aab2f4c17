"""Opt on small torch models whose loss has a known slope in the noise norm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Truncated, heuristic_percentile
from reproduction.opt import (
    OptSettings,
    Votes,
    compare_truncations,
    load_trained_module,
    loss_slope,
    optimise_percentile,
    truncation_at,
)

pytest.importorskip("torch")

import torch

LAW = GeneralizedGaussian(12, 0.5, 3)
X = np.zeros((3, 4), dtype=np.float32)


class Ball(torch.nn.Module):
    """Logits (0, steepness (|x| - edge)): class 0 inside the ball."""

    def __init__(self, edge: float, steepness: float) -> None:
        super().__init__()
        self.edge, self.steepness = edge, steepness

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        norm = inputs.flatten(1).norm(dim=1)
        return torch.stack([torch.zeros_like(norm), self.steepness * (norm - self.edge)], dim=1)


def test_the_slope_is_that_of_the_loss_along_the_norm() -> None:
    settings = OptSettings(samples=600, batch=250)
    q = Truncated(LAW, 0.7)
    slope = loss_slope(Ball(1.5, 2.0), X, 0, q, np.random.default_rng(1), settings)
    # Loss = softplus(2 (norm - 1.5)), so its slope is 2 sigmoid(2 (norm - 1.5)).
    norms = q.sample_norms(200_000, np.random.default_rng(2))
    exact = float(np.mean(2 / (1 + np.exp(-2 * (norms - 1.5)))))
    # 600 samples of a quantity with standard deviation about 0.25: four standard errors.
    assert slope == pytest.approx(exact, abs=0.04)


def test_a_flat_loss_leaves_the_pull_towards_p_lower() -> None:
    settings = OptSettings(weight=1e-4, steps=40, samples=2)
    settings = replace(settings, learning_rate=1000.0)
    found = optimise_percentile(Ball(1.0, 0.0), X, 0, LAW, 0.8, np.random.default_rng(0), settings)
    # p - P- shrinks by 1 - 1000 * 1e-4 a step.
    assert found.path[1] - 0.8 == pytest.approx(-0.1 * 0.9, rel=1e-9)
    assert found.path[-1] == pytest.approx(0.8 - 0.1 * 0.9**40, rel=1e-9)
    assert found.law == truncation_at(LAW, found.path[-1])
    assert len(found.path) == 41


def test_a_loss_that_grows_with_the_norm_shrinks_the_ball_to_the_clip() -> None:
    settings = OptSettings(samples=50, steps=3)
    found = optimise_percentile(Ball(1.0, 5.0), X, 0, LAW, 0.9, np.random.default_rng(0), settings)
    # 5 a sample times 2000 / 50 is far more than the whole range.
    assert found.path[-1] == 0.1
    # T is the 0.1-quantile of the *Gaussian* norm: (T / sigma)^2 is chi-square.
    assert (found.law.radius / LAW.sigma) ** 2 == pytest.approx(stats.chi2.ppf(0.1, LAW.d))


@pytest.mark.parametrize(
    ("d", "k", "shares"),
    [
        (784, 380, (0.448, 0.624)),
        (3072, 1530, (0.522, 0.585)),
        (150_528, 75_260, (0.563, 0.570)),
    ],
)
def test_the_shares_of_p_that_the_papers_clip_allows(
    d: int, k: int, shares: tuple[float, float]
) -> None:
    settings = OptSettings()
    law = GeneralizedGaussian(d, 0.5, k)
    ends = (truncation_at(law, p).percentile for p in (settings.lowest, settings.highest))
    assert tuple(round(end, 3) for end in ends) == shares
    # The same from the two incomplete Gamma functions of the paper's formula for T.
    t = special.gammaincinv(d / 2, 0.9) * (d - 2 * k) / d
    assert truncation_at(law, 0.9).percentile == pytest.approx(special.gammainc(law.m, t))


def test_the_same_seed_gives_the_same_path() -> None:
    settings = OptSettings(samples=64, steps=2, learning_rate=0.1)
    paths = {
        optimise_percentile(Ball(1.5, 1.0), X, 0, LAW, 0.8, np.random.default_rng(4), settings).path
        for _ in range(2)
    }
    assert len(paths) == 1


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidInput, match="lowest <= start <= highest"):
        OptSettings(start=0.95)
    with pytest.raises(InvalidInput, match="steps"):
        OptSettings(steps=0)


@pytest.mark.parametrize(("votes", "alpha", "name"), [(0, 0.001, "votes"), (10, 2.0, "alpha")])
def test_votes_and_alpha_are_checked(votes: int, alpha: float, name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Votes(votes, alpha, 0)


def test_both_truncations_are_certified_from_their_own_votes() -> None:
    settings = OptSettings(samples=40, steps=2, weight=1e-4)
    inputs = [(3, X, 0), (4, X, 1)]
    votes = Votes(2000, 0.001, 0)
    rows = list(compare_truncations(Ball(2.3, 4.0), inputs, LAW, votes, settings))
    right, wrong = rows
    # Class 0 inside a ball that holds most of the noise; the other class abstains.
    inside = float(LAW.radial_cdf(2.3))
    assert right.p_lower < inside < right.p_lower + 0.1
    assert right.heuristic_percentile == heuristic_percentile(right.p_lower)
    assert right.heuristic_radius > right.np_radius > 0
    assert 0.1 <= right.opt_percentile <= 0.9
    assert (wrong.np_radius, wrong.heuristic_radius, wrong.opt_radius) == (0, 0, 0)
    again = list(compare_truncations(Ball(2.3, 4.0), inputs[:1], LAW, votes, settings))
    assert again == [right]


def test_a_folder_that_is_not_a_trained_model_says_so(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(DataError, match=r"card\.json and model\.safetensors"):
        load_trained_module(tmp_path)

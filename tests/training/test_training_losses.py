"""The losses against values worked out by hand, and against textbook loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from dsrs.training import (
    RECIPES,
    Batch,
    disagreement,
    mixed_loss,
    mixed_targets,
    noisy_cross_entropy,
    noisy_logits,
    smoothed_cross_entropy,
)
from dsrs.training.batches import ascended, within

LN3 = math.log(3)


def logits_of(probabilities: list[list[list[float]]]) -> torch.Tensor:
    """Logits (m, n, classes) whose softmax is `probabilities`; the shift must not matter."""
    return torch.tensor(probabilities, dtype=torch.float64).log() + 3.7


def test_cross_entropy_is_the_mean_over_noise_and_images() -> None:
    logits = logits_of([[[0.5, 0.5], [0.25, 0.75]], [[0.25, 0.75], [0.75, 0.25]]])
    labels = torch.tensor([0, 1])
    # -ln of 1/2, 3/4, 1/4, 1/4
    expected = (math.log(2) + math.log(4 / 3) + math.log(4) + math.log(4)) / 4
    assert float(noisy_cross_entropy(logits, labels)) == pytest.approx(expected, abs=1e-12)


def test_consistency_by_hand() -> None:
    logits = logits_of([[[0.75, 0.25]], [[0.25, 0.75]]])
    # Mean (1/2, 1/2). KL(mean || each) = (ln(2/3) + ln 2) / 2 = ln(4/3) / 2 for both; H = ln 2.
    divergence, entropy = math.log(4 / 3) / 2, math.log(2)
    assert float(disagreement(logits, 5.0, 0.5)) == pytest.approx(
        5 * divergence + 0.5 * entropy, abs=1e-12
    )
    assert float(disagreement(logits, 1.0, 0.0)) == pytest.approx(divergence, abs=1e-12)


def test_agreeing_answers_cost_only_their_entropy() -> None:
    logits = logits_of([[[0.75, 0.25]], [[0.75, 0.25]]])
    entropy = math.log(4) - 0.75 * LN3
    assert float(disagreement(logits, 5.0, 0.5)) == pytest.approx(0.5 * entropy, abs=1e-12)


def test_consistency_stays_finite_where_a_probability_underflows() -> None:
    logits = torch.tensor([[[0.0, 2000.0]], [[0.0, 1990.0]]], requires_grad=True)
    loss = disagreement(logits, 5.0, 0.5)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.isfinite(loss)
    assert torch.isfinite(gradient).all()


def test_mixed_targets_by_hand() -> None:
    smoothed = torch.tensor([[0.8, 0.2], [0.3, 0.7]], dtype=torch.float64)
    targets = mixed_targets(smoothed, torch.tensor([0.0, 0.5], dtype=torch.float64))
    np.testing.assert_allclose(targets, [[0.8, 0.2], [0.4, 0.6]], atol=1e-15)


def test_smoothmix_by_hand() -> None:
    clean = logits_of([[[0.75, 0.25], [0.5, 0.5]], [[0.75, 0.25], [0.25, 0.75]]])
    mixed = logits_of([[[0.5, 0.5], [0.9, 0.1]], [[0.625, 0.375], [0.9, 0.1]]])
    labels, share = torch.tensor([0, 0]), torch.tensor([0.5, 0.25], dtype=torch.float64)
    # Image 0 is right: target (1/2)(3/4, 1/4) + (1/2)(1/2, 1/2) = (5/8, 3/8). Under the second
    # noise the answer is the target. Image 1 is smoothed to (3/8, 5/8): wrong, so it adds nothing.
    divergence = 0.625 * math.log(0.625 / 0.5) + 0.375 * math.log(0.375 / 0.5)
    cross_entropy = (2 * math.log(4 / 3) + math.log(2) + math.log(4)) / 4
    loss = mixed_loss(clean, mixed, labels, share, mix_weight=2.0)
    assert float(loss) == pytest.approx(cross_entropy + 2 * divergence / 4, abs=1e-12)


def test_smoothed_cross_entropy_by_hand() -> None:
    logits = logits_of([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.25, 0.75]]])
    # Smoothed probabilities of the labels: 1/2 and 5/8; a sum, not a mean.
    value = smoothed_cross_entropy(logits, torch.tensor([0, 1]))
    assert float(value) == pytest.approx(math.log(2) + math.log(8 / 5), abs=1e-12)


class Halves(torch.nn.Module):
    """Two classes by the sum of the left half of a 1x1x4 image against the right half."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        flat = images.flatten(1)
        return torch.stack([flat[:, :2].sum(dim=1), flat[:, 2:].sum(dim=1)], dim=1)


def test_a_step_goes_its_length_along_the_gradient() -> None:
    images = torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])
    scores = torch.tensor([[3.0, 0.0, -4.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    moved = ascended(lambda rows: (rows * scores).sum(), images, 0.5)
    # Along (3, 0, -4, 0) / 5; a row without a gradient stays.
    np.testing.assert_allclose(moved, [[0.8, 0.5, 0.1, 0.5], [0.0, 0.0, 0.0, 0.0]], atol=1e-6)


def test_points_are_brought_to_the_ball_and_not_further() -> None:
    centers = torch.zeros(2, 2)
    moved = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(within(moved, centers, 2.5), [[1.5, 2.0], [0.3, 0.4]], atol=1e-6)
    assert within(moved, centers, None) is moved


def test_noisy_logits_keep_noise_and_images_apart() -> None:
    images = torch.arange(12.0).view(3, 1, 1, 4)
    offsets = torch.stack([torch.full((1, 1, 4), float(row)) for row in range(6)])
    logits = noisy_logits(Halves(), images, offsets)
    assert logits.shape == (2, 3, 2)
    for noise in range(2):
        expected = Halves()(images + offsets[3 * noise : 3 * noise + 3])
        assert torch.equal(logits[noise], expected)


@pytest.mark.parametrize(
    ("name", "passes"),
    # Passes that train: none on the way to an adversarial image.
    [("gaussian", 1), ("consistency", 1), ("smoothmix", 2)],
)
def test_attacks_leave_no_trace_in_batch_statistics(name: str, passes: int) -> None:
    norm = torch.nn.BatchNorm2d(1)
    model = torch.nn.Sequential(norm, Halves())
    torch.manual_seed(0)
    batch = Batch(torch.rand(4, 1, 1, 4), torch.tensor([0, 1, 0, 1]), torch.zeros_like)
    RECIPES[name](noises=2).objective(model, batch)
    assert norm.num_batches_tracked == passes
    assert model.training


def test_every_recipe_is_in_the_list_above() -> None:
    names = ["gaussian", "consistency", "smoothmix"]
    assert list(RECIPES) == names

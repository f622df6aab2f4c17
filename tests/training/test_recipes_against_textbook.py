"""The recipes on a small network against slow versions without PyTorch (oracle/recipes.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oracle import recipes as textbook

pytest.importorskip("torch")

import torch

from dsrs.training import Batch, Consistency, GaussianAugmentation, Recipe, SmoothMix

M, N, D, CLASSES = 3, 5, 9, 4
# Both sides compute in double precision; gradients by differences are good to about 1e-9, and the
# recipes divide by a length that is larger by 1e-8.
TOLERANCE = 1e-5


class Small(torch.nn.Module):
    """A smooth network of nine pixels, with its own textbook form."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = np.random.default_rng(seed)
        self.first = generator.normal(size=(D, 6))
        self.second = generator.normal(size=(6, CLASSES))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(images.flatten(1) @ torch.from_numpy(self.first))
        return hidden @ torch.from_numpy(self.second)

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        scores = np.exp(np.tanh(x @ self.first) @ self.second)
        return np.asarray(scores / scores.sum())


@pytest.fixture
def model() -> Small:
    return Small(seed=1)


@pytest.fixture
def images() -> torch.Tensor:
    # Some pixels lie at the edge of [0, 1], where attacks are cut off.
    values = np.random.default_rng(2).uniform(-0.3, 1.3, (N, 1, 3, 3)).clip(0, 1)
    return torch.from_numpy(values)


@pytest.fixture
def noise() -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.2, (M, N, D))


LABELS = [0, 0, 1, 0, 1]


def batch_of(images: torch.Tensor, noise: np.ndarray, **options: object) -> Batch:
    offsets = torch.from_numpy(noise.reshape(M * N, 1, 3, 3))
    return Batch(images, torch.tensor(LABELS), lambda rows: offsets, **options)  # type: ignore[arg-type]


def mean_over_images(images: torch.Tensor, noise: np.ndarray, loss: Callable[..., float]) -> float:
    """The mean of loss(index, x, y, noise) over the images."""
    flat = images.flatten(1).numpy()
    return float(np.mean([loss(i, flat[i], LABELS[i], list(noise[:, i])) for i in range(N)]))


def settings_of(recipe: Recipe) -> dict[str, float]:
    return {name: value for name, value in recipe.to_dict().items() if name != "name"}


def test_gaussian_augmentation(model: Small, images: torch.Tensor, noise: np.ndarray) -> None:
    loss, logits = GaussianAugmentation(noises=M).objective(model, batch_of(images, noise))
    expected = mean_over_images(
        images, noise, lambda i, x, y, e: textbook.gaussian_loss(model.probabilities, x, y, e)
    )
    assert float(loss) == pytest.approx(expected, abs=1e-12)
    assert logits.shape == (M, N, CLASSES)


def test_consistency(model: Small, images: torch.Tensor, noise: np.ndarray) -> None:
    def expected(i: int, x: np.ndarray, y: int, e: list[np.ndarray]) -> float:
        mean = textbook.smoothed(model.probabilities, x, e)
        strays = [textbook.divergence(mean, model.probabilities(x + each)) for each in e]
        entropy = -float(mean @ np.log(mean))
        fitted = textbook.gaussian_loss(model.probabilities, x, y, e)
        return fitted + 7 * float(np.mean(strays)) + 0.25 * entropy

    recipe = Consistency(noises=M, agreement_weight=7, entropy_weight=0.25)
    loss, _ = recipe.objective(model, batch_of(images, noise))
    assert float(loss) == pytest.approx(mean_over_images(images, noise, expected), abs=1e-12)


@pytest.mark.parametrize(
    ("mix_step", "max_norm", "ramp"), [(0, 9.0, 1.0), (1, 9.0, 0.3), (2, 0.8, 1)]
)
def test_smoothmix(
    model: Small,
    images: torch.Tensor,
    noise: np.ndarray,
    mix_step: int,
    max_norm: float,
    ramp: float,
) -> None:
    recipe = SmoothMix(
        noises=M, mix_weight=3, steps=3, step_size=0.5, mix_step=mix_step, max_norm=max_norm
    )
    torch.manual_seed(0)
    shares = torch.rand(N) / 2
    torch.manual_seed(0)
    loss, _ = recipe.objective(model, batch_of(images, noise, ramp=ramp))
    expected = mean_over_images(
        images,
        noise,
        lambda i, x, y, e: textbook.smoothmix_loss(
            model.probabilities, x, y, e, float(shares[i]), settings_of(recipe), ramp
        ),
    )
    assert float(loss) == pytest.approx(expected, abs=TOLERANCE)

"""The recipes on a small network against slow versions without PyTorch (oracle/recipes.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oracle import recipes as textbook

pytest.importorskip("torch")

import torch

from dsrs.training.recipes import Batch, Recipe
from dsrs.training.recipes.cat_rs import CatRs
from dsrs.training.recipes.consistency import Consistency
from dsrs.training.recipes.gaussian import GaussianAugmentation
from dsrs.training.recipes.smoothadv import SmoothAdv
from dsrs.training.recipes.smoothmix import SmoothMix

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


@pytest.mark.parametrize(("radius", "steps", "ramp"), [(1.0, 4, 1.0), (0.3, 1, 1.0), (2.0, 3, 0.5)])
def test_smoothadv(
    model: Small, images: torch.Tensor, noise: np.ndarray, radius: float, steps: int, ramp: float
) -> None:
    recipe = SmoothAdv(noises=M, steps=steps, attack_radius=radius)
    loss, _ = recipe.objective(model, batch_of(images, noise, ramp=ramp))
    expected = mean_over_images(
        images,
        noise,
        lambda i, x, y, e: textbook.smoothadv_loss(
            model.probabilities, x, y, e, ramp * radius, steps
        ),
    )
    assert float(loss) == pytest.approx(expected, abs=TOLERANCE)


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


@pytest.mark.parametrize("with_teacher", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cat_rs(
    model: Small, images: torch.Tensor, noise: np.ndarray, with_teacher: bool, seed: int
) -> None:
    teacher = Small(seed=9) if with_teacher else None
    recipe = CatRs(noises=M, steps=3, attack_radius=0.7, worst_weight=2.0)
    torch.manual_seed(seed)
    draws = torch.rand(M, N).numpy()
    torch.manual_seed(seed)
    loss, _ = recipe.objective(model, batch_of(images, noise, teacher=teacher))
    all_kept: list[int] = []

    def expected(i: int, x: np.ndarray, y: int, e: list[np.ndarray]) -> float:
        target = textbook.smoothed((teacher or model).probabilities, x, e)
        right = np.mean([np.argmax(model.probabilities(x + each)) == y for each in e])
        all_kept.append(max(1, int((draws[:, i] < right).sum())))
        return textbook.cat_rs_loss(
            model.probabilities, x, y, e, target, all_kept[-1], settings_of(recipe)
        )

    assert float(loss) == pytest.approx(mean_over_images(images, noise, expected), abs=TOLERANCE)
    # Both terms are there to be compared: some images are sure, some are not.
    assert 0 < all_kept.count(M) < N


def test_the_worst_noise_is_as_long_as_the_noise_it_comes_from(
    model: Small, images: torch.Tensor, noise: np.ndarray
) -> None:
    offsets = torch.from_numpy(noise.reshape(M * N, 1, 3, 3))
    targets = torch.full((N, CLASSES), 1 / CLASSES, dtype=torch.float64)
    worst = CatRs(noises=M, steps=4).worst_noise(model, images, targets, offsets)
    assert not torch.allclose(worst, offsets, atol=0.1)
    norms = worst.flatten(1).norm(dim=1)
    np.testing.assert_allclose(norms, offsets.flatten(1).norm(dim=1), rtol=1e-12)

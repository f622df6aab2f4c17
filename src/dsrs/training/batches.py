"""Batches of images, the noise on them, and what losses and attacks read off a model's answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian

STATISTICS_IMAGES = 10_000
IMAGES_PER_BLOCK = 500
CROP_MARGIN = 4


def tensors(dataset: Dataset, indices: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """The images at `indices` as float32 in [0, 1], and their labels."""
    if dataset.labels is None:
        raise InvalidInput(f"{dataset.name} has no labels; training needs them")
    return images_of(dataset, indices), torch.from_numpy(dataset.labels[indices])


def images_of(dataset: Dataset, indices: NDArray[np.int64]) -> Tensor:
    """The images at `indices` as float32, in the bounds of the data."""
    if isinstance(dataset.images, np.ndarray):
        rows = dataset.images[indices]
        unit = np.float32(255) if rows.dtype == np.uint8 else np.float32(1)
        return torch.from_numpy(rows.astype(np.float32) / unit)
    return torch.from_numpy(np.stack([dataset.input(int(index)) for index in indices]))


def class_count(dataset: Dataset) -> int:
    """Classes of a labelled dataset: as many as are named, or as the labels show."""
    if dataset.labels is None:
        raise InvalidInput(f"{dataset.name} has no labels; training needs them")
    return max(len(dataset.class_names), int(dataset.labels.max()) + 1)


def check_unit_bounds(dataset: Dataset) -> None:
    """Raise InvalidInput unless the data is in [0, 1]."""
    if dataset.bounds != (0.0, 1.0):
        raise InvalidInput(
            f"training takes images in [0, 1], {dataset.name} has bounds {dataset.bounds}"
        )


def check_labelled_images(dataset: Dataset, num_classes: int) -> None:
    """Raise InvalidInput unless a model of so many classes can be trained on this data."""
    check_unit_bounds(dataset)
    if class_count(dataset) != num_classes:
        raise InvalidInput(
            f"the model has {num_classes} classes, the labels of {dataset.name} have "
            f"{class_count(dataset)}; training needs labels of the same classes"
        )


def channel_statistics(
    dataset: Dataset, rows: NDArray[np.int64]
) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel over the first of `rows`, for normalisation."""
    rows = rows[:STATISTICS_IMAGES]
    sums = torch.zeros(2, dataset.input_shape[0], dtype=torch.float64)
    for start in range(0, len(rows), IMAGES_PER_BLOCK):
        images, _ = tensors(dataset, rows[start : start + IMAGES_PER_BLOCK])
        values = images.double().flatten(2) if images.dim() > 2 else images.double()[..., None]
        sums += torch.stack([values.sum(dim=(0, 2)), values.square().sum(dim=(0, 2))])
    size = len(rows) * math.prod(dataset.input_shape[1:])
    mean, square = sums / size
    # A constant channel would be divided by zero; it carries nothing, so any scale serves.
    deviation = (square - mean.square()).clamp(min=1e-6).sqrt()
    return mean.tolist(), deviation.tolist()


def crop_and_flip(images: Tensor, generator: np.random.Generator) -> Tensor:
    """Random crops after padding by 4, and random left-right flips, one choice an image."""
    count, _, height, width = images.shape
    padded = torch.nn.functional.pad(images, [CROP_MARGIN] * 4)
    tops, lefts = generator.integers(0, 2 * CROP_MARGIN + 1, (2, count))
    rows = torch.from_numpy(tops[:, None] + np.arange(height))
    columns = torch.from_numpy(lefts[:, None] + np.arange(width))
    flipped = torch.from_numpy(generator.random(count) < 0.5)
    columns = torch.where(flipped[:, None], columns.flip(1), columns)
    batch = torch.arange(count)[:, None, None]
    cropped = padded.permute(0, 2, 3, 1)[batch, rows[:, :, None], columns[:, None, :]]
    return cropped.permute(0, 3, 1, 2)


# ---- Noise of any law of the package

NoiseLaw = GeneralizedGaussian | AdditionalLaw


def sample_noise(
    law: NoiseLaw, images: torch.Tensor, generator: np.random.Generator
) -> torch.Tensor:
    """Independent noise for each image of a batch, of its shape and on its device.

    Noise is direction x norm (docs/math.md 1). The norms, one number an image, come from the law
    itself; the directions are normal vectors drawn on the device from torch's generator there.
    """
    base = law if isinstance(law, GeneralizedGaussian) else law.base
    if math.prod(images.shape[1:]) != base.d:
        raise InvalidInput(
            f"the noise law has d = {base.d}, but an image of shape {tuple(images.shape[1:])} "
            f"has {math.prod(images.shape[1:])} values"
        )
    directions = torch.randn(images.shape, device=images.device, dtype=torch.float32)
    if isinstance(law, GeneralizedGaussian) and law.is_gaussian:
        return directions.mul_(law.sigma)
    norms = law.sample_norms(len(images), generator).astype(np.float32)
    lengths = directions.flatten(1).norm(p=2.0, dim=1)
    factors = torch.from_numpy(norms).to(images.device) / lengths
    return directions.mul_(by_image(factors, images))


# ---- Answers of a model to noisy images
# Logits of m noise vectors for each of n images have the shape (m, n, classes).


def repeated(images: Tensor, count: int) -> Tensor:
    """`count` copies of the batch, one after another, along the batch axis."""
    return images.repeat(count, *[1] * (images.dim() - 1))


def by_image(values: Tensor, images: Tensor) -> Tensor:
    """One value for each image, in a shape that multiplies a batch of images."""
    return values.view(-1, *[1] * (images.dim() - 1))


def noisy_logits(model: nn.Module, images: Tensor, offsets: Tensor) -> Tensor:
    """Logits (m, n, classes) at n images under `offsets`, m noise vectors for each, (m n, ...)."""
    count = len(offsets) // len(images)
    logits: Tensor = model(repeated(images, count) + offsets)
    full = torch.promote_types(logits.dtype, torch.float32)
    return logits.to(full).reshape(count, len(images), -1)


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Evaluation mode: what an attack asks leaves no trace in batch statistics."""
    model.eval()
    try:
        yield
    finally:
        model.train()


def noisy_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy over noise vectors and images."""
    m, n, classes = logits.shape
    return functional.cross_entropy(logits.reshape(m * n, classes), labels.repeat(m))


def log_smoothed(logits: Tensor) -> Tensor:
    """Logarithm of the mean probability over the noise vectors, of shape (n, classes)."""
    return torch.logsumexp(functional.log_softmax(logits, dim=-1), dim=0) - math.log(len(logits))


def divergences(targets: Tensor, logits: Tensor) -> Tensor:
    """KL(targets || answer) for noise vectors and images (m, n).

    Args:
        targets: Probabilities, of shape (n, classes).
        logits: Of shape (m, n, classes).
    """
    answers = functional.log_softmax(logits, dim=-1)
    return (torch.xlogy(targets, targets) - targets * answers).sum(dim=-1)


def smoothed_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum over images of -ln of the smoothed probability of the label.

    Its gradient by the images is the direction that fools the smoothed soft classifier fastest
    (Salman et al. 2019); a sum, so that the gradient of an image does not depend on its batch.
    """
    return functional.nll_loss(log_smoothed(logits), labels, reduction="sum")


# ---- Steps of the attacks that recipes train against: every row of a batch moves by itself

SMALLEST_GRADIENT = 1e-8  # below any gradient that says something: a flat place is not left


def ascended(score: Callable[[Tensor], Tensor], start: Tensor, length: float) -> Tensor:
    """`start` moved by `length` along the gradient of `score`, which must be a sum over rows."""
    start = start.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(score(start), start)
    norms = gradient.flatten(1).norm(dim=1)
    return (start + length * gradient / by_image(norms + SMALLEST_GRADIENT, gradient)).detach()


def within(moved: Tensor, centers: Tensor, radius: float | None) -> Tensor:
    """The points of `moved`, brought within `radius` of `centers` on a straight line."""
    if radius is None:
        return moved
    steps = moved - centers
    norms = steps.flatten(1).norm(dim=1)
    shares = (radius / norms.clamp(min=SMALLEST_GRADIENT)).clamp(max=1)
    return centers + by_image(shares, steps) * steps

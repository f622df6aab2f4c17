"""A dataset as batches of torch tensors."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput

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

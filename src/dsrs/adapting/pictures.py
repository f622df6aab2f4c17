"""Pictures of what noise and denoiser do: the image, its noisy copy, and what the model sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import Candidate
from dsrs.classifiers import denoiser_from
from dsrs.datasets import Dataset
from dsrs.files import write_whole
from dsrs.store import png

MOST_PICTURES = 4
LEAST_PICTURE_HEIGHT = 96  # pixels; smaller images are enlarged
PICTURE_GAP = 4  # white pixels between two


def write_pictures(
    folder: Path, best: Candidate, dataset: Dataset, indices: tuple[int, ...], seed: int
) -> list[str]:
    """Write a strip for each of the first inputs under the noise of the best; the files' names.

    Inputs that are no images of one or three channels have none.
    """
    if len(dataset.input_shape) != 3 or dataset.input_shape[0] not in (1, 3):
        return []
    model, rng = best.classifier, np.random.default_rng(seed)
    name = best.denoiser
    denoiser = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    folder.mkdir(exist_ok=True)
    names = []
    for index in indices[:MOST_PICTURES]:
        image = dataset.input(index)
        noise = rng.standard_normal(image.shape, dtype=np.float32)
        noisy = image + np.float32(best.tuned.best.law.sigma) * noise
        seen = [] if denoiser is None else [denoiser.rows(noisy[None])[0]]
        names.append(f"{index}.png")
        write_whole(folder / names[-1], strip([image, noisy, *seen], dataset.bounds))
    return names


def strip(images: list[NDArray[np.float32]], bounds: tuple[float, float]) -> bytes:
    """PNG of images (channels, height, width) side by side."""
    lower, upper = bounds
    times = -(-LEAST_PICTURE_HEIGHT // images[0].shape[1])
    parts: list[NDArray[np.uint8]] = []
    for image in images:
        unit = np.clip((image - lower) / (upper - lower), 0, 1)
        large = np.rint(255 * unit).astype(np.uint8).repeat(times, axis=1).repeat(times, axis=2)
        white = np.full((*large.shape[:2], PICTURE_GAP), 255, np.uint8)
        parts += [white, large] if parts else [large]
    return png(np.concatenate(parts, axis=2))

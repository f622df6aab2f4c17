"""The transforms and the constants of the denoiser of dct.py, the same in all of its forms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

DCT_BLOCK, DCT_STRIDE = 8, 4
COVER = (DCT_BLOCK // DCT_STRIDE) ** 2  # blocks that a pixel lies in
SHRINKAGE = 2.5
MILD_SHARE = 0.8  # of what `dct` takes away
HIGH_FREQUENCY = 10  # frequencies u + v from here on tell the size of the noise
NOISE_SIZE_ROUNDS, NOISE_SIZE_CUT = 3, 2.0
SMALLEST_NOISE_SIZE = 1e-12
DCT_VERSION = 1  # changes with every change of what the denoiser answers


@dataclass(frozen=True)
class Blocks:
    """The transforms of colours and of blocks, and how an image is mirrored.

    `filters` has shape (64, 1, 8, 8); those of the highest frequencies, `highest` of them, are the
    last ones. `count` are the blocks along height and width.
    """

    colours: NDArray[np.float32]
    filters: NDArray[np.float32]
    padding: tuple[tuple[int, int], tuple[int, int]]
    count: tuple[int, int]
    highest: int

    @classmethod
    def of(cls, input_shape: tuple[int, ...]) -> Blocks:
        """Return the transforms for images of this shape."""
        channels, *sides = input_shape
        pixels = cosine_transform(DCT_BLOCK)
        sums = np.add.outer(np.arange(DCT_BLOCK), np.arange(DCT_BLOCK)).ravel()
        filters = np.einsum("ux,vy->uvxy", pixels, pixels).reshape(-1, 1, DCT_BLOCK, DCT_BLOCK)
        ordered = filters[np.argsort(sums, kind="stable")]
        height, width = ((DCT_STRIDE, DCT_STRIDE + -side % DCT_STRIDE) for side in sides)
        rows, columns = (-(-side // DCT_STRIDE) + 1 for side in sides)
        return cls(
            cosine_transform(channels).astype(np.float32),
            np.ascontiguousarray(ordered, np.float32),
            (height, width),
            (rows, columns),
            int(np.count_nonzero(sums >= HIGH_FREQUENCY)),
        )


def mean_below(cut: float) -> np.float32:
    """E[min(|z|, cut)] of a standard normal z."""
    inside = 2 * (1 - math.exp(-cut * cut / 2)) / math.sqrt(2 * math.pi)
    return np.float32(inside + (2 * cut * special.ndtr(-cut) if math.isfinite(cut) else 0.0))


def cosine_transform(size: int) -> NDArray[np.float64]:
    """Return the orthonormal cosine transform (DCT-II) of `size` values, with a frequency in each
    row."""
    places = np.arange(size)
    rows = np.cos(np.pi * np.outer(places, 2 * places + 1) / (2 * size)) * math.sqrt(2 / size)
    rows[0] /= math.sqrt(2)
    return rows

"""Shrinkage of block cosine transforms: its formula, constants and transforms.

Blocks of 8x8 pixels, taken at every fourth pixel of the mirrored image so that each pixel lies
in four of them, of colours that an orthonormal transform has decorrelated. In a coefficient c of
a block natural images have much energy in few places and white noise of size s has s^2
everywhere, so that

    c * max(0, 1 - SHRINKAGE s^2 / E),   E the mean of c^2 over the block and its 8 neighbours,

keeps the first and drops the second (empirical Wiener shrinkage). The pixels are the mean of the
four blocks, clipped to the bounds of the data.

Shrinkage takes fine texture away together with the noise. Networks that live by texture answer
better if some of both is left: of what `dct` takes away of a coefficient, `dct-mild` takes away
MILD_SHARE.

The size s is estimated from each noisy image by itself: from the mean of |c| over the highest
frequencies, with outliers cut at NOISE_SIZE_CUT times the estimate before, NOISE_SIZE_ROUNDS
times. So one denoiser serves every sigma, and laws with k near d/2 under which the size differs
from vote to vote.
"""

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

"""The denoiser `dct`, written out block by block from the formulas of its docstring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft, stats

Image = NDArray[np.float64]


def noise_size(coefficients: NDArray[np.float64]) -> float:
    """From |c| at frequencies u + v >= 10: the mean, three times with outliers cut at 2 sizes."""
    u, v = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    high = np.abs(coefficients[..., u + v >= 10])
    size = high.mean() / np.sqrt(2 / np.pi)
    tail = 2 * (stats.norm.pdf(0) - stats.norm.pdf(2) + 2 * stats.norm.sf(2))
    for _ in range(3):
        size = np.minimum(high, 2 * size).mean() / tail
    return float(size)


def denoised_by_blocks(image: Image, shrinkage: float, share: float) -> Image:
    """One image (channels, height, width) in [0, 1], with a share of what shrinkage takes away
    taken away."""
    channels, height, width = image.shape
    colours = fft.dct(image, axis=0, norm="ortho")
    margins = [(4, 4 + -side % 4) for side in (height, width)]
    padded = np.pad(colours, [(0, 0), *margins], mode="reflect")
    tops = range(0, padded.shape[1] - 7, 4)
    lefts = range(0, padded.shape[2] - 7, 4)
    found = np.array(
        [
            [
                [
                    fft.dctn(padded[c, top : top + 8, left : left + 8], norm="ortho")
                    for left in lefts
                ]
                for top in tops
            ]
            for c in range(channels)
        ]
    )
    size = noise_size(found)
    total, count = np.zeros_like(padded), np.zeros_like(padded)
    for c, i, j in np.ndindex(channels, len(tops), len(lefts)):
        around = found[c, max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
        energy = (around**2).mean(axis=(0, 1)) + 1e-12
        lost = np.minimum(1, shrinkage * size**2 / energy)
        kept = found[c, i, j] * (1 - share * lost)
        place = np.s_[c, tops[i] : tops[i] + 8, lefts[j] : lefts[j] + 8]
        total[place] += fft.idctn(kept, norm="ortho")
        count[place] += 1
    inside = np.s_[:, 4 : 4 + height, 4 : 4 + width]
    assert (count[inside] == 4).all()
    pixels = fft.idct((total / np.maximum(count, 1))[inside], axis=0, norm="ortho")
    return np.asarray(np.clip(pixels, 0, 1))

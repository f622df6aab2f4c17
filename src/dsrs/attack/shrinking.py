"""What of a noisy direction is worth keeping: James and Stein's estimate, band by band.

The error of a direction from votes is white: independent and of one known variance in every
coordinate of any orthonormal basis. The gradient of a smoothed image classifier is not: most of it
lies in low spatial frequencies. So the coefficients of the discrete cosine transform are grouped
into bands of frequency, and each band is multiplied by (1 - noise / power)_+, its estimated share
of signal. Inputs that are no images are one band, which a common factor does not turn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Floats = NDArray[np.float64]

LEAST_BAND = 12  # coefficients: with fewer the share of signal is guesswork


class Bands:
    """The bands of inputs of one shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape if len(shape) in (2, 3) else None
        if self._shape is None:
            return
        rows, columns = shape[-2:]
        square = (np.arange(rows)[:, None] / rows) ** 2 + (np.arange(columns) / columns) ** 2
        frequency = np.broadcast_to(np.sqrt(square), shape).ravel()
        channels = int(np.prod(shape[:-2]))
        # Bands of equal width in frequency, wide enough to hold LEAST_BAND coefficients each.
        count = max(1, min(rows, columns) // 2)
        band = np.minimum((frequency / frequency.max() * count).astype(int), count - 1)
        sizes = np.bincount(band, minlength=count)
        merged, label = np.zeros(count, dtype=int), 0
        held = 0
        for place in range(count):
            merged[place] = label
            held += int(sizes[place])
            if held >= LEAST_BAND * channels:
                label, held = label + 1, 0
        self._band = merged[band]

    def shrunk(self, direction: Floats, variance: float) -> Floats:
        """Return the direction, each frequency band times its estimated share of signal."""
        if self._shape is None:
            return direction
        axes = (-2, -1)
        found = fft.dctn(direction.reshape(self._shape), axes=axes, norm="ortho").ravel()
        sizes = np.bincount(self._band)
        power = np.bincount(self._band, found**2) / np.maximum(sizes, 1)
        factor = np.clip(1 - variance / np.maximum(power, np.finfo(float).tiny), 0, 1)
        if not factor.any():
            return direction
        kept = (found * factor[self._band]).reshape(self._shape)
        return np.asarray(fft.idctn(kept, axes=axes, norm="ortho")).ravel()

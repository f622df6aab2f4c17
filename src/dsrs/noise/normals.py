"""The generator of normals in double precision: its constants, and what names a block of noise.

Philox4x32-10 (Salmon et al. 2011) makes four words from a counter and a key, Box-Muller makes two
normals from four words. The kernels of `dsrs.noise` and the tensor operations of
`dsrs.noise.on_device` are the same sequence of additions, multiplications, divisions, square roots
and choices, so that they agree to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

# Philox multipliers, the Weyl increments of its key (Salmon et al. 2011, Table 2), and its rounds.
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10

# ln(1 + m) = 2 s (1 + s^2/3 + s^4/5 + ...), s = m / (2 + m): for 1 + m in [sqrt(1/2), sqrt(2)) the
# first term left out is below 2^-55 of the sum.
LOG_TERMS = tuple(1 / (2 * n + 1) for n in range(1, 10))
LN2 = math.log(2)
# The upper half of the bits of sqrt(1/2): where the exponent of u changes.
SQRT_HALF_BITS = 0x3FE6A09E
# sin t = t + t^3 (...) and cos t = 1 - t^2/2 + t^4 (...) on [-pi/4, pi/4], by their series.
SINE_TERMS = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(1, 8))
COSINE_TERMS = tuple((-1) ** n / math.factorial(2 * n) for n in range(2, 9))
TO_ANGLE = math.pi / 2 / 2**30
TO_LOW, TO_UNIT_HIGH, TO_UNIT_LOW = 2.0**-32, 2.0**-32, 2.0**-64
# Sums of normal noise are whole numbers of this part of 1, so that they add up in any order.
NORMAL_UNITS = 2.0**24


@dataclass(frozen=True, slots=True, eq=False)
class NoiseBlock:
    """Noisy copies of one input on a grid: samples `first` up to `first + count` of one stream.

    `cells` is the input in whole steps; `key` that of the stream's normals. Noise is `sigma` times
    normals, or, where that is None, has the given `norms` in the directions of the normals.
    """

    key: NDArray[np.uint32]
    first: int
    count: int
    cells: NDArray[np.float64]
    origin: float
    step: float
    sigma: float | None
    norms: NDArray[np.float64] | None

    def part(self, start: int, stop: int) -> NoiseBlock:
        """Its copies from `start` up to `stop`."""
        norms = None if self.norms is None else self.norms[start:stop]
        return replace(self, first=self.first + start, count=stop - start, norms=norms)

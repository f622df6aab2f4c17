"""Noise in double precision, rounded to a grid and added to an input as whole numbers.

The same counter-based generator as philox.py, with 64 random bits for the radius and 64 for the
angle of Box-Muller, so that one group of four words makes two normals. Arithmetic is additions,
multiplications, divisions, square roots and choices in float64, in a fixed order: every machine and
every framework that rounds as IEEE 754 says gets the same bits. Each coordinate is good to a few
units of 2^-53 relative to its own size; docs/grid.md says what follows from that.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numba import float64, int32, int64, uint32

from dsrs.kernel_cache import jitted, kernel_folder
from dsrs.normals import (
    COSINE_TERMS,
    LN2,
    LOG_TERMS,
    SINE_TERMS,
    SQRT_HALF_BITS,
    TO_ANGLE,
    TO_LOW,
    TO_UNIT_HIGH,
    TO_UNIT_LOW,
)
from dsrs.sampling.philox import Function, inlined, length, philox

_L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = LOG_TERMS
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = SINE_TERMS
_C2, _C3, _C4, _C5, _C6, _C7, _C8 = COSINE_TERMS
_SHIFT_TO_HIGH, _SHIFT_OF_EXPONENT = np.int64(32), np.int64(52)
_EDGE, _MANTISSA_OF_HIGH, _ZERO = np.int32(SQRT_HALF_BITS), np.int32(20), np.int32(0)
_EIGHTH, _TURN = np.uint32(0x20000000), np.uint32(30)


def _kernel(function: Function) -> Function:
    here = Path(__file__)
    sources = (here, here.with_name("philox.py"), here.parents[1] / "normals.py")
    return jitted(function, kernel_folder(*sources))


@inlined
def _radius(high: Any, low: Any) -> Any:
    """sqrt(-2 ln u) for u = (w + 1/2) / 2^64, w = 2^32 high + low.

    Above 1/2, u is known by its distance from 1, which keeps its digits.
    """
    near = float64(int32(high)) * TO_UNIT_HIGH + (float64(low) + 0.5) * TO_UNIT_LOW
    u = near + 1.0 if near < 0.0 else near
    bits = np.float64(u).view(np.int64)
    exponent = int32(int32(int32(bits >> _SHIFT_TO_HIGH) - _EDGE) >> _MANTISSA_OF_HIGH)
    m = np.int64(bits - int64(int64(exponent) << _SHIFT_OF_EXPONENT)).view(np.float64) - 1.0
    m = near if exponent == _ZERO else m
    s = m / (2.0 + m)
    q = s * s
    series = (((_L9 * q + _L8) * q + _L7) * q + _L6) * q + _L5
    series = ((((series * q + _L4) * q + _L3) * q + _L2) * q + _L1) * q
    log = 2.0 * (s + s * series) + float64(exponent) * LN2
    return math.sqrt(-2.0 * log)


@inlined
def _direction(high: Any, low: Any) -> Any:
    """(cos, sin) of the angle 2 pi (w + 1/2) / 2^64, from the nearest quarter turn."""
    quarter = uint32(uint32(high + _EIGHTH) >> _TURN)
    away = float64(int32(uint32(high - uint32(quarter << _TURN))))
    t = (away + (float64(low) + 0.5) * TO_LOW) * TO_ANGLE
    q = t * t
    sine = ((((((_S7 * q + _S6) * q + _S5) * q + _S4) * q + _S3) * q + _S2) * q + _S1) * q
    sine = t + t * sine
    cosine = (((((_C8 * q + _C7) * q + _C6) * q + _C5) * q + _C4) * q + _C3) * q + _C2
    cosine = 1.0 - (0.5 * q - q * q * cosine)
    odd = uint32(quarter & uint32(1)) != uint32(0)
    across = -sine if odd else cosine
    along = cosine if odd else sine
    turned = uint32(quarter & uint32(2)) != uint32(0)
    return (-across if turned else across), (-along if turned else along)


@_kernel
def exact_normals(key: Any, sample: int, half: int, words: Any, row: Any) -> None:
    """Fill `row` with the `2 half` normals of one sample; `words` is scratch, twice as long."""
    k0, k1, c2, c3 = key[0], key[1], key[2], key[3]
    c1 = uint32(sample)
    for g in range(half):
        w0, w1, w2, w3 = philox(uint32(g), c1, c2, c3, k0, k1)
        words[g] = w0
        words[half + g] = w1
        words[2 * half + g] = w2
        words[3 * half + g] = w3
    for j in range(half):
        radius = _radius(words[j], words[half + j])
        cosine, sine = _direction(words[2 * half + j], words[3 * half + j])
        row[j] = radius * cosine
        row[half + j] = radius * sine


@_kernel
def _place(d: int, cells: Any, row: Any, scale: float, origin: float, step: float, out: Any) -> Any:
    """out = the grid point cells + floor(scale row + 1/2), converted once."""
    for j in range(d):
        out[j] = origin + (cells[j] + np.floor(row[j] * scale + 0.5)) * step


@_kernel
def gaussian_on_grid(
    key: Any, first: int, cells: Any, sigma: float, origin: float, step: float, out: Any, norms: Any
) -> None:
    """out[i] = the grid point `cells` with sigma z of sample `first + i`, norms[i] = sigma |z|."""
    d = cells.size
    half = (d + 1) // 2
    words, row = np.empty(4 * half, np.uint32), np.empty(2 * half)
    sums = np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, first + i, half, words, row)
        norms[i] = sigma * length(row, d, sums)
        _place(d, cells, row, sigma / step, origin, step, out[i])


@_kernel
def add_normals(key: Any, samples: Any, scale: float, sums: Any) -> None:
    """Add z of each sample, before any rounding to a grid, to `sums`: whole numbers of 1 / scale.

    Whole numbers add up to the same sum in any order.
    """
    d = sums.size
    half = (d + 1) // 2
    words, row = np.empty(4 * half, np.uint32), np.empty(2 * half)
    for i in range(samples.size):
        exact_normals(key, samples[i], half, words, row)
        for j in range(d):
            sums[j] += int64(np.floor(row[j] * scale + 0.5))


@_kernel
def directions_on_grid(
    key: Any, first: int, cells: Any, norms: Any, origin: float, step: float, out: Any
) -> None:
    """out[i] = the grid point `cells` with norms[i] z/|z| of sample `first + i`."""
    d = cells.size
    half = (d + 1) // 2
    words, row = np.empty(4 * half, np.uint32), np.empty(2 * half)
    sums = np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, first + i, half, words, row)
        scale = norms[i] / length(row, d, sums) / step
        _place(d, cells, row, scale, origin, step, out[i])

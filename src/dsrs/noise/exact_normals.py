"""Standard normals in double precision by counter, in stages that keep a processor busy.

The same counter-based generator as philox.py, with 64 random bits for the radius and 64 for the
angle of Box-Muller, so that one group of four words makes two normals. Arithmetic is additions,
multiplications, divisions, square roots and choices in float64, in a fixed order: every machine and
every framework that rounds as IEEE 754 says gets the same bits. Each coordinate is good to a few
units of 2^-53 relative to its own size; docs/grid.md says what follows from that.

A loop that did all of it would wait: each operation needs the one before, and a processor looks
only some 130 operations ahead, so that few groups would be in work at once. So each stage is a loop
of its own with a short chain, over a block of groups that stays in the first cache. All lanes are
64 bits wide; words lie in the lower half of theirs, with anything above them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import int64, uint64

from dsrs.noise.normals import (
    COSINE_TERMS,
    INCREMENTS,
    LN2,
    LOG_TERMS,
    MULTIPLIERS,
    PHILOX_ROUNDS,
    SINE_TERMS,
    SQRT_HALF_BITS,
    TO_ANGLE,
)
from dsrs.noise.philox import inlined, kernel, length

NORMALS_PER_BLOCK = 512  # groups in work at once: five arrays of 4 KB

_L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = LOG_TERMS
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = SINE_TERMS
_C2, _C3, _C4, _C5, _C6, _C7, _C8 = COSINE_TERMS
_M0, _M1 = (np.uint64(word) for word in MULTIPLIERS)
_W0, _W1 = (np.uint64(word) for word in INCREMENTS)
_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)
FIXED_ROUNDS, MIDDLE_ROUNDS = 3, 3
LAST_ROUNDS = PHILOX_ROUNDS - FIXED_ROUNDS - MIDDLE_ROUNDS


def _bits(x: float) -> np.uint64:
    return np.float64(x).view(np.uint64)


# A word under the exponent of 2^e, less 2^e, is the word times 2^(e - 52), without rounding. What
# is taken off also moves it: by half a unit upwards, or by 2^31 units downwards to give it a sign.
_UNIT_HIGH_BITS, _UNIT_HIGH_OFF, _SIGN = _bits(2.0**20), 2.0**20 + 0.5, np.uint64(1 << 31)
_UNIT_LOW_BITS, _UNIT_LOW_OFF = _bits(2.0**-12), 2.0**-12 - 2.0**-65
_AWAY_BITS, _AWAY_OFF = _bits(2.0**52), 2.0**52 + 2.0**29
_TURN_LOW_BITS, _TURN_LOW_OFF = _bits(2.0**20), 2.0**20 - 2.0**-33
_EIGHTH, _QUARTER = np.uint64(1 << 29), np.uint64((1 << 30) - 1)
_ODD, _HALF_TURN, _TOP = np.uint64(33), np.uint64(32), np.uint64(1 << 63)
# Exponents by whole numbers: a number's bits less those of sqrt(1/2), without the mantissa.
_EDGE = np.int64(SQRT_HALF_BITS << 32)
_EXPONENT, _MANTISSA = np.int64(-(1 << 52)), np.int64(52)
_WHOLE = 2.0**52 + 2.0**51
_WHOLE_BITS, _NONE = np.float64(_WHOLE).view(np.int64), np.int64(0)


@inlined
def _float(bits: Any) -> Any:
    return np.uint64(bits).view(np.float64)


@inlined
def _stored(x: Any) -> Any:
    return np.float64(x).view(np.uint64)


@inlined
def _rounds(count: int, c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Rounds of Philox, the first one with the key (k0, k1)."""
    for _ in range(count):
        p0, p1 = _M0 * (c0 & _LOW), _M1 * (c2 & _LOW)
        c0 = (p1 >> _WORD) ^ (c1 ^ k0)
        c2 = (p0 >> _WORD) ^ (c3 ^ k1)
        c1, c3 = p1, p0
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@kernel
def _fixed_rounds(key: Any, half: int, fixed: Any) -> None:
    """What the first three rounds make of the groups alone, for all samples of a stream.

    The counter is (group, sample, key[2], key[3]). A sample's number meets that of a group for the
    first time in the second round, in one of the four words; the other products of the first three
    rounds belong to one of them alone.
    """
    k0, k1, c2, c3 = uint64(key[0]), uint64(key[1]), uint64(key[2]), uint64(key[3])
    first = _M1 * c2
    after, then, upper, lower = fixed
    for g in range(half):
        p0 = _M0 * uint64(g)
        after[g] = p0 ^ ((k1 + _W1) & _LOW)
        p1 = _M1 * (((p0 >> _WORD) ^ c3 ^ k1) & _LOW)
        then[g] = p1 ^ ((k0 + _W0 + _W0) & _LOW)
        p0 = _M0 * (((p1 >> _WORD) ^ first ^ (k0 + _W0)) & _LOW)
        upper[g] = (p0 >> _WORD) ^ ((k1 + _W1 + _W1) & _LOW)
        lower[g] = p0


@kernel
def _middle_rounds(key: Any, sample: int, first: int, n: int, fixed: Any, words: Any) -> None:
    """The words of one sample after the third round, and some rounds more."""
    k0, k1 = uint64(key[0]), uint64(key[1])
    own = _M0 * ((((_M1 * uint64(key[2])) >> _WORD) ^ uint64(sample) ^ k0) & _LOW)
    own_upper = own >> _WORD
    k0, k1 = k0 + np.uint64(FIXED_ROUNDS) * _W0, k1 + np.uint64(FIXED_ROUNDS) * _W1
    after, then, upper, lower = fixed
    w0, w1, w2, w3 = words
    for g in range(n):
        at = uint64(first) + uint64(g)  # an index with a sign would be looked at before use
        p1 = _M1 * ((after[at] ^ own_upper) & _LOW)
        c0, c2, c3 = (p1 >> _WORD) ^ then[at], upper[at] ^ own, lower[at]
        w0[g], w1[g], w2[g], w3[g] = _rounds(MIDDLE_ROUNDS, c0, p1, c2, c3, k0, k1)


@kernel
def _last_rounds(key: Any, n: int, words: Any) -> None:
    done = np.uint64(FIXED_ROUNDS + MIDDLE_ROUNDS)
    k0, k1 = uint64(key[0]) + done * _W0, uint64(key[1]) + done * _W1
    w0, w1, w2, w3 = words
    for g in range(n):
        w0[g], w1[g], w2[g], w3[g] = _rounds(LAST_ROUNDS, w0[g], w1[g], w2[g], w3[g], k0, k1)


@kernel
def _ratios(n: int, high: Any, low: Any) -> None:
    """ln u = 2 atanh(s) + e ln 2 for u = (w + 1/2) / 2^64, w = 2^32 high + low.

    s takes the place of `high`, e ln 2 that of `low`. Above 1/2, u is known by its distance from 1,
    which keeps its digits.
    """
    for g in range(n):
        near = _float(((high[g] & _LOW) ^ _SIGN) | _UNIT_HIGH_BITS) - _UNIT_HIGH_OFF
        near = near + (_float((low[g] & _LOW) | _UNIT_LOW_BITS) - _UNIT_LOW_OFF)
        u = near + 1.0 if near < 0.0 else near
        bits = np.float64(u).view(np.int64)
        exponent = (bits - _EDGE) & _EXPONENT
        m = np.int64(bits - exponent).view(np.float64) - 1.0
        m = near if exponent == _NONE else m
        high[g] = _stored(m / (2.0 + m))
        # Exponents are not above 0, and vectors shift to the right without a sign.
        whole = _WHOLE_BITS - int64(uint64(-exponent) >> uint64(_MANTISSA))
        low[g] = _stored((np.int64(whole).view(np.float64) - _WHOLE) * LN2)


@kernel
def _log_heads(n: int, ratio: Any, head: Any) -> None:
    """The upper terms of the series of the logarithm, by Horner's rule."""
    for g in range(n):
        s = _float(ratio[g])
        q = s * s
        head[g] = _stored((((_L9 * q + _L8) * q + _L7) * q + _L6) * q + _L5)


@kernel
def _radii(n: int, ratio: Any, shift: Any, head: Any) -> None:
    """sqrt(-2 ln u) in the place of s."""
    for g in range(n):
        s = _float(ratio[g])
        q = s * s
        series = ((((_float(head[g]) * q + _L4) * q + _L3) * q + _L2) * q + _L1) * q
        log = 2.0 * (s + s * series) + _float(shift[g])
        ratio[g] = _stored(math.sqrt(-2.0 * log))


@kernel
def _angles(n: int, high: Any, low: Any) -> None:
    """2 pi (w + 1/2) / 2^64 from the nearest quarter turn, in the place of `low`."""
    for g in range(n):
        away = _float(((high[g] + _EIGHTH) & _QUARTER) | _AWAY_BITS) - _AWAY_OFF
        away = away + (_float((low[g] & _LOW) | _TURN_LOW_BITS) - _TURN_LOW_OFF)
        low[g] = _stored(away * TO_ANGLE)


@kernel
def _turn_heads(n: int, angle: Any, sine: Any, cosine: Any) -> None:
    """The upper terms of the series of sine and cosine."""
    for g in range(n):
        t = _float(angle[g])
        q = t * t
        sine[g] = _stored(((_S7 * q + _S6) * q + _S5) * q + _S4)
        cosine[g] = _stored(((_C8 * q + _C7) * q + _C6) * q + _C5)


@kernel
def _turns(n: int, angle: Any, sine: Any, cosine: Any) -> None:
    """Sine and cosine in the place of their upper terms."""
    for g in range(n):
        t = _float(angle[g])
        q = t * t
        odd = (((_float(sine[g]) * q + _S3) * q + _S2) * q + _S1) * q
        even = ((_float(cosine[g]) * q + _C4) * q + _C3) * q + _C2
        sine[g] = _stored(t + t * odd)
        cosine[g] = _stored(1.0 - (0.5 * q - q * q * even))


@kernel
def _products(
    n: int, high: Any, radius: Any, sine: Any, cosine: Any, first: int, half: int, row: Any
) -> None:
    """Radius times cosine and sine of the whole angle: quarter turns swap them and turn signs."""
    for g in range(n):
        quarters, s, c, r = high[g] + _EIGHTH, sine[g], cosine[g], _float(radius[g])
        odd, half_turn = quarters << _ODD, quarters << _HALF_TURN
        swapped = int64(odd) < _NONE
        across, along = s if swapped else c, c if swapped else s
        at = uint64(first) + uint64(g)
        row[at] = r * _float(across ^ ((odd ^ half_turn) & _TOP))
        row[uint64(half) + at] = r * _float(along ^ (half_turn & _TOP))


@kernel
def box_muller(n: int, words: Any, head: Any, first: int, half: int, row: Any) -> None:
    """The normals `first` + g and `half` + `first` + g of a row from words g, for g < n.

    Two words are the radius, two the angle; `head` is scratch. The words are used up.
    """
    radius, second, high, angle = words
    _ratios(n, radius, second)
    _log_heads(n, radius, head)
    _radii(n, radius, second, head)
    _angles(n, high, angle)
    _turn_heads(n, angle, second, head)
    _turns(n, angle, second, head)
    _products(n, high, radius, second, head, first, half, row)


@kernel
def _words(count: int) -> Any:
    kind = np.uint64
    return (
        np.empty(count, kind),
        np.empty(count, kind),
        np.empty(count, kind),
        np.empty(count, kind),
    )


@kernel
def workspace(key: Any, half: int) -> Any:
    """What `exact_normals` needs beside the number of a sample: made once for many samples."""
    fixed = _words(half)
    _fixed_rounds(key, half, fixed)
    return fixed, _words(NORMALS_PER_BLOCK), np.empty(NORMALS_PER_BLOCK, np.uint64)


@kernel
def exact_normals(key: Any, space: Any, sample: int, half: int, row: Any) -> None:
    """Fill `row` with the `2 half` normals of one sample; `space` is the `workspace` of the key."""
    fixed, words, head = space
    for first in range(0, half, NORMALS_PER_BLOCK):
        n = min(NORMALS_PER_BLOCK, half - first)
        _middle_rounds(key, sample, first, n, fixed, words)
        _last_rounds(key, n, words)
        box_muller(n, words, head, first, half, row)


# ---- Noise of these normals, rounded to a grid and added to an input as whole numbers


@kernel
def place(d: int, cells: Any, row: Any, scale: float, origin: float, step: float, out: Any) -> Any:
    """out = the grid point cells + floor(scale row + 1/2), converted once."""
    for j in range(d):
        out[j] = origin + (cells[j] + np.floor(row[j] * scale + 0.5)) * step


@kernel
def gaussian_on_grid(
    key: Any, first: int, cells: Any, sigma: float, origin: float, step: float, out: Any, norms: Any
) -> None:
    """out[i] = the grid point `cells` with sigma z of sample `first + i`, norms[i] = sigma |z|."""
    d = cells.size
    half = (d + 1) // 2
    space, row = workspace(key, half), np.empty(2 * half)
    sums = np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, space, first + i, half, row)
        norms[i] = sigma * length(row, d, sums)
        place(d, cells, row, sigma / step, origin, step, out[i])


@kernel
def directions_on_grid(
    key: Any, first: int, cells: Any, norms: Any, origin: float, step: float, out: Any
) -> None:
    """out[i] = the grid point `cells` with norms[i] z/|z| of sample `first + i`."""
    d = cells.size
    half = (d + 1) // 2
    space, row, sums = workspace(key, half), np.empty(2 * half), np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, space, first + i, half, row)
        place(d, cells, row, norms[i] / length(row, d, sums) / step, origin, step, out[i])


@kernel
def add_normals(key: Any, samples: Any, scale: float, sums: Any) -> None:
    """Add z of each sample, before any rounding to a grid, to `sums`: whole numbers of 1 / scale.

    Whole numbers add up to the same sum in any order.
    """
    d = sums.size
    half = (d + 1) // 2
    space, row = workspace(key, half), np.empty(2 * half)
    for i in range(samples.size):
        exact_normals(key, space, samples[i], half, row)
        for j in range(d):
            sums[j] += int64(np.floor(row[j] * scale + 0.5))

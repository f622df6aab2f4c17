"""Standard normals by counter: the value of any coordinate of any sample, from a key alone.

Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") turns a 128-bit
counter and a 64-bit key into four random words; Box-Muller turns two words into two normals. No
state is carried from one sample to the next, so samples can be made in any order and on any
number of workers. All loops are free of branches and of table look-ups, so the compiler makes
them vector code: about 1.5 ns a normal where NumPy's ziggurat needs 8 or more.

Arithmetic is float32 without contraction or reassociation, so the bits do not depend on the
width of the machine's vectors. Radii of Box-Muller come from 32 bits: no normal is above
sqrt(66 ln 2) = 6.76, a tail of 1e-11 that no number of votes this package can count will see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import float32, float64, int32, njit, uint32, uint64

from dsrs.kernels import jitted, kernel_folder
from dsrs.noise.normals import INCREMENTS, MULTIPLIERS, PHILOX_ROUNDS

_M0, _M1 = (np.uint64(word) for word in MULTIPLIERS)
_W0, _W1 = (np.uint32(word) for word in INCREMENTS)
_WORD = np.uint64(32)

# ln(1 + m) = m - m^2/2 + m^3 P(m) for 1 + m in [sqrt(1/2), sqrt(2)): minimax, good to 1 ulp.
_LOG = tuple(
    np.float32(c)
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = _LOG
_LN2 = np.float32(math.log(2))
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
# sin t = t + t^3 S(t^2) and cos t = 1 - t^2/2 + t^4 C(t^2) on [-pi/4, pi/4]: good to 1 ulp.
_S0, _S1, _S2 = (
    np.float32(-1.9515295891e-4),
    np.float32(8.3321608736e-3),
    np.float32(-0.16666654611),
)
_C0, _C1, _C2 = (
    np.float32(2.443315711809948e-5),
    np.float32(-1.388731625493765e-3),
    np.float32(4.166664568298827e-2),
)
_TO_UNIT, _HALF_STEP = np.float32(2.0**-32), np.float32(2.0**-33)
_BELOW_ONE = np.float32(1 - 2.0**-24)
_TO_ANGLE = np.float32(math.pi / 2 / 2**30)
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)

Function = TypeVar("Function", bound=Callable[..., Any])


def inlined(function: Function) -> Function:
    return cast(Function, njit(inline="always")(function))


def kernel(function: Function) -> Function:
    """Compile a function of these files, which call each other; its code is kept."""
    files = ("exact_normals.py", "normals.py", "philox.py")
    return jitted(function, kernel_folder(*(Path(__file__).with_name(name) for name in files)))


# Numba widens 32-bit results to 64; the casts below keep the vectors at 32 bits a lane. Loop counts
# are arguments because the compiler gives up on vectors when they are derived from array sizes.
@inlined
def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    for _ in range(PHILOX_ROUNDS):
        p0 = _M0 * uint64(c0)
        p1 = _M1 * uint64(c2)
        c0 = uint32(p1 >> _WORD) ^ c1 ^ k0
        c2 = uint32(p0 >> _WORD) ^ c3 ^ k1
        c1 = uint32(p1)
        c3 = uint32(p0)
        k0 = uint32(k0 + _W0)
        k1 = uint32(k1 + _W1)
    return c0, c1, c2, c3


@inlined
def _radius(word: Any) -> Any:
    """sqrt(-2 ln u) for u = (word + 1/2) / 2^32, kept below 1 so that no radius is zero."""
    u = float32(word) * _TO_UNIT + _HALF_STEP
    u = u if u < _BELOW_ONE else _BELOW_ONE
    bits = np.float32(u).view(np.int32)
    exponent = int32(int32(bits - _SQRT_HALF_BITS) >> int32(23))
    m = np.int32(bits - int32(exponent << int32(23))).view(np.float32) - _ONE
    square = m * m
    series = _L0 * m + _L1
    series = ((series * m + _L2) * m + _L3) * m + _L4
    series = (((series * m + _L5) * m + _L6) * m + _L7) * m + _L8
    log = (m + (series * m * square - _HALF * square)) + float32(exponent) * _LN2
    return math.sqrt(-_TWO * log)


@inlined
def _direction(word: Any) -> Any:
    """(cos, sin) of the angle 2 pi word / 2^32, from the nearest quarter turn."""
    quarter = uint32(uint32(word + uint32(0x20000000)) >> uint32(30))
    t = float32(int32(uint32(word - uint32(quarter << uint32(30))))) * _TO_ANGLE
    square = t * t
    sine = ((_S0 * square + _S1) * square + _S2) * square * t + t
    cosine = ((_C0 * square + _C1) * square + _C2) * square * square - _HALF * square + _ONE
    odd = uint32(quarter & uint32(1)) != uint32(0)
    across = -sine if odd else cosine
    along = cosine if odd else sine
    turned = uint32(quarter & uint32(2)) != uint32(0)
    return (-across if turned else across), (-along if turned else along)


@kernel
def normal_row(key: Any, sample: int, groups: int, words: Any, row: Any) -> None:
    """Fill `row` with the `4 groups` normals of one sample.

    `key` holds four 32-bit words: two for Philox's key, two for the high half of its counter; the
    low half is (group of four coordinates, sample). `words` is scratch of the same length.
    """
    half = 2 * groups
    k0, k1, c2, c3 = key[0], key[1], key[2], key[3]
    c1 = uint32(sample)
    for g in range(groups):
        w0, w1, w2, w3 = philox(uint32(g), c1, c2, c3, k0, k1)
        words[g] = w0
        words[groups + g] = w2
        words[half + g] = w1
        words[half + groups + g] = w3
    for j in range(half):
        radius = _radius(words[j])
        cosine, sine = _direction(words[half + j])
        row[j] = radius * cosine
        row[half + j] = radius * sine


@kernel
def halved_sum(count: int, sums: Any, odd: Any) -> Any:
    """The sum of sums[:count] and `odd` by halving: an order of additions that is fixed."""
    while count > 1:
        if count % 2:
            odd += sums[count - 1]
        count //= 2
        for j in range(count):
            sums[j] += sums[count + j]
    return sums[0] + odd


@kernel
def length(row: Any, d: int, sums: Any) -> Any:
    """|row[:d]| in float64, added up by halving."""
    half = d // 2
    odd = float64(row[d - 1]) * float64(row[d - 1]) if d % 2 else 0.0
    for j in range(half):
        sums[j] = float64(row[j]) * float64(row[j]) + float64(row[half + j]) * float64(
            row[half + j]
        )
    return math.sqrt(halved_sum(half, sums, odd))


@kernel
def add_gaussian(key: Any, first: int, x: Any, sigma: float, out: Any, norms: Any) -> None:
    """out[i] = x + sigma z of sample `first + i`; norms[i] becomes its noise norm."""
    d = x.size
    groups = (d + 3) // 4
    row = np.empty(4 * groups, np.float32)
    words = np.empty(4 * groups, np.uint32)
    sums = np.empty(d // 2, np.float64)
    scale = float32(sigma)
    for i in range(out.shape[0]):
        normal_row(key, first + i, groups, words, row)
        norms[i] = sigma * length(row, d, sums)
        for j in range(d):
            out[i, j] = x[j] + scale * row[j]


@kernel
def add_directions(key: Any, first: int, x: Any, norms: Any, out: Any) -> None:
    """out[i] = x + norms[i] z/|z| of sample `first + i`: a uniform direction of given norm."""
    d = x.size
    groups = (d + 3) // 4
    row = np.empty(4 * groups, np.float32)
    words = np.empty(4 * groups, np.uint32)
    sums = np.empty(d // 2, np.float64)
    for i in range(out.shape[0]):
        normal_row(key, first + i, groups, words, row)
        scale = float32(norms[i] / length(row, d, sums))
        for j in range(d):
            out[i, j] = x[j] + scale * row[j]

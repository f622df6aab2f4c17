"""The sampler's generator of noise as Triton kernels, bit for bit; `dsrs.noise.fused` starts them.

A row of d values has H = (d + 1) // 2 groups of two normals: group g makes the coordinates g and
H + g. A norm adds squares by halving (`dsrs.noise.philox.length`), beginning with the coordinates
j and j + d // 2, which for even d are of one group. A tile holds these pairs for
j = c + i C / FOLDS, i < FOLDS, where C = d // 2: the next halvings stay in the tile.

The operations are those of `dsrs.noise.on_device`, in the same order. Kernels have no annotations:
their compiler would look for what these name.
"""

from __future__ import annotations

import triton
import triton.language as tl

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
    TO_LOW,
    TO_UNIT_HIGH,
    TO_UNIT_LOW,
)

MOST_FOLDS = 8  # parts of a row in one tile: 8 bytes of sums for 16 values

_M0, _M1 = (tl.constexpr(word) for word in MULTIPLIERS)
_W0, _W1 = (tl.constexpr(word) for word in INCREMENTS)
_ROUNDS, _WORD = tl.constexpr(PHILOX_ROUNDS), tl.constexpr(0xFFFFFFFF)
_HALVINGS = tl.constexpr(MOST_FOLDS.bit_length() - 1)
_SIGN, _RANGE = tl.constexpr(1 << 31), tl.constexpr(2.0**32)
_LN2, _ROOT, _TO_ANGLE = tl.constexpr(LN2), tl.constexpr(SQRT_HALF_BITS), tl.constexpr(TO_ANGLE)
_TO_LOW, _UNIT_HIGH, _UNIT_LOW = (tl.constexpr(x) for x in (TO_LOW, TO_UNIT_HIGH, TO_UNIT_LOW))
_L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = (tl.constexpr(term) for term in LOG_TERMS)
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = (tl.constexpr(term) for term in SINE_TERMS)
_C2, _C3, _C4, _C5, _C6, _C7, _C8 = (tl.constexpr(term) for term in COSINE_TERMS)


@triton.jit
def _signed(word):
    """32 bits as a signed number, in float64."""
    number = word.to(tl.float64)
    return tl.where(word >= _SIGN, number - _RANGE, number)


@triton.jit
def _radius(high, low):
    """sqrt(-2 ln u) for u = (2^32 high + low + 1/2) / 2^64."""
    near = _signed(high) * _UNIT_HIGH + (low.to(tl.float64) + 0.5) * _UNIT_LOW
    u = tl.where(near < 0.0, near + 1.0, near)
    bits = u.to(tl.int64, bitcast=True)
    exponent = ((bits >> 32) - _ROOT) >> 20
    m = (bits - (exponent << 52)).to(tl.float64, bitcast=True) - 1.0
    m = tl.where(exponent == 0, near, m)
    s = m / (2.0 + m)
    q = s * s
    head = (((_L9 * q + _L8) * q + _L7) * q + _L6) * q + _L5
    series = (((head * q + _L4) * q + _L3) * q + _L2) * q + _L1
    log = 2.0 * (s + s * (series * q)) + exponent.to(tl.float64) * _LN2
    return tl.sqrt(-2.0 * log)


@triton.jit
def _normals(group, sample, key):
    """The two normals of a group of a sample."""
    k0 = tl.load(key).to(tl.uint32)
    k1 = tl.load(key + 1).to(tl.uint32)
    c0, c1 = tl.broadcast(group.to(tl.uint32), sample.to(tl.uint32))
    c2 = c0 * 0 + tl.load(key + 2).to(tl.uint32)
    c3 = c0 * 0 + tl.load(key + 3).to(tl.uint32)
    for _ in tl.static_range(_ROUNDS):
        above = tl.umulhi(c0, _M0)
        below = c0 * _M0
        c0 = tl.umulhi(c2, _M1) ^ c1 ^ k0
        c1 = c2 * _M1
        c2 = above ^ c3 ^ k1
        c3 = below
        k0 = k0 + _W0
        k1 = k1 + _W1
    radius = _radius(c0.to(tl.int64), c1.to(tl.int64))
    high = c2.to(tl.int64)
    quarter = ((high + 0x20000000) & _WORD) >> 30
    away = _signed((high - (quarter << 30)) & _WORD)
    t = (away + (c3.to(tl.float64) + 0.5) * _TO_LOW) * _TO_ANGLE
    q = t * t
    odd_head = ((_S7 * q + _S6) * q + _S5) * q + _S4
    sine = t + t * ((((odd_head * q + _S3) * q + _S2) * q + _S1) * q)
    even_head = ((_C8 * q + _C7) * q + _C6) * q + _C5
    cosine = 1.0 - (0.5 * q - q * q * (((even_head * q + _C4) * q + _C3) * q + _C2))
    odd = (quarter & 1) != 0
    turned = (quarter & 2) != 0
    across = tl.where(odd, -sine, cosine)
    along = tl.where(odd, cosine, sine)
    across = tl.where(turned, -across, across)
    along = tl.where(turned, -along, along)
    return radius * across, radius * along


@triton.jit
def store(
    out,
    row,
    at,
    value,
    inside,
    d,
    channels,
    HALF_PRECISION: tl.constexpr,
):
    """Store float64 values of the coordinates `at` as float32, or rounded once more to bfloat16."""
    pixels = d // channels
    place = out + row * d + (at % pixels) * channels + at // pixels
    single = value.to(tl.float32)
    if HALF_PRECISION:
        # To the nearest, ties to even: by whole numbers, as devices round in ways of their own.
        bits = single.to(tl.int32, bitcast=True)
        half = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        tl.store(place, half.to(tl.int16), mask=inside)
    else:
        tl.store(place, single, mask=inside)


@triton.jit
def _folded(sums, ROWS: tl.constexpr, FOLDS: tl.constexpr, WIDTH: tl.constexpr):
    """The sums after the halvings that a tile holds."""
    for level in tl.static_range(_HALVINGS):
        if FOLDS >> level > 1:
            sums = tl.sum(tl.reshape(sums, (ROWS, 2, FOLDS >> level + 1, WIDTH)), axis=1)
    return sums


@triton.jit
def make(
    cells,
    out,
    sums,
    scales,
    facts,
    key,
    first,
    count,
    d,
    channels,
    STORES: tl.constexpr,
    ADDS: tl.constexpr,
    OWN_SCALE: tl.constexpr,
    HALF_PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    FOLDS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Make the normals of a tile: noisy values to `out`, sums of squares to `sums`, or both.

    The axes of the tile are rows, folds and columns.
    """
    groups = (d + 1) // 2
    columns = groups // FOLDS
    row = (tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None, None]
    column = (tl.program_id(0) * WIDTH + tl.arange(0, WIDTH))[None, None, :]
    group = tl.arange(0, FOLDS)[None, :, None] * columns + column
    second = group + groups
    known = (column < columns) & (row < count)
    left, right = _normals(group, first + row, key)
    if ADDS:
        squares = _folded(left * left + right * right, ROWS, FOLDS, WIDTH)
        tl.store(sums + row * columns + column, squares, mask=known)
    if STORES:
        scale = tl.load(facts)
        if OWN_SCALE:
            scale = tl.load(scales + row, mask=row < count, other=1.0)
        origin = tl.load(facts + 2)
        step = tl.load(facts + 3)
        near = tl.load(cells + group, mask=column < columns, other=0.0)
        far = tl.load(cells + second, mask=(column < columns) & (second < d), other=0.0)
        left = origin + (near + tl.floor(left * scale + 0.5)) * step
        right = origin + (far + tl.floor(right * scale + 0.5)) * step
        store(out, row, group, left, known, d, channels, HALF_PRECISION)
        store(out, row, second, right, known & (second < d), d, channels, HALF_PRECISION)


@triton.jit
def _coordinate(at, sample, key, d):
    """The normals of single coordinates."""
    groups = (d + 1) // 2
    left, right = _normals(tl.where(at < groups, at, at - groups), sample, key)
    return tl.where(at < groups, left, right)


@triton.jit
def add_squares(
    sums, key, first, count, d, ROWS: tl.constexpr, FOLDS: tl.constexpr, WIDTH: tl.constexpr
):
    """The first sums of squares for odd d, where two groups have a part in each."""
    columns = d // 2 // FOLDS
    row = (tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None, None]
    column = (tl.program_id(0) * WIDTH + tl.arange(0, WIDTH))[None, None, :]
    at = tl.arange(0, FOLDS)[None, :, None] * columns + column
    left = _coordinate(at, first + row, key, d)
    right = _coordinate(at + d // 2, first + row, key, d)
    squares = _folded(left * left + right * right, ROWS, FOLDS, WIDTH)
    tl.store(sums + row * columns + column, squares, mask=(column < columns) & (row < count))


@triton.jit
def _pair(place, apart, inside):
    """The sum of two numbers that lie `apart`."""
    return tl.load(place, mask=inside, other=0.0) + tl.load(place + apart, mask=inside, other=0.0)


@triton.jit
def _four(place, half, quarter, inside):
    """A sum after two halvings: of two pairs."""
    return _pair(place, half, inside) + _pair(place + quarter, half, inside)


@triton.jit
def finish(
    sums,
    results,
    norms,
    facts,
    key,
    first,
    count,
    d,
    width,
    GAUSSIAN: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Add up the sums of rows by halving: their norms, or the scales that give them `norms`."""
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    known = row < count
    own = sums + row * width
    odd = tl.zeros((ROWS, 1), tl.float64)
    if d % 2 == 1:
        value = _coordinate(row * 0 + (d - 1), first + row, key, d)
        odd = value * value
    left = width
    while left >= 8:  # three halvings in one pass over memory
        half = left // 2
        quarter = half // 2
        eighth = quarter // 2
        if left % 2 == 1:
            odd = odd + tl.load(own + left - 1, mask=known, other=0.0)
        if half % 2 == 1:
            odd = odd + _pair(own + half - 1, half, known)
        if quarter % 2 == 1:
            odd = odd + _four(own + quarter - 1, half, quarter, known)
        for start in range(0, eighth, WIDTH):
            at = (start + tl.arange(0, WIDTH))[None, :]
            inside = known & (at < eighth)
            low = _four(own + at, half, quarter, inside)
            high = _four(own + eighth + at, half, quarter, inside)
            tl.store(own + at, low + high, mask=inside)
        tl.debug_barrier()
        left = eighth
    while left > 1:
        if left % 2 == 1:
            odd = odd + tl.load(own + left - 1, mask=known, other=0.0)
        left = left // 2
        at = tl.arange(0, 4)[None, :]
        inside = known & (at < left)
        tl.store(own + at, _pair(own + at, left, inside), mask=inside)
        tl.debug_barrier()
    length = tl.sqrt(tl.load(own, mask=known, other=1.0) + odd)
    if GAUSSIAN:
        tl.store(results + row, tl.load(facts + 1) * length, mask=known)
    else:
        scale = tl.load(norms + row, mask=known, other=1.0) / length / tl.load(facts + 3)
        tl.store(results + row, scale, mask=known)

"""Noise made where a PyTorch module is: in tensor operations, by fused kernels, or not there.

A device is trusted with noise only after what it made was compared with the sampler's, bit for bit.
Nothing here loads PyTorch before it is used; the fused kernels are in `fused.py`.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np

from dsrs.laws import GeneralizedGaussian, Grid, Rescaled, Truncated
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
    NoiseBlock,
)
from dsrs.noise.stream import NoiseLaw, NoiseStream, Stream

# ---- The generator of the sampler in tensor operations
#
# Every operation is one of IEEE 754 on float64, or exact on whole numbers, in the order of the
# kernels of `dsrs.noise.exact_normals`: on CPU tensors both agree to the last bit, which tests
# hold. On other devices nothing is fused as long as each operation is a kernel of its own, as in
# eager mode.

WORD = 0xFFFFFFFF
SPLITTER = 2.0**27 + 1
# Values that are in work at once: some dozen tensors of this size exist together.
VALUES_AT_ONCE = 2**22


def noisy_batch(torch: ModuleType, block: NoiseBlock, cells: Any) -> tuple[Any, Any]:
    """The noisy copies as a float32 tensor (count, d), and their noise norms.

    Both are where the tensor `cells` is: the cells of the block.
    """
    d, place = block.cells.size, cells.device
    rows = max(1, VALUES_AT_ONCE // d)
    key = [int(word) for word in block.key]
    parts, lengths = [], []
    for start in range(0, block.count, rows):
        count = min(rows, block.count - start)
        samples = torch.arange(block.first + start, block.first + start + count, device=place)
        normals = exact_normals(torch, key, samples, (d + 1) // 2)[:, :d]
        length = _length(torch, normals)
        if block.sigma is not None:
            scale, norms = block.sigma / block.step, block.sigma * length
        else:
            assert block.norms is not None, "a law that is not Gaussian has norms"
            norms = torch.from_numpy(block.norms[start : start + count]).to(place)
            scale = (norms / length / block.step)[:, None]
        steps = cells + torch.floor(normals * scale + 0.5)
        parts.append((block.origin + steps * block.step).to(torch.float32))
        lengths.append(norms)
    return torch.cat(parts), torch.cat(lengths)


def exact_normals(torch: ModuleType, key: Sequence[int], samples: Any, half: int) -> Any:
    """The normals of these samples, `2 half` a row."""
    groups = torch.arange(half, device=samples.device)
    w0, w1, w2, w3 = _philox(groups[None, :], samples[:, None], key)
    radius = _radius(torch, w0, w1)
    cosine, sine = _direction(torch, w2, w3)
    return torch.cat([radius * cosine, radius * sine], dim=1)


def _philox(groups: Any, samples: Any, key: Sequence[int]) -> Any:
    """Four words of 32 bits in int64; products wrap around, which leaves their bits right."""
    k0, k1, c2, c3 = key
    c0 = groups + samples * 0
    c1 = groups * 0 + samples
    c2, c3 = c0 * 0 + c2, c0 * 0 + c3
    for _ in range(PHILOX_ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0 = ((p1 >> 32) & WORD) ^ c1 ^ k0
        c2 = ((p0 >> 32) & WORD) ^ c3 ^ k1
        c1, c3 = p1 & WORD, p0 & WORD
        k0, k1 = (k0 + INCREMENTS[0]) & WORD, (k1 + INCREMENTS[1]) & WORD
    return c0, c1, c2, c3


def _near(torch: ModuleType, high: Any, low: Any) -> Any:
    """Uniform numbers in (-1/2, 1/2) from 64 bits each."""
    return _signed(torch, high) * TO_UNIT_HIGH + (low.double() + 0.5) * TO_UNIT_LOW


def _radius(torch: ModuleType, high: Any, low: Any) -> Any:
    near = _near(torch, high, low)
    u = torch.where(near < 0.0, near + 1.0, near)
    bits = u.view(torch.int64)
    exponent = ((bits >> 32) - SQRT_HALF_BITS) >> 20
    m = (bits - (exponent << 52)).view(torch.float64) - 1.0
    m = torch.where(exponent == 0, near, m)
    s = m / (2.0 + m)
    q = s * s
    log = 2.0 * (s + s * (_series(LOG_TERMS, q) * q)) + exponent.double() * LN2
    return rounded_square_root(torch, -2.0 * log)


def _direction(torch: ModuleType, high: Any, low: Any) -> tuple[Any, Any]:
    quarter = ((high + 0x20000000) & WORD) >> 30
    away = _signed(torch, (high - (quarter << 30)) & WORD)
    t = (away + (low.double() + 0.5) * TO_LOW) * TO_ANGLE
    q = t * t
    sine = t + t * (_series(SINE_TERMS, q) * q)
    cosine = 1.0 - (0.5 * q - q * q * _series(COSINE_TERMS, q))
    odd, turned = (quarter & 1) != 0, (quarter & 2) != 0
    across, along = torch.where(odd, -sine, cosine), torch.where(odd, cosine, sine)
    return torch.where(turned, -across, across), torch.where(turned, -along, along)


def rounded_square_root(torch: ModuleType, x: Any) -> Any:
    """The square root, rounded as IEEE 754 says: PyTorch's own on CPU is off by a bit at times.

    One step of Newton's method from it, with the exact remainder x - y^2 (y is cut into halves
    whose products are exact: Dekker 1971).
    """
    y = torch.sqrt(x)
    big = SPLITTER * y
    high = big - (big - y)
    low = y - high
    square = y * y
    rest = ((high * high - square) + 2.0 * high * low) + low * low
    return y + ((x - square) - rest) / (2.0 * y)


def _series(terms: Sequence[float], q: Any) -> Any:
    """terms[0] + terms[1] q + ..., by Horner's rule from the last term."""
    found = terms[-1] * q + terms[-2]
    for term in reversed(terms[:-2]):
        found = found * q + term
    return found


def _signed(torch: ModuleType, word: Any) -> Any:
    """32 bits as a signed number, in float64."""
    return torch.where(word >= 2**31, word - 2**32, word).double()


def _length(torch: ModuleType, row: Any) -> Any:
    """Norms of the rows, added up by halving as the kernel does."""
    return rounded_square_root(torch, _halved_sum(torch, row * row))


def _halved_sum(torch: ModuleType, row: Any) -> Any:
    """Sums of the rows by halving."""
    d = row.shape[1]
    half = d // 2
    odd = row[:, d - 1] if d % 2 else torch.zeros_like(row[:, 0])
    sums = row[:, :half] + row[:, half : 2 * half]
    while half > 1:
        if half % 2:
            odd = odd + sums[:, half - 1]
        half //= 2
        sums = sums[:, :half] + sums[:, half : 2 * half]
    return sums[:, 0] + odd


# ---- Which way a device makes noise

Way = Literal["fused", "eager", "host"]


@dataclass(frozen=True)
class Stored:
    """How noisy copies are written to memory.

    Args:
        half_precision: rounds them from float32 to bfloat16.
        channels: more than 1 puts the channels of each pixel side by side, although the input
            has one channel after the other.
    """

    half_precision: bool = False
    channels: int = 1


# From a block, its cells on a device and how copies are stored: the noisy copies as a tensor
# (count, d) there, and their noise norms.
Maker = Callable[[NoiseBlock, Any, Stored], tuple[Any, Any]]

CHECKED_ROWS = 16
CHECKED_DIMENSIONS = (21, 784, 3072)


@dataclass(frozen=True)
class DeviceNoise:
    """How noise is made on a device.

    Args:
        way: `fused` or `eager` on the device, or `host`: the sampler makes it beforehand.
        make: makes it; None for `host`.
        notes: why better ways are not used, one sentence each.
    """

    way: Way
    make: Maker | None
    notes: tuple[str, ...] = ()


@functools.cache
def device_noise(place: str) -> DeviceNoise:
    """The best way to make noise on a device that gives the sampler's bits; checked once.

    Args:
        place: the device as PyTorch writes it, such as `cuda:0`.
    """
    import torch

    if place.startswith("mps"):
        return DeviceNoise("host", None, ("MPS has no double precision",))
    makers: dict[Way, Maker] = {"fused": _fused, "eager": _eager}
    notes = []
    if not place.startswith("cuda"):
        del makers["fused"]
    elif importlib.util.find_spec("triton") is None:
        del makers["fused"]
        notes.append("fused noise needs Triton: pip install 'dsrs[gpu]'")
    for way, make in makers.items():
        try:
            flaw = first_difference(make, torch.device(place))
        except Exception as error:  # compilers and drivers fail in ways of their own
            reason = (str(error).splitlines() or [""])[0]
            flaw = f"failed ({type(error).__name__}: {reason})"
        if flaw is None:
            return DeviceNoise(way, make, tuple(notes))
        notes.append(f"{way} noise on {place} {flaw}")
    return DeviceNoise("host", None, tuple(notes))


def _fused(block: NoiseBlock, cells: Any, stored: Stored) -> tuple[Any, Any]:
    import torch

    from dsrs.noise.fused import fused_batch

    kind = torch.bfloat16 if stored.half_precision else torch.float32
    # Triton starts kernels on the current device of the thread.
    with torch.cuda.device(cells.device) if cells.is_cuda else nullcontext():
        return fused_batch(block, cells, kind, stored.channels)


def _eager(block: NoiseBlock, cells: Any, stored: Stored) -> tuple[Any, Any]:
    import torch

    batch, norms = noisy_batch(torch, block, cells)
    return _as_stored(batch, stored), norms


def _as_stored(batch: Any, stored: Stored) -> Any:
    """Convert a float32 tensor (count, d) by tensor operations."""
    import torch

    if stored.half_precision:
        batch = batch.to(torch.bfloat16)
    if stored.channels > 1:
        pixels = batch.reshape(len(batch), stored.channels, -1).transpose(1, 2)
        batch = pixels.reshape(len(batch), -1)
    return batch


def first_difference(make: Maker, place: Any) -> str | None:
    """What differs from the sampler's noise, in some rows under several laws; None if nothing does.

    Args:
        make: what makes noise.
        place: the device.
    """
    import torch

    grid = Grid.of_bounds((0.0, 1.0))
    for d in CHECKED_DIMENSIONS:
        x = (np.arange(d) % 256 / 255).astype(np.float32)
        for law in _checked_laws(d):
            stream = NoiseStream(Stream("device check", law), 1, 0, grid)
            expected, norms = np.empty((CHECKED_ROWS, d), np.float32), np.empty(CHECKED_ROWS)
            stream.add_to(x, 0, expected, norms)
            block = stream.block(x, 0, CHECKED_ROWS)
            cells = torch.from_numpy(block.cells).to(place)
            for stored in (Stored(), Stored(half_precision=True, channels=3 if d % 3 == 0 else 1)):
                batch, lengths = make(block, cells, stored)
                wanted = _as_stored(torch.from_numpy(expected), stored)
                wrong = int((batch.cpu() != wanted).sum())
                wrong += int((lengths.cpu().numpy() != norms).sum())
                if wrong:
                    return f"differs from the processor's in {wrong:,} numbers (d = {d}, {law})"
    return None


def _checked_laws(d: int) -> tuple[NoiseLaw, ...]:
    gaussian, general = GeneralizedGaussian(d, 0.5), GeneralizedGaussian(d, 0.5, d / 2 - 4)
    return gaussian, Rescaled(gaussian, 0.4), general, Truncated(general, 0.7)

"""How noise is made on a device: by fused kernels, by eager operations, or not there at all.

A device is trusted with noise only after what it made was compared with the sampler's, bit for bit.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dsrs.laws import GeneralizedGaussian, Grid, Rescaled, Truncated
from dsrs.noise.normals import NoiseBlock
from dsrs.noise.stream import NoiseLaw, NoiseStream, Stream

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

    from dsrs.noise.tensors import noisy_batch

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

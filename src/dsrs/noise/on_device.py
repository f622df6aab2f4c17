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

from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.laws.grid import Grid
from dsrs.laws.round_in_norm import L1Law, LinfLaw
from dsrs.noise.normals import NoiseBlock
from dsrs.noise.stream import NoiseLaw, NoiseStream, Stream

Way = Literal["fused", "eager", "host"]
# From a block and its cells on a device: the noisy copies as a float32 tensor (count, d) there, and
# their noise norms.
Maker = Callable[[NoiseBlock, Any], tuple[Any, Any]]

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


def _fused(block: NoiseBlock, cells: Any) -> tuple[Any, Any]:
    if block.norm != "l2":
        return _eager(block, cells)
    import torch

    from dsrs.noise.fused import fused_batch

    # Triton starts kernels on the current device of the thread.
    with torch.cuda.device(cells.device) if cells.is_cuda else nullcontext():
        return fused_batch(block, cells, torch.float32)


def _eager(block: NoiseBlock, cells: Any) -> tuple[Any, Any]:
    import torch

    from dsrs.noise.tensors import noisy_batch

    return noisy_batch(torch, block, cells)


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
            batch, lengths = make(block, torch.from_numpy(block.cells).to(place))
            wrong = int((batch.cpu().numpy() != expected).sum())
            wrong += int((lengths.cpu().numpy() != norms).sum())
            if wrong:
                return f"differs from the processor's in {wrong:,} numbers (d = {d}, {law})"
    return None


def _checked_laws(d: int) -> tuple[NoiseLaw, ...]:
    gaussian, general = GeneralizedGaussian(d, 0.5), GeneralizedGaussian(d, 0.5, d / 2 - 4)
    other_norms = L1Law(d, 0.5), LinfLaw(d, 0.5)
    return gaussian, Rescaled(gaussian, 0.4), general, Truncated(general, 0.7), *other_norms

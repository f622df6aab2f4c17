"""The noise generator, in NumPy, Numba and tensors: one noise, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.noise.normals import NORMAL_UNITS as NORMAL_UNITS
    from dsrs.noise.normals import NoiseBlock as NoiseBlock
    from dsrs.noise.on_device import Stored as Stored
    from dsrs.noise.on_device import device_noise as device_noise
    from dsrs.noise.on_device import noisy_batch as noisy_batch
    from dsrs.noise.on_device import rounded_square_root as rounded_square_root
    from dsrs.noise.stream import NOISE_BLOCK as NOISE_BLOCK
    from dsrs.noise.stream import NoiseLaw as NoiseLaw
    from dsrs.noise.stream import NoiseStream as NoiseStream
    from dsrs.noise.stream import Stream as Stream
    from dsrs.noise.stream import check_seed as check_seed
    from dsrs.noise.stream import fresh_seed as fresh_seed
    from dsrs.noise.stream import philox_key as philox_key
    from dsrs.noise.stream import radial_edges as radial_edges
    from dsrs.noise.stream import seed_words as seed_words
else:
    __all__, __getattr__, __dir__ = exports(__name__)

"""The noise generator, in NumPy, Numba and tensors: one noise, bit for bit."""

from dsrs.noise.normals import NORMAL_UNITS, NoiseBlock
from dsrs.noise.on_device import Stored, device_noise, noisy_batch, rounded_square_root
from dsrs.noise.stream import (
    NOISE_BLOCK,
    NoiseLaw,
    NoiseStream,
    Stream,
    check_seed,
    fresh_seed,
    philox_key,
    radial_edges,
    seed_words,
)

__all__ = [
    "NOISE_BLOCK",
    "NORMAL_UNITS",
    "NoiseBlock",
    "NoiseLaw",
    "NoiseStream",
    "Stored",
    "Stream",
    "check_seed",
    "device_noise",
    "fresh_seed",
    "noisy_batch",
    "philox_key",
    "radial_edges",
    "rounded_square_root",
    "seed_words",
]

"""The noise of one stream of one input, addressed by sample number; and the seeds, its keys."""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.laws import HISTOGRAM_BINS, AdditionalLaw, GeneralizedGaussian, Grid, Rescaled, shown
from dsrs.noise.normals import NORMAL_UNITS, NoiseBlock

# ---- Seeds: the key of all noise of an answer or a run

# Seeds of more bits would share words with the number of an input.
SEED_BITS = 128


def fresh_seed() -> int:
    """A seed that the operating system draws now, and that nobody can have known before."""
    return secrets.randbits(SEED_BITS)


def check_seed(seed: object) -> None:
    """Raise InvalidInput unless `seed` is a whole number from 0 to 2^128 - 1."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**SEED_BITS:
        raise InvalidInput(f"`seed` must be a whole number from 0 to 2^128 - 1, got {shown(seed)}")


# ---- Streams of noise

# Norms of a non-Gaussian law are drawn in blocks of this many samples, one generator a block.
NOISE_BLOCK = 256


NoiseLaw = GeneralizedGaussian | AdditionalLaw
Norms = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stream:
    """The name of a stream of votes on one input. It is part of the key of the stream's noise.

    Args:
        purpose: what the votes are for, such as `selection` or `estimation`.
        law: the law of their noise: the smoothing law P itself, or an additional law Q.
    """

    purpose: str
    law: NoiseLaw

    @property
    def base(self) -> GeneralizedGaussian:
        """The smoothing law P."""
        return self.law if isinstance(self.law, GeneralizedGaussian) else self.law.base

    @property
    def additional(self) -> AdditionalLaw | None:
        """The additional law Q; None where the noise is that of P."""
        return None if isinstance(self.law, GeneralizedGaussian) else self.law

    @property
    def key(self) -> str:
        """What tells this stream from every other one of the same input and seed."""
        return _stream_key(self)

    def __str__(self) -> str:
        """For messages: `estimation votes under P`."""
        law = "P" if self.additional is None else self.additional.text
        return f"{self.purpose} votes under {law}"


@functools.lru_cache(maxsize=256)
def _stream_key(stream: Stream) -> str:
    facts: dict[str, Any] = {"purpose": stream.purpose, "p": stream.base.to_dict()}
    if stream.additional is not None:
        facts["q"] = stream.additional.to_dict()
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class NoiseStream:
    """Noisy copies of an input: sample number i is a function of (seed, index, stream, i).

    Gaussian noise is sigma times normals. Every other law is a direction times a norm drawn by
    the law itself; directions are uniform. With a grid, input and noise are rounded to it and added
    as whole numbers; without one they are added in float32. An input must not be changed between
    two calls with the same array.
    """

    def __init__(self, stream: Stream, seed: int, index: int, grid: Grid | None = None) -> None:
        self._law = stream.law
        self._grid = grid
        self._sigma = _gaussian_sigma(stream.law)
        self._entropy = seed_words(seed, index, stream.key)
        self._key = philox_key(self._entropy)
        self._cells: tuple[NDArray[np.float32], NDArray[np.float64]] | None = None

    def add_to(
        self,
        x: NDArray[np.float32],
        first: int,
        out: NDArray[np.float32],
        norms: Norms,
    ) -> None:
        """out[i] = x + noise of sample `first + i`, norms[i] its norm, for flat `x`."""
        if self._sigma is None:
            norms[:] = self._norms(first, len(out))
        if self._grid is None:
            self._add_floats(x, first, out, norms)
        else:
            self._add_on_grid(self._grid, x, first, out, norms)

    def _add_floats(
        self, x: NDArray[np.float32], first: int, out: NDArray[np.float32], norms: Norms
    ) -> None:
        from dsrs.noise.philox import add_directions, add_gaussian

        if self._sigma is None:
            add_directions(self._key, first, x, norms, out)
        else:
            add_gaussian(self._key, first, x, self._sigma, out, norms)

    def _add_on_grid(
        self, grid: Grid, x: NDArray[np.float32], first: int, out: NDArray[np.float32], norms: Norms
    ) -> None:
        cells, (directions, gaussian) = self._cells_of(grid, x), _grid_kernels()
        if self._sigma is None:
            directions(self._key, first, cells, norms, grid.origin, grid.step, out)
        else:
            gaussian(self._key, first, cells, self._sigma, grid.origin, grid.step, out, norms)

    def block(self, x: NDArray[np.float32], first: int, count: int) -> NoiseBlock:
        """What names `count` noisy copies from sample `first` on, for a model that makes them."""
        if self._grid is None:
            raise InvalidInput("noise is made by others on a grid only")
        norms = self._norms(first, count) if self._sigma is None else None
        grid = self._grid
        cells = self._cells_of(grid, x)
        return NoiseBlock(
            self._key, first, count, cells, grid.origin, grid.step, self._sigma, norms
        )

    def _cells_of(self, grid: Grid, x: NDArray[np.float32]) -> NDArray[np.float64]:
        # A stream is asked for many blocks of one array.
        if self._cells is None or self._cells[0] is not x:
            self._cells = x, grid.cells(x)
        return self._cells[1]

    def add_normals(self, samples: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Add the normals z of these samples to `sums`, in units of 1 / NORMAL_UNITS."""
        from dsrs.noise.exact_normals import add_normals

        if self._sigma is None or self._grid is None:
            raise InvalidInput("the sum of the noise is kept for Gaussian noise on a grid")
        add_normals(self._key, samples, NORMAL_UNITS, sums)

    def _norms(self, first: int, count: int) -> Norms:
        """The noise norms of `count` samples from `first` on, of a law that draws them itself."""
        numbers = range(first // NOISE_BLOCK, -(-(first + count) // NOISE_BLOCK))
        blocks = []
        for number in numbers:
            words = np.append(self._entropy, np.array(_words(number), dtype=np.uint32))
            generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(words)))
            blocks.append(self._law.sample_norms(NOISE_BLOCK, generator))
        return np.concatenate(blocks)[first % NOISE_BLOCK :][:count]


# Only who takes votes needs Numba, whose import takes a third of a second.
@functools.cache
def _grid_kernels() -> tuple[Callable[..., None], Callable[..., None]]:
    from dsrs.noise.exact_normals import directions_on_grid, gaussian_on_grid

    return directions_on_grid, gaussian_on_grid


@functools.lru_cache(maxsize=64)
def radial_edges(law: GeneralizedGaussian) -> NDArray[np.float64]:
    """The noise norms between the equal-mass radial bins of P; not to be changed."""
    return law.radial_quantile(np.arange(1, HISTOGRAM_BINS) / HISTOGRAM_BINS)


def seed_words(seed: int, index: int, stream: str) -> NDArray[np.uint32]:
    """The words that `SeedSequence(seed, spawn_key=(index, *stream.encode()))` is made of.

    NumPy takes a tenth of a millisecond to put them together, which would be much for every block.
    """
    first = _words(seed)
    first += [0] * (4 - len(first))  # as many words as its pool has
    return np.array([*first, *_words(index), *stream.encode()], dtype=np.uint32)


def _words(number: int) -> list[int]:
    """A number >= 0 in words of 32 bits, the lowest first."""
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return words


def philox_key(entropy: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.random.SeedSequence(entropy).generate_state(4).astype(np.uint32)


def _gaussian_sigma(law: NoiseLaw) -> float | None:
    if isinstance(law, Rescaled):
        law = law.law
    return law.sigma if isinstance(law, GeneralizedGaussian) and law.is_gaussian else None

"""Noise on a grid: the right law, errors as small as they are charged, whole numbers added."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from dsrs.grid import NORMAL_ERROR, UNIT, Grid
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.sampling.grid_noise import exact_normals
from dsrs.sampling.noise import NOISE_BLOCK, NoiseLaw, NoiseStream

D = 20
GAUSSIAN = GeneralizedGaussian(D, 0.5)
GENERAL = GeneralizedGaussian(D, 0.5, 6)
LAWS = [
    GAUSSIAN,
    GENERAL,
    Truncated(GENERAL, 0.6),
    Rescaled(GAUSSIAN, 0.4),
    Weighted(GENERAL, (1.0, 4.0), (0.0, -1.0), inner=0.0),
]
GRID = Grid(1 / 4080)


def draw(law: NoiseLaw, first: int, count: int, grid: Grid = GRID) -> tuple[np.ndarray, np.ndarray]:
    out, norms = np.empty((count, D), np.float32), np.empty(count)
    x = grid.values(np.arange(D) * 16.0)
    NoiseStream(law, 1, 2, "estimation", grid).add_to(x, first, out, norms)
    return out, norms


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_noise_on_the_grid_follows_its_law(law: NoiseLaw) -> None:
    out, norms = draw(law, 0, 20 * NOISE_BLOCK)
    noise = out.astype(np.float64) - np.arange(D) * 16 / 4080
    # Rounding moves a vector by half a cell's diagonal at most.
    assert np.abs(np.linalg.norm(noise, axis=1) - norms).max() < 0.51 * np.sqrt(D) / 4080
    assert stats.kstest(norms, law.radial_cdf).pvalue > 1e-3
    angles = noise / norms[:, None]
    assert np.abs(angles.mean(axis=0)).max() < 5 / np.sqrt(D * len(out))
    assert abs((angles[:, 0] ** 2).mean() * D - 1) < 0.1


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_every_sample_is_a_grid_point(law: NoiseLaw) -> None:
    out, _ = draw(law, 0, NOISE_BLOCK)
    np.testing.assert_array_equal(GRID.values(GRID.cells(out)), out)


def test_an_input_one_step_away_sees_the_same_noise_one_step_away() -> None:
    out, moved = np.empty((64, D), np.float32), np.empty((64, D), np.float32)
    stream, norms = NoiseStream(GENERAL, 1, 2, "estimation", GRID), np.empty(64)
    cells = np.arange(D) * 16.0
    stream.add_to(GRID.values(cells), 0, out, norms)
    stream.add_to(GRID.values(cells + 7), 0, moved, norms)
    np.testing.assert_array_equal(GRID.cells(moved), GRID.cells(out) + 7)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_samples_can_be_asked_for_in_any_pieces(law: NoiseLaw) -> None:
    whole, norms = draw(law, 0, 2 * NOISE_BLOCK)
    part, lengths = draw(law, NOISE_BLOCK, 100)
    np.testing.assert_array_equal(part, whole[NOISE_BLOCK : NOISE_BLOCK + 100])
    np.testing.assert_array_equal(lengths, norms[NOISE_BLOCK : NOISE_BLOCK + 100])


def test_normals_are_as_exact_as_is_charged() -> None:
    """The radius and the angle of the same random bits, with 40 digits."""
    half, worst = 100, 0.0
    words, row = np.empty(4 * half, np.uint32), np.empty(2 * half)
    with mp.workdps(40):
        for sample in range(5):
            exact_normals(np.arange(4, dtype=np.uint32), sample, half, words, row)
            for j in range(half):
                first, second, third, fourth = (int(words[j + n * half]) for n in range(4))
                u = (mp.mpf(first * 2**32 + second) + 0.5) / 2**64
                angle = 2 * mp.pi * (mp.mpf(third * 2**32 + fourth) + 0.5) / 2**64
                radius = mp.sqrt(-2 * mp.log(u))
                for found, exact in (
                    (row[j], radius * mp.cos(angle)),
                    (row[half + j], radius * mp.sin(angle)),
                ):
                    worst = max(worst, float(abs(mp.mpf(float(found)) - exact) / abs(exact)))
    # Half of the charge is left for the scale, the product and the sum before rounding.
    assert worst < 0.5 * NORMAL_ERROR * UNIT


def test_normals_at_the_ends_of_their_words() -> None:
    """u next to 0, next to 1 and around 1/2 and sqrt(1/2), where the formula changes."""
    from numba import njit

    from dsrs.sampling import grid_noise

    radius = njit(lambda high, low: grid_noise._radius(high, low))
    edge = round(2**63.5)
    with mp.workdps(40):
        for word in (0, 1, 2**63 - 1, 2**63, edge - 2**20, edge + 2**20, 2**64 - 2, 2**64 - 1):
            exact = mp.sqrt(-2 * mp.log((mp.mpf(word) + 0.5) / 2**64))
            found = radius(np.uint32(word >> 32), np.uint32(word & (2**32 - 1)))
            assert float(abs(mp.mpf(float(found)) - exact) / exact) < 4 * UNIT, word

"""Noise on a grid: the right law, errors as small as they are charged, whole numbers added."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from dsrs.laws import NORMAL_ERROR, UNIT, GeneralizedGaussian, Grid, Rescaled, Truncated, Weighted
from dsrs.noise import NOISE_BLOCK, NoiseLaw, NoiseStream, Stream
from dsrs.noise.exact_normals import NORMALS_PER_BLOCK, box_muller, exact_normals, workspace

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
    x = grid.values(16 * np.arange(D, dtype=np.float64))
    NoiseStream(Stream("estimation", law), 1, 2, grid).add_to(x, first, out, norms)
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
    stream, norms = NoiseStream(Stream("estimation", GENERAL), 1, 2, GRID), np.empty(64)
    cells = 16 * np.arange(D, dtype=np.float64)
    stream.add_to(GRID.values(cells), 0, out, norms)
    stream.add_to(GRID.values(cells + 7), 0, moved, norms)
    np.testing.assert_array_equal(GRID.cells(moved), GRID.cells(out) + 7)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_samples_can_be_asked_for_in_any_pieces(law: NoiseLaw) -> None:
    whole, norms = draw(law, 0, 2 * NOISE_BLOCK)
    part, lengths = draw(law, NOISE_BLOCK, 100)
    np.testing.assert_array_equal(part, whole[NOISE_BLOCK : NOISE_BLOCK + 100])
    np.testing.assert_array_equal(lengths, norms[NOISE_BLOCK : NOISE_BLOCK + 100])


def box_muller_of(words: np.ndarray) -> np.ndarray:
    """The normals of groups of four words, of shape (groups, 4): shape (2, groups)."""
    n = len(words)
    scratch, row = np.empty(n, np.uint64), np.empty(2 * n)
    columns = tuple(np.ascontiguousarray(words[:, i]) for i in range(4))
    box_muller(n, columns, scratch, 0, n, row)
    return row.reshape(2, n)


def exact_of(words: np.ndarray) -> tuple[mp.mpf, mp.mpf]:
    first, second, third, fourth = (int(word) for word in words)
    radius = mp.sqrt(-2 * mp.log((mp.mpf(first * 2**32 + second) + 0.5) / 2**64))
    angle = 2 * mp.pi * (mp.mpf(third * 2**32 + fourth) + 0.5) / 2**64
    return radius * mp.cos(angle), radius * mp.sin(angle)


def test_normals_are_as_exact_as_is_charged() -> None:
    """The radius and the angle of the same random bits, with 40 digits."""
    words = np.random.default_rng(0).integers(0, 2**32, (500, 4), dtype=np.uint64)
    found, worst = box_muller_of(words), 0.0
    with mp.workdps(40):
        for group, made in zip(words, found.T, strict=True):
            for exact, value in zip(exact_of(group), made, strict=True):
                worst = max(worst, float(abs(mp.mpf(float(value)) - exact) / abs(exact)))
    # Half of the charge is left for the scale, the product and the sum before rounding.
    assert worst < 0.5 * NORMAL_ERROR * UNIT


def test_normals_at_the_ends_of_their_words() -> None:
    """u next to 0, next to 1 and around 1/2 and sqrt(1/2), where the formula changes; all turns."""
    edge = round(2**63.5)
    radii = (0, 1, 2**63 - 1, 2**63, edge - 2**20, edge + 2**20, 2**64 - 2, 2**64 - 1)
    turns = [eighth * 2**61 + off for eighth in range(8) for off in (-1, 0)]
    pairs = [(radius, turn % 2**64) for radius in radii for turn in turns]
    words = np.array(
        [(r >> 32, r & (2**32 - 1), t >> 32, t & (2**32 - 1)) for r, t in pairs], dtype=np.uint64
    )
    with mp.workdps(40):
        for group, made in zip(words, box_muller_of(words).T, strict=True):
            exact = exact_of(group)
            size = mp.sqrt(exact[0] ** 2 + exact[1] ** 2)
            for value, of in zip(made, exact, strict=True):
                # Beside an axis a coordinate is as small as the angle's last bits.
                assert abs(mp.mpf(float(value)) - of) < 8 * UNIT * min(size, abs(of) + 2**-40)


@pytest.mark.parametrize(
    "half", [1, 3, NORMALS_PER_BLOCK - 1, NORMALS_PER_BLOCK, NORMALS_PER_BLOCK + 5]
)
def test_normals_come_from_the_words_of_philox(half: int) -> None:
    """Ten rounds in three stages, in blocks, with the first ones shared by all samples."""
    key = np.array([1, 2**32 - 5, 77, 2**31 + 3], dtype=np.uint32)
    space, row = workspace(key, half), np.empty(2 * half)
    for sample in (0, 12345, 2**32 - 1):
        words = [reference_philox((g, sample, 77, 2**31 + 3), (1, 2**32 - 5)) for g in range(half)]
        exact_normals(key, space, sample, half, row)
        expected = box_muller_of(np.array(words, dtype=np.uint64))
        np.testing.assert_array_equal(row.reshape(2, half), expected)


def reference_philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox4x32-10 as Salmon et al. (2011) write it, on whole numbers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (p1 >> 32) ^ c1 ^ k0,
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c3 ^ k1,
            p0 & 0xFFFFFFFF,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3

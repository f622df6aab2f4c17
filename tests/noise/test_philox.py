"""The normals: Philox against its published vectors, then every property votes rely on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats

from dsrs.noise.philox import add_directions, add_gaussian, normal_row, philox
from noise.keys import stream_key


def normals(
    count: int, d: int, stream: str = "p1", index: int = 0, first: int = 0
) -> NDArray[np.float32]:
    out = np.empty((count, d), dtype=np.float32)
    origin = np.zeros(d, dtype=np.float32)
    add_gaussian(stream_key(7, index, stream), first, origin, 1.0, out, np.empty(count))
    return out


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        # Known-answer tests of the Random123 library, philox4x32 with 10 rounds.
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_its_published_words(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    one_call = njit(lambda c, k: philox(c[0], c[1], c[2], c[3], k[0], k[1]))
    words = one_call(np.array(counter, np.uint32), np.array(key, np.uint32))
    assert words == expected


def test_box_muller_agrees_with_double_precision() -> None:
    key = stream_key(3, 1, "p2")
    groups = 500
    row, words = np.empty(4 * groups, np.float32), np.empty(4 * groups, np.uint32)
    normal_row(key, 5, groups, words, row)
    u = (words[: 2 * groups] + 0.5) / 2**32
    angle = 2 * np.pi * words[2 * groups :] / 2**32
    radius = np.sqrt(-2 * np.log(u))
    exact = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    # float32 has 6e-8 of relative precision; u close to 1 is the worst case for the logarithm.
    np.testing.assert_allclose(row, exact, atol=2e-6)


def test_moments_are_those_of_a_normal() -> None:
    sample = normals(4000, 1000).astype(np.float64).ravel()
    n = sample.size
    # Standard errors of the k-th moment: sqrt(Var(z^k) / n).
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs(np.mean(sample**power) - mean) < 4.5 * math.sqrt(variance / n), power


def test_kolmogorov_smirnov() -> None:
    sample = normals(1000, 1000, stream="selection").ravel()
    assert stats.kstest(sample, "norm").pvalue > 1e-3


@pytest.mark.parametrize("sigmas", [2.0, 3.0, 4.0, 4.5, 5.0])
def test_tails_have_their_mass(sigmas: float) -> None:
    hits, total = 0, 0
    for first in range(0, 20_000, 2000):
        part = np.abs(normals(2000, 1000, stream="q:rescaled", first=first))
        hits += int((part > sigmas).sum())
        total += part.size
    test = stats.binomtest(hits, total, 2 * float(stats.norm.sf(sigmas)))
    assert test.pvalue > 1e-3, (hits, total)


def test_coordinates_are_uncorrelated() -> None:
    sample = normals(20_000, 30).astype(np.float64)
    correlation = np.asarray(np.corrcoef(sample, rowvar=False))
    squares = np.asarray(np.corrcoef(sample**2, rowvar=False))
    off = ~np.eye(30, dtype=bool)
    # 435 pairs of standard error 1/sqrt(20000); 4.5 of them happen once in 1,000 seeds.
    assert np.abs(correlation[off]).max() < 4.5 / math.sqrt(20_000)
    # Box-Muller pairs share their radius: a wrong angle would show in the squares.
    assert np.abs(squares[off]).max() < 6 / math.sqrt(20_000)


@pytest.mark.parametrize(
    "other",
    [{"first": 256}, {"first": 1}, {"stream": "p2"}, {"index": 1}, {"index": 2**40}],
    ids=str,
)
def test_blocks_and_keys_are_independent(other: dict[str, int | str]) -> None:
    one = normals(256, 784).astype(np.float64).ravel()
    two = normals(256, 784, **other).astype(np.float64).ravel()  # type: ignore[arg-type]
    for left, right in ((one, two), (one**2 - 1, two**2 - 1)):
        score = np.mean(left * right) / math.sqrt(np.mean(left**2) * np.mean(right**2) / one.size)
        assert abs(score) < 4.5


def test_a_sample_does_not_depend_on_its_neighbours() -> None:
    whole = normals(300, 37)
    np.testing.assert_array_equal(normals(100, 37, first=200), whole[200:])


@pytest.mark.parametrize("d", [2, 3, 5, 8, 784])
def test_directions_have_their_norm_and_no_preference(d: int) -> None:
    count = 4000
    x = np.full(d, 0.25, dtype=np.float32)
    norms = np.linspace(0.5, 3.0, count)
    out = np.empty((count, d), dtype=np.float32)
    add_directions(stream_key(0, 0, "p1"), 0, x, norms, out)
    noise = out.astype(np.float64) - 0.25
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), norms, rtol=3e-6)
    first = (1 + noise[:, 0] / norms) / 2
    # (1 + c)/2 follows Beta((d-1)/2, (d-1)/2) for a uniform direction (docs/math.md 3).
    assert stats.kstest(first, stats.beta((d - 1) / 2, (d - 1) / 2).cdf).pvalue > 1e-3


def test_gaussian_norms_are_reported() -> None:
    out, norms = np.empty((64, 50), np.float32), np.empty(64)
    x = np.zeros(50, np.float32)
    add_gaussian(stream_key(0, 0, "p1"), 0, x, 0.25, out, norms)
    np.testing.assert_allclose(np.linalg.norm(out.astype(np.float64), axis=1), norms, rtol=1e-6)

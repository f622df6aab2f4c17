"""Noise streams: the right law, whatever the order in which samples are asked for."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Grid, Rescaled, Truncated, Weighted
from dsrs.noise import NOISE_BLOCK, NoiseLaw, NoiseStream, Stream, radial_edges
from noise.keys import stream_key

GAUSSIAN = GeneralizedGaussian(20, 0.5)
GENERAL = GeneralizedGaussian(20, 0.5, 6)
LAWS = [
    GAUSSIAN,
    GENERAL,
    Truncated(GAUSSIAN, 0.6),
    Truncated(GENERAL, 0.6),
    Rescaled(GAUSSIAN, 0.4),
    Rescaled(GENERAL, 0.4),
]


def draw(law: NoiseLaw, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    out, norms = np.empty((count, 20), np.float32), np.empty(count)
    stream = NoiseStream(Stream("estimation", law), seed=1, index=2)
    stream.add_to(np.zeros(20, np.float32), first, out, norms)
    return out, norms


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_norms_follow_the_law(law: NoiseLaw) -> None:
    out, norms = draw(law, 0, 20 * NOISE_BLOCK)
    np.testing.assert_allclose(np.linalg.norm(out.astype(np.float64), axis=1), norms, rtol=2e-6)
    assert stats.kstest(norms, law.radial_cdf).pvalue > 1e-3


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_samples_can_be_asked_for_in_any_pieces(law: NoiseLaw) -> None:
    whole, norms = draw(law, 0, 4 * NOISE_BLOCK)
    for first, count in ((3 * NOISE_BLOCK, NOISE_BLOCK), (NOISE_BLOCK, 300), (0, 16)):
        part, lengths = draw(law, first, count)
        np.testing.assert_array_equal(part, whole[first : first + count])
        np.testing.assert_array_equal(lengths, norms[first : first + count])


def test_radial_bins_hold_equal_mass_of_p() -> None:
    edges = radial_edges(GENERAL)
    assert len(edges) == HISTOGRAM_BINS - 1
    masses = np.diff(GENERAL.radial_cdf(np.concatenate([[0], edges, [100]])))
    np.testing.assert_allclose(masses, 1 / HISTOGRAM_BINS, rtol=1e-9)


@pytest.mark.parametrize(("seed", "index"), [(0, 0), (3, 2**40 + 1), (2**70 + 5, 7), (2**130, 0)])
def test_seeds_are_those_of_numpys_spawn_keys(seed: int, index: int) -> None:
    def seeds(*block: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(seed, spawn_key=(index, *name.encode(), *block))

    name = Stream("estimation", GENERAL).key
    np.testing.assert_array_equal(stream_key(seed, index, name), seeds().generate_state(4))
    out, norms = np.empty((4, 20), np.float32), np.empty(4)
    for block in (0, 5, 2**24 - 1):
        stream = NoiseStream(Stream("estimation", GENERAL), seed, index)
        stream.add_to(np.zeros(20, np.float32), block * NOISE_BLOCK, out, norms)
        generator = np.random.Generator(np.random.Philox(seeds(block)))
        np.testing.assert_array_equal(norms, GENERAL.sample_norms(NOISE_BLOCK, generator)[:4])


# Recorded before streams had names of their own: what a run of one classifier has always had.
RECORDED_KEYS = [
    (GAUSSIAN, "estimation", (0x735F15DE, 0xE8D126B8, 0xD4F2AB7A, 0xB8065724)),
    (GENERAL, "selection", (0x3F821DAA, 0x18E67097, 0xAC29E219, 0x44521956)),
    (Truncated(GENERAL, 0.6), "estimation", (0x3D76F3D9, 0xFFA034AE, 0xB276314C, 0x3FC65313)),
    (Rescaled(GENERAL, 0.4), "estimation", (0xDED6DCF3, 0x1DF07A93, 0x54C14FD9, 0xAFB8563B)),
    (
        Weighted(GENERAL, (5.0, 9.0), (0.0, 1.0)),
        "attack, votes 3",
        (0xF02BF29F, 0xB16621D4, 0x77E6227B, 0x52C9BA70),
    ),
    (GAUSSIAN, "predict", (0x52B5EE0E, 0x3F667E25, 0x9C27EB9F, 0xCF0FE6AE)),
]
RECORDED_NOISE = "0a5d1edddd99e070b047bacd2f4b0e671c09741a90d21d07915d63594a8f3d35"


@pytest.mark.parametrize(("law", "purpose", "words"), RECORDED_KEYS)
def test_a_stream_keeps_its_key(law: NoiseLaw, purpose: str, words: tuple[int, ...]) -> None:
    assert tuple(stream_key(3, 5, Stream(purpose, law).key)) == words


def test_a_stream_keeps_its_noise_bit_for_bit() -> None:
    out, norms = np.empty((NOISE_BLOCK, 20), np.float32), np.empty(NOISE_BLOCK)
    stream = NoiseStream(Stream("estimation", GAUSSIAN), 3, 5, Grid(1 / 4080))
    stream.add_to(np.full(20, 0.25, np.float32), NOISE_BLOCK, out, norms)
    assert hashlib.sha256(out.tobytes() + norms.tobytes()).hexdigest() == RECORDED_NOISE


def test_a_stream_is_named_for_people() -> None:
    assert str(Stream("estimation", GENERAL)) == "estimation votes under P"
    ball = Stream("selection", Truncated(GENERAL, 0.6))
    assert str(ball) == "selection votes under truncated:0.6"
    assert (ball.base, ball.additional) == (GENERAL, Truncated(GENERAL, 0.6))
    assert Stream("selection", GENERAL).additional is None

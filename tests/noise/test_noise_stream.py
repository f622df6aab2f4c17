"""Noise streams: the right law, whatever the order in which samples are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.noise.stream import (
    NOISE_BLOCK,
    NoiseLaw,
    NoiseStream,
    radial_edges,
    stream_key,
    stream_name,
)

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
    NoiseStream(law, seed=1, index=2, purpose="estimation").add_to(
        np.zeros(20, np.float32), first, out, norms
    )
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

    name = stream_name(GENERAL, "estimation")
    np.testing.assert_array_equal(stream_key(seed, index, name), seeds().generate_state(4))
    out, norms = np.empty((4, 20), np.float32), np.empty(4)
    for block in (0, 5, 2**24 - 1):
        stream = NoiseStream(GENERAL, seed, index, "estimation")
        stream.add_to(np.zeros(20, np.float32), block * NOISE_BLOCK, out, norms)
        generator = np.random.Generator(np.random.Philox(seeds(block)))
        np.testing.assert_array_equal(norms, GENERAL.sample_norms(NOISE_BLOCK, generator)[:4])

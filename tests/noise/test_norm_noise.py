"""Noise that is round in l1 or l-infinity, from the package's own generator."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from dsrs.laws import GeneralizedGaussian, L1Law, LinfLaw, Truncated
from dsrs.laws.grid import Grid
from dsrs.noise.stream import NoiseStream, Stream

D, COUNT = 9, 512
GRID = Grid(1 / 4080)
# Signs of 256 rows of each: they have not changed since this noise was first made.
PINNED = ["7274a9670964", "ce98ae9b6f6b"]
LAWS = [L1Law(D, 0.5, 2.0), LinfLaw(D, 0.5, 2.0)]


def drawn(
    law: GeneralizedGaussian, grid: Grid | None, first: int = 0, count: int = COUNT, d: int = D
) -> tuple[np.ndarray, np.ndarray]:
    out, norms = np.empty((count, d), np.float32), np.empty(count)
    stream = NoiseStream(Stream("estimation", law), 5, 3, grid)
    stream.add_to(np.zeros(d, np.float32), first, out, norms)
    return out, norms


def lengths(law: GeneralizedGaussian, rows: np.ndarray) -> np.ndarray:
    sizes = np.abs(rows.astype(np.float64))
    return np.asarray(sizes.sum(axis=1) if law.measured_in == "l1" else sizes.max(axis=1))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
@pytest.mark.parametrize("grid", [None, GRID], ids=["float32", "grid"])
def test_rows_have_the_norms_of_the_law(law: GeneralizedGaussian, grid: Grid | None) -> None:
    rows, norms = drawn(law, grid)
    slack = 1e-6 if grid is None else (D if law.measured_in == "l1" else 1) * 0.5 * grid.step
    assert np.abs(lengths(law, rows) - norms).max() <= slack + 1e-6
    assert stats.kstest(law.shell(norms), stats.gamma(law.m).cdf).pvalue > 1e-4
    if grid is not None:
        cells = rows / grid.step
        assert np.abs(cells - np.round(cells)).max() < 1e-3


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_directions_follow_the_cone_measure(law: GeneralizedGaussian) -> None:
    """l1: |x_j| / |x| ~ Beta(1, d - 1). l-infinity: uniform but for one coordinate at the end."""
    rows, norms = drawn(law, None, count=4096)
    shares = rows.astype(np.float64) / norms[:, None]
    assert (shares > 0).mean() == pytest.approx(0.5, abs=0.02)
    if law.measured_in == "l1":
        assert stats.kstest(np.abs(shares[:, 4]), stats.beta(1, D - 1).cdf).pvalue > 1e-4
        return
    ends = np.isclose(np.abs(shares), 1, atol=1e-6)
    assert (ends.sum(axis=1) == 1).all()
    assert stats.chisquare(ends.sum(axis=0)).pvalue > 1e-4
    assert stats.kstest(shares[~ends], stats.uniform(-1, 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_a_sample_depends_on_its_number_alone(law: GeneralizedGaussian) -> None:
    whole, norms = drawn(law, GRID)
    part, few = drawn(law, GRID, first=256, count=256)
    assert np.array_equal(whole[256:], part)
    assert np.array_equal(norms[256:], few)
    inside, near = drawn(Truncated(law, 0.5), GRID)  # type: ignore[arg-type]
    assert near.max() <= Truncated(law, 0.5).radius
    assert not np.array_equal(inside, whole)


def test_the_noise_is_the_same_on_every_machine() -> None:
    """Directions are additions, multiplications, divisions and square roots in a fixed order."""
    found = []
    for law in LAWS:
        rows, norms = drawn(law, GRID, count=256)
        steps = np.round(rows * 4080 / norms[:, None]).astype(np.int64)
        found.append(hashlib.sha256(np.sign(steps).tobytes()).hexdigest()[:12])
    assert found == PINNED


@pytest.mark.parametrize("d", [2, 9, 30])
@pytest.mark.parametrize("kind", [L1Law, LinfLaw])
def test_tensors_make_the_same_noise_bit_for_bit(kind: type, d: int) -> None:
    torch = pytest.importorskip("torch")
    from dsrs.noise.tensors import noisy_batch

    law = kind(d, 0.5)
    rows, norms = drawn(law, GRID, first=256, count=256, d=d)
    stream = NoiseStream(Stream("estimation", law), 5, 3, GRID)
    block = stream.block(np.zeros(d, np.float32), 256, 256)
    made, lengths_made = noisy_batch(torch, block, torch.from_numpy(block.cells))
    assert np.array_equal(made.numpy(), rows)
    assert np.array_equal(lengths_made.numpy(), norms)

"""The bound of the gradient covers the truth as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dsrs.confidence.gradient import _log_moment, gradient_bound, mean_deviation
from dsrs.errors import InvalidInput


@pytest.mark.parametrize("q", [0.5, 0.1, 0.003])
@pytest.mark.parametrize("s", [0.01, 0.3, 2.0])
def test_no_event_of_this_rate_has_a_larger_moment(q: float, s: float) -> None:
    """Against the worst event itself, found on a fine grid by sorting."""
    v = stats.norm.ppf((np.arange(2_000_000) + 0.5) / 2_000_000)
    psi = np.expm1(s * v) - s * v
    worst = np.sort(psi)[-int(q * len(v)) :].sum() / len(v)
    # The grid cuts the far tails; the threshold is the best one for small s only.
    assert worst * (1 - 1e-4) <= _log_moment(s, q) <= worst * (1.0005 if s < 0.1 else 1.02)


def test_the_whole_line_has_the_moment_of_a_normal() -> None:
    assert _log_moment(0.5, 1.0) == pytest.approx(math.expm1(0.125), rel=1e-9)


def test_deviations_shrink_with_votes_and_grow_with_misses_and_confidence() -> None:
    assert mean_deviation(10_000, 0.1, 0.01) > mean_deviation(40_000, 0.1, 0.01) * 1.9
    assert mean_deviation(10_000, 0.1, 0.01) > mean_deviation(10_000, 0.05, 0.01)
    assert mean_deviation(10_000, 0.1, 0.001) > mean_deviation(10_000, 0.1, 0.01)
    assert mean_deviation(10_000, 0.0, 0.001) == 0
    for wrong in ((0, 0.1, 0.1), (10, -0.1, 0.1), (10, 0.1, 0.0)):
        with pytest.raises(InvalidInput):
            mean_deviation(*wrong)


def _misses(kind: str, z: np.ndarray, q: float) -> np.ndarray:
    """Where a classifier with miss rate q misses, for noise z of shape (..., d)."""
    if kind == "half space":
        return np.asarray(z[..., 0] > stats.norm.isf(q))
    if kind == "slab":
        return np.asarray(np.abs(z[..., 0]) > stats.norm.isf(q / 2))
    if kind == "lopsided slab":
        right, left = stats.norm.isf(0.8 * q), stats.norm.ppf(0.2 * q)
        return np.asarray((z[..., 0] > right) | (z[..., 0] < left))
    raise ValueError(kind)


def _true_gradient(kind: str, q: float) -> float:
    density = {
        "half space": stats.norm.pdf(stats.norm.isf(q)),
        "slab": 0.0,
        "lopsided slab": stats.norm.pdf(stats.norm.isf(0.8 * q))
        - stats.norm.pdf(stats.norm.isf(0.2 * q)),
    }
    return float(density[kind])


def _coverage(kind: str, q: float, runs: int, alpha: float, votes: int, d: int) -> float:
    """How often the bound falls below the truth."""
    generator, truth, missed = np.random.default_rng(7), _true_gradient(kind, q), 0
    for _ in range(runs):
        z = generator.standard_normal((2, votes, d))
        halves = -(_misses(kind, z, q)[..., None] * z).mean(axis=1)
        bound = gradient_bound(
            float(np.linalg.norm(halves[0])),
            float(halves[0] @ halves[1]),
            (votes, votes),
            q,
            alpha,
        )
        missed += bound < truth
    return missed / runs


@pytest.mark.parametrize("kind", ["half space", "slab", "lopsided slab"])
def test_the_bound_misses_at_most_alpha_often(kind: str) -> None:
    alpha, runs = 0.3, 1000
    missed = _coverage(kind, 0.2, runs, alpha, votes=100, d=3)
    assert missed <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.4, 0.05])
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("kind", ["half space", "slab", "lopsided slab"])
def test_the_bound_misses_at_most_alpha_often_in_20_000_runs(kind: str, q: float, d: int) -> None:
    alpha, runs = 0.3, 20_000
    missed = _coverage(kind, q, runs, alpha, votes=100, d=d)
    assert missed <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def test_the_bound_comes_near_the_truth() -> None:
    """With a million votes a half the bound of a half space is some percent above it."""
    q, votes = 0.1, 1_000_000
    truth = _true_gradient("half space", q)
    bound = gradient_bound(truth, truth * truth, (votes, votes), q, 0.001)
    assert truth < bound < 1.03 * truth


def test_the_deviation_is_no_looser_than_the_worst_variance_asks() -> None:
    """For many votes it is that of a normal whose variance is the worst of all events."""
    q, votes, alpha = 0.1, 10**8, 1e-3
    z = stats.norm.isf(q / 2)
    worst = 2 * integrate.quad(lambda v: v * v * stats.norm.pdf(v), z, np.inf)[0]
    normal = math.sqrt(2 * worst * -math.log(alpha) / votes)
    assert normal < mean_deviation(votes, q, alpha) < 1.01 * normal

"""The randomized bound: exactly alpha, never below the plain one, cut where it would be certain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dsrs.confidence import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    randomized_lower,
    randomized_upper,
)
from dsrs.errors import InvalidInput

UNIFORMS = (np.arange(50) + 0.5) / 50


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
def test_it_is_never_below_the_plain_bound_nor_above_the_upper_one(n: int, alpha: float) -> None:
    for hits in range(n + 1):
        for uniform in (0.0, 1e-9, 0.3, 0.99, 1.0):
            lower = randomized_lower(hits, n, alpha, uniform)
            assert clopper_pearson_lower(hits, n, alpha) <= lower < 1
            upper = randomized_upper(hits, n, alpha, uniform)
            assert 0 < upper <= clopper_pearson_upper(hits, n, alpha)


@pytest.mark.parametrize(("n", "p", "alpha"), [(12, 0.4, 0.1), (20, 0.85, 0.1), (25, 0.5, 0.2)])
def test_it_fails_exactly_alpha_often(n: int, p: float, alpha: float) -> None:
    # Summed over all outcomes and a grid of uniform numbers: off by one step of the grid at most,
    # weighted with the likeliest outcome. The plain bound fails visibly less often.
    lowers = np.array([[randomized_lower(x, n, alpha, u) for u in UNIFORMS] for x in range(n + 1)])
    uppers = np.array([[randomized_upper(x, n, alpha, u) for u in UNIFORMS] for x in range(n + 1)])
    likely = stats.binom.pmf(np.arange(n + 1), n, p)
    step = likely.max() / len(UNIFORMS)
    assert abs(likely @ (lowers > p).mean(axis=1) - alpha) <= step
    assert abs(likely @ (uppers < p).mean(axis=1) - alpha) <= step
    plain = np.array([clopper_pearson_lower(x, n, alpha) for x in range(n + 1)])
    assert likely @ (plain > p) < alpha - step


def test_it_falls_with_the_uniform_number_and_grows_with_the_hits() -> None:
    # Bounds on the most frequent rival bound every rival because of the second.
    table = np.array([[randomized_lower(x, 25, 0.05, u) for u in UNIFORMS] for x in range(26)])
    assert (np.diff(table, axis=1) <= 0).all()
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table[5:20], axis=0) > 0).all()


def test_where_all_votes_hit_it_expects_one_miss_less() -> None:
    # -n ln L averages ln(1/alpha) - 1 + alpha (docs/math.md 11); the cut at one miss changes it by
    # less than e alpha.
    n, alpha = 1000, 0.001
    uniforms = (np.arange(200) + 0.5) / 200
    misses = [-n * math.log(randomized_lower(n, n, alpha, u)) for u in uniforms]
    assert abs(np.mean(misses) - (math.log(1 / alpha) - 1 + alpha)) < math.e * alpha + 0.02
    assert randomized_lower(n, n, alpha, 0.0) <= 1 - 1 / n


def test_without_a_number_between_0_and_1_it_is_refused() -> None:
    for uniform in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidInput, match=r"must be in \[0, 1\]"):
            randomized_lower(3, 5, 0.1, uniform)


@pytest.mark.parametrize("runs", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_drawn_votes_and_numbers_miss_alpha_often(runs: int) -> None:
    n, p, alpha = 50, 0.9, 0.2
    generator = np.random.default_rng(3)
    hits, uniforms = generator.binomial(n, p, runs), generator.random(runs)
    missed = sum(
        randomized_lower(int(x), n, alpha, float(u)) > p
        for x, u in zip(hits, uniforms, strict=True)
    )
    # Five standard deviations either way.
    assert abs(missed - runs * alpha) < 5 * math.sqrt(runs * alpha * (1 - alpha))

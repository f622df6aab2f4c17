"""The fitted curve: close to known truths, honest about what votes leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

from dsrs.confidence import clopper_pearson
from dsrs.errors import InvalidInput
from dsrs.landscape import Profile, fitted, profile_of_bins
from dsrs.laws import GeneralizedGaussian
from landscape.known_profiles import Accuracy, half_space, rising

D = 784


def profile_of_votes(norms: NDArray[Any], right: NDArray[Any]) -> Profile:
    """The curve through single votes: their noise norms, and whether each was right."""
    return fitted(np.log(norms), right.astype(np.float64), np.ones(len(norms)))


def drawn(accuracy: Accuracy, votes: int = 4000, seed: int = 0) -> Profile:
    norms = np.geomspace(5.0, 100.0, votes)
    right = np.random.default_rng(seed).random(votes) < accuracy(norms)
    return profile_of_votes(norms, right)


@pytest.mark.parametrize("seed", range(3))
def test_a_half_space_is_found(seed: int) -> None:
    truth = half_space(D, 1.5)
    norms = np.geomspace(12, 90, 30)
    # About 4000 votes over ln 20 = 3 units: a window of 0.3 holds 400, whose standard error is
    # 0.025 at most; three of these, where smoothing did not halve it.
    assert np.max(np.abs(drawn(truth, seed=seed)(norms) - truth(norms))) < 0.05


def test_accuracy_may_rise_with_the_norm() -> None:
    truth = rising(28.0)
    profile = drawn(truth)
    assert profile(40.0) > profile(10.0) + 0.3
    norms = np.geomspace(6, 80, 20)
    assert np.max(np.abs(profile(norms) - truth(norms))) < 0.06


def test_the_posterior_holds_the_truth() -> None:
    """The spread of the possible curves is that of the errors, within a factor of two."""
    truth, norms = half_space(D, 1.5), np.array([20.0, 30.0, 45.0, 70.0])
    errors, spreads = [], []
    for seed in range(20):
        profile = drawn(truth, 1000, seed)
        errors.append(profile.scores_at(norms) - special.ndtri(truth(norms)))
        others = profile.possible_scores_at(norms) - profile.scores_at(norms)
        spreads.append(np.sqrt(profile.odds @ others**2))
    ratio = np.sqrt(np.mean(np.square(errors))) / np.sqrt(np.mean(np.square(spreads)))
    assert 0.5 < ratio < 2


@pytest.mark.parametrize("n", [30, 5000])
def test_votes_that_agree_leave_little_doubt(n: int) -> None:
    sure = profile_of_votes(np.geomspace(5.0, 50.0, n), np.ones(n))
    misses = special.ndtr(-sure.possible_scores_at(20.0))
    # The rule of three: with n hits a miss rate of 3/n is unlikely. The mean is below it, not 0.
    assert 0 < float(sure.odds @ misses.ravel()) < 3 / n
    never = profile_of_votes(np.geomspace(5.0, 50.0, n), np.zeros(n))
    assert never(20.0) == pytest.approx(1 - sure(20.0), abs=1e-6)


def test_bins_and_single_votes_give_the_same_curve() -> None:
    generator = np.random.default_rng(1)
    norms = np.exp(generator.uniform(np.log(10), np.log(60), 20_000))
    right = generator.random(20_000) < half_space(D, 1.0)(norms)
    edges = np.geomspace(10, 60, 65)
    place = np.clip(np.searchsorted(edges, norms) - 1, 0, 63)
    binned = profile_of_bins(edges, np.bincount(place, right, 64), np.bincount(place, minlength=64))
    inside = np.geomspace(12, 50, 20)
    single = profile_of_votes(norms, right)
    assert binned(inside) == pytest.approx(single(inside), abs=0.01)


def test_open_ends_are_allowed() -> None:
    closed = profile_of_bins([5, 10, 20, 40, 80], [9, 9, 8, 3], [9, 9, 9, 9])
    opened = profile_of_bins([0, 10, 20, 40, np.inf], [9, 9, 8, 3], [9, 9, 9, 9])
    assert opened(20.0) == pytest.approx(float(closed(20.0)), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=12),
    st.floats(0.1, 1000),
)
def test_any_votes_give_a_curve_that_they_support(
    votes: list[tuple[int, int]], first: float
) -> None:
    hits = np.array([h for h, _ in votes], dtype=float)
    trials = hits + np.array([m for _, m in votes])
    edges = first * 1.3 ** np.arange(len(votes) + 1)
    if not trials.sum():
        with pytest.raises(InvalidInput, match="at least one vote"):
            profile_of_bins(edges, hits, trials)
        return
    profile = profile_of_bins(edges, hits, trials)
    assert (profile.votes, profile.misses) == (trials.sum(), (trials - hits).sum())
    curve = profile(np.geomspace(edges[0] / 3, edges[-1] * 3, 50))
    assert np.all((curve > 0) & (curve < 1))
    lower, upper = clopper_pearson(hits.sum(), trials.sum(), 1e-6)
    assert curve.min() <= upper
    assert curve.max() >= lower


def test_bad_votes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="rising order"):
        profile_of_bins([2, 1, 3], [1, 1], [1, 1])
    with pytest.raises(InvalidInput, match="one number for each of 2 bins"):
        profile_of_bins([1, 2, 3], [1], [1])
    with pytest.raises(InvalidInput, match="between 0 and `trials`"):
        profile_of_bins([1, 2, 3], [2, 0], [1, 1])


@pytest.mark.parametrize("d", [784, 3072, 150_528, 10**9])
@pytest.mark.parametrize("right", [0.0, 0.5, 1.0])
def test_few_votes_on_a_narrow_shell_are_fitted(d: int, right: float) -> None:
    """There the roughness outweighs the votes by more than double precision holds."""
    edges = GeneralizedGaussian(d, 0.446).radial_quantile(np.linspace(0, 1, 65))
    bins = [
        3,
        5,
        8,
        11,
        11,
        13,
        16,
        16,
        16,
        18,
        18,
        19,
        20,
        20,
        20,
        20,
        21,
        21,
        21,
        25,
        26,
        28,
        30,
        31,
        34,
        35,
        36,
        36,
        38,
        41,
        42,
        44,
        45,
        45,
        45,
        47,
        48,
        48,
        48,
        50,
        50,
        50,
        51,
        51,
        53,
        54,
        55,
        57,
        60,
        62,
    ]
    trials = np.bincount(bins, minlength=64)
    curve = profile_of_bins(edges, np.floor(right * trials), trials)
    assert 0 <= curve(float(edges[32])) <= 1
    assert (curve(float(edges[32])) > 0.5) == (right == 1.0)

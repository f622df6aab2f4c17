"""Clopper-Pearson bounds against exact binomial tails: rational, or 60 digits of mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dsrs.confidence import clopper_pearson, clopper_pearson_lower, clopper_pearson_upper
from dsrs.errors import InvalidInput

ALPHAS = st.one_of(
    st.sampled_from([1e-300, 1e-12, 0.0005, 0.001, 0.05, 0.5, 0.9, 1 - 1e-9]),
    st.floats(1e-6, 0.999),
)
# Tightness: the proof of the safe side costs some tens of roundings; 4e-12 leaves room for
# alpha = 1e-300, whose logarithm carries 700 of them.
TIGHT = Fraction(4, 10**12)


@st.composite
def votes(draw: st.DrawFn, most: int = 40) -> tuple[int, int]:
    trials = draw(st.integers(0, most))
    return draw(st.integers(0, trials)), trials


def exact_upper_tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """Pr[Bin(trials, p) >= hits], without any rounding."""
    return sum(
        (math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1)),
        Fraction(),
    )


def many_trials_upper_tail(hits: int, trials: int, p: mpmath.mpf) -> mpmath.mpf:
    """The same tail for many trials: its terms added up with 60 digits."""
    with mpmath.workdps(60):
        q = 1 - p
        log_first = (
            mpmath.loggamma(trials + 1)
            - mpmath.loggamma(hits + 1)
            - mpmath.loggamma(trials - hits + 1)
            + hits * mpmath.log(p)
            + (trials - hits) * mpmath.log(q)
        )
        term = total = mpmath.mpf(1)
        for j in range(hits, trials):
            term *= (trials - j) * p / ((j + 1) * q)
            total += term
            if term < total * mpmath.mpf("1e-40"):
                break
        return mpmath.exp(log_first) * total


@settings(deadline=None, max_examples=150)
@given(votes(), ALPHAS)
def test_lower_bound_is_safe_and_tight(seen: tuple[int, int], alpha: float) -> None:
    hits, trials = seen
    lower = Fraction(clopper_pearson_lower(hits, trials, alpha))
    if hits == 0:
        assert lower == 0
        return
    assert exact_upper_tail(hits, trials, lower) <= Fraction(alpha)
    above = lower * (1 + TIGHT)
    assert above >= 1 or exact_upper_tail(hits, trials, above) > Fraction(alpha)


@settings(deadline=None, max_examples=150)
@given(votes(), ALPHAS)
def test_upper_bound_is_safe_and_tight(seen: tuple[int, int], alpha: float) -> None:
    hits, trials = seen
    upper = Fraction(clopper_pearson_upper(hits, trials, alpha))
    if hits == trials:
        assert upper == 1
        return
    # Pr[X <= hits] = Pr[trials - X >= trials - hits].
    assert exact_upper_tail(trials - hits, trials, 1 - upper) <= Fraction(alpha)
    below = upper * (1 - TIGHT)
    assert exact_upper_tail(trials - hits, trials, 1 - below) > Fraction(alpha)


@pytest.mark.parametrize("alpha", [1e-300, 0.001, 0.3])
@pytest.mark.parametrize(
    ("hits", "trials"),
    [
        (3, 1_000),
        (997, 1_000),
        (48_750, 50_000),
        (99_999, 100_000),
        (3, 10**9),
        (10**9 - 3, 10**9),
        (40_000, 100_000),
        pytest.param(4 * 10**8, 10**9, marks=pytest.mark.slow),
    ],
)
def test_many_trials(hits: int, trials: int, alpha: float) -> None:
    with mpmath.workdps(60):
        lower = mpmath.mpf(clopper_pearson_lower(hits, trials, alpha))
        assert many_trials_upper_tail(hits, trials, lower) <= alpha
        above = lower * (1 + mpmath.mpf("4e-12"))
        assert above >= 1 or many_trials_upper_tail(hits, trials, above) > alpha
        upper = mpmath.mpf(clopper_pearson_upper(hits, trials, alpha))
        assert many_trials_upper_tail(trials - hits, trials, 1 - upper) <= alpha
        below = upper * (1 - mpmath.mpf("4e-12"))
        assert many_trials_upper_tail(trials - hits, trials, 1 - below) > alpha


def test_library_quantiles_land_on_the_wrong_side_and_ours_do_not() -> None:
    generator = np.random.default_rng(5)
    hits = generator.integers(1, 400, 60)
    library = special.betaincinv(hits, 400 - hits + 1.0, 0.001)
    ours = clopper_pearson_lower(hits, 400, 0.001)

    def wrong(bounds: np.ndarray) -> int:
        pairs = zip(hits, bounds, strict=True)
        return sum(many_trials_upper_tail(int(a), 400, mpmath.mpf(p)) > 0.001 for a, p in pairs)

    assert wrong(library) > 10
    assert wrong(ours) == 0


def test_all_hits_is_the_root_of_alpha() -> None:
    for trials, alpha in [(1, 0.5), (7, 0.001), (100_000, 0.0005), (10**9, 1e-300)]:
        lower = clopper_pearson_lower(trials, trials, alpha)
        with mpmath.workdps(50):
            exact = mpmath.mpf(alpha) ** (mpmath.mpf(1) / trials)
            assert exact * (1 - mpmath.mpf("1e-12")) <= lower <= exact
            upper = clopper_pearson_upper(0, trials, alpha)
            assert 1 - exact <= upper <= (1 - exact) * (1 + mpmath.mpf("1e-12"))


def test_no_trials_say_nothing() -> None:
    assert clopper_pearson(0, 0, 0.001) == (0.0, 1.0)


@settings(deadline=None, max_examples=100)
@given(votes(10_000), ALPHAS, ALPHAS)
def test_monotone_and_nested(seen: tuple[int, int], alpha: float, other: float) -> None:
    hits, trials = seen
    lower = clopper_pearson_lower(hits, trials, alpha)
    # Neighbouring bounds may differ by less than the outward rounding: 4e-12.
    slack = 1 + 4e-12
    assert lower <= clopper_pearson_lower(hits + 1, trials + 1, alpha) * slack
    assert clopper_pearson_lower(hits, trials + 1, alpha) <= lower * slack
    smaller, larger = sorted((alpha, other))
    assert (
        clopper_pearson_lower(hits, trials, smaller)
        <= clopper_pearson_lower(hits, trials, larger) * slack
    )
    both = clopper_pearson(hits, trials, alpha)
    assert both.lower <= lower * slack
    assert clopper_pearson_upper(hits, trials, alpha) <= both.upper * slack
    assert both.lower == clopper_pearson_lower(hits, trials, alpha / 2)


@settings(deadline=None, max_examples=100)
@given(votes(10_000), ALPHAS)
def test_misses_mirror_hits(seen: tuple[int, int], alpha: float) -> None:
    hits, trials = seen
    upper = clopper_pearson_upper(hits, trials, alpha)
    mirrored = 1 - clopper_pearson_lower(trials - hits, trials, alpha)
    assert upper == pytest.approx(mirrored, rel=0, abs=2.0**-52)


def test_arrays_equal_numbers_and_broadcast() -> None:
    hits = np.array([[0, 1, 7], [10, 500, 990]])
    trials = np.array([10, 1000, 1000])
    lower = clopper_pearson_lower(hits, trials, 0.01)
    interval = clopper_pearson(hits, trials, np.array([[0.01], [0.2]]))
    assert lower.shape == interval.upper.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = clopper_pearson_lower(int(hits[i, j]), int(trials[j]), 0.01)
        assert isinstance(one, float)
        assert lower[i, j] == one
    assert clopper_pearson_lower(np.array([], dtype=int), 10, 0.01).shape == (0,)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_coverage(alpha: float) -> None:
    """Simulated: the bounds miss the true probability no more often than alpha allows.

    8,000 draws; four standard deviations of a share alpha stand above it.
    """
    generator = np.random.default_rng(20)
    for p in (0.02, 0.4, 0.93):
        hits = generator.binomial(60, p, 8_000)
        allowed = alpha + 4 * math.sqrt(alpha * (1 - alpha) / 8_000)
        assert np.mean(clopper_pearson_lower(hits, 60, alpha) > p) <= allowed
        assert np.mean(clopper_pearson_upper(hits, 60, alpha) < p) <= allowed
        both = clopper_pearson(hits, 60, alpha)
        assert np.mean((both.lower > p) | (both.upper < p)) <= allowed


@pytest.mark.parametrize(
    ("successes", "trials", "alpha", "message"),
    [
        (-1, 10, 0.1, r"`successes` .* got -1\.0"),
        (math.nan, 10, 0.1, r"`successes` .* got nan"),
        (2.5, 10, 0.1, r"`successes` .* got 2\.5"),
        (1, math.inf, 0.1, r"`trials` .* got inf"),
        (11, 10, 0.1, r"`successes` must not exceed `trials`, got 11 of 10"),
        ([3, 4, 9], [5, 5, 5], 0.1, r"got 9 of 5 at position 2"),
        (1, 10, 0.0, r"`alpha` must be in \(0, 1\), got 0\.0"),
        (1, 10, 1.0, r"`alpha` .* got 1\.0"),
        (1, 10, math.nan, r"`alpha` .* got nan"),
        ([1, 2], [3, 4, 5], 0.1, r"broadcast"),
    ],
)
def test_bad_input_is_named(successes: Any, trials: Any, alpha: float, message: str) -> None:
    for bound in (clopper_pearson_lower, clopper_pearson_upper, clopper_pearson):
        with pytest.raises(InvalidInput, match=message):
            bound(successes, trials, alpha)

"""Predictions against direct integration, closed forms and certificates; the limit of all laws."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, special

from dsrs.landscape import (
    Profile,
    bound_curve,
    expected_hits,
    expected_lower,
    limit_and_norm,
    probability,
    unproved_at,
)
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Interval, certify
from landscape.known_profiles import (
    Floats,
    ball,
    exact_profile,
    half_space,
    predicted_radii,
    rising,
    wrong_in_the_centre,
)

N, ALPHA = 100_000, 0.001
D, SIZE = 784, 28.0
WIDE = GeneralizedGaussian(D, 1.0, 380)
GAUSSIAN = GeneralizedGaussian(D, 0.7)
METHODS = ("np", "tailored", "rescaled:0.8x", "truncated:heuristic")
PROFILES = {
    "half space": exact_profile(half_space(D, 1.5), 1.0, 300.0),
    "far half space": exact_profile(half_space(D, 4.0), 1.0, 300.0),
    "ball": exact_profile(ball(1.1 * SIZE), 1.0, 300.0),
    "rising": exact_profile(rising(SIZE), 1.0, 300.0),
    "wrong in the centre": exact_profile(wrong_in_the_centre(SIZE), 1.0, 300.0),
}


def by_quad(profile: Profile, density: Callable[[float], Floats], cuts: list[float]) -> float:
    """E[a(norm)] by SciPy's quad over the norm, between cuts."""
    return sum(
        float(integrate.quad(lambda x: float(density(x) * profile(x)), a, b, limit=200)[0])
        for a, b in itertools.pairwise(cuts)
    )


@pytest.mark.parametrize("law", [WIDE, GAUSSIAN, GeneralizedGaussian(D, 1.0, 300, 1.0)])
@pytest.mark.parametrize("name", ["half space", "rising"])
def test_p_a_by_direct_integration(law: GeneralizedGaussian, name: str) -> None:
    profile = PROFILES[name]
    cuts = law.radial_quantile([1e-12, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-12]).tolist()
    expected = by_quad(profile, law.radial_pdf, cuts)
    assert probability(profile, law) == pytest.approx(expected, abs=1e-5)


def test_p_a_of_a_half_space_is_a_normal_probability() -> None:
    profile = PROFILES["half space"]
    # The profile is drawn with straight lines between 400 points: 1e-5 is left.
    assert probability(profile, GAUSSIAN) == pytest.approx(special.ndtr(1.5 / 0.7), abs=2e-5)


def test_q_a_of_every_kind_of_law() -> None:
    profile = PROFILES["half space"]
    rescaled = Rescaled(WIDE, 0.6)
    assert probability(profile, rescaled) == pytest.approx(
        probability(profile, GeneralizedGaussian(D, 0.6, 380)), abs=1e-12
    )
    truncated = Truncated(WIDE, 0.5)
    cuts = [*WIDE.radial_quantile([1e-12, 0.1, 0.3]).tolist(), truncated.radius]
    expected = 2 * by_quad(profile, WIDE.radial_pdf, cuts)
    assert probability(profile, truncated) == pytest.approx(expected, abs=1e-5)
    weighted = Weighted(WIDE, (12.0,), (0.0,), 0.0, 0.0)
    assert probability(profile, weighted) == pytest.approx(probability(profile, WIDE), abs=1e-9)


@pytest.mark.parametrize("law", [WIDE, GAUSSIAN], ids=["wide", "gaussian"])
def test_neyman_pearson_is_what_certify_says(law: GeneralizedGaussian) -> None:
    found = predicted_radii(list(PROFILES.values()), law, "np", N, ALPHA)
    for profile, radius in zip(PROFILES.values(), found, strict=True):
        lower = expected_lower(probability(profile, law), N, ALPHA)
        exact = certify(law, Interval(lower, 1.0)).radius
        # One vote more or less at the expected count.
        assert radius == pytest.approx(exact, rel=0.01, abs=1e-3)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("n", [1000, 100_000])
def test_no_method_exceeds_the_limit(name: str, n: int) -> None:
    profile = PROFILES[name]
    limit, _ = limit_and_norm(profile, D, n, ALPHA)
    for law in (WIDE, GAUSSIAN, GeneralizedGaussian(D, 0.4), GeneralizedGaussian(D, 2.0, 388)):
        for method in METHODS:
            radius = predicted_radii([profile], law, method, n, ALPHA)[0]
            # The tables are good to 1e-4.
            assert radius <= limit * (1 + 1e-3), (law, method)


def test_the_limit_of_a_half_space_is_its_distance() -> None:
    """Without sampling error every shell says so; with it a little less, and never more."""
    profile = PROFILES["half space"]
    assert limit_and_norm(profile, D, 10**12, ALPHA)[0] == pytest.approx(1.5, rel=1e-3)
    limits = [limit_and_norm(profile, D, n, ALPHA)[0] for n in (100, 10_000, 10**6)]
    assert limits == sorted(limits)
    assert limits[-1] < 1.5


def test_a_gaussian_of_the_right_size_comes_close_to_the_limit() -> None:
    limit, norm = limit_and_norm(PROFILES["half space"], D, N, ALPHA)
    law = GeneralizedGaussian(D, norm / SIZE)
    radius = predicted_radii([PROFILES["half space"]], law, "np", N, ALPHA)[0]
    assert 0.97 * limit < radius <= limit


def test_tailored_is_predicted_above_neyman_pearson_where_it_pays() -> None:
    for name in ("half space", "ball", "rising"):
        alone, tailored = (
            predicted_radii([PROFILES[name]], WIDE, method, N, ALPHA)[0]
            for method in ("np", "tailored")
        )
        assert tailored > 1.01 * alone


def test_too_few_votes_for_a_pilot_are_those_of_neyman_pearson() -> None:
    profiles = list(PROFILES.values())
    found = predicted_radii(profiles, GAUSSIAN, "tailored", 512, ALPHA)
    np.testing.assert_array_equal(found, predicted_radii(profiles, GAUSSIAN, "np", 512, ALPHA))


def test_more_votes_predict_more() -> None:
    profiles = list(PROFILES.values())
    for method in METHODS:
        few = predicted_radii(profiles, WIDE, method, 2000, ALPHA)
        many = predicted_radii(profiles, WIDE, method, 200_000, ALPHA)
        assert np.all(many >= few)


def test_expected_counts_are_rounded_down() -> None:
    assert expected_hits(np.array([0.0, 1e-10, 1e-6, 0.1, 0.15, 1.0]), 10).tolist() == [
        10, 10, 9, 9, 8, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("n", [50, 100_000])
def test_the_bound_curve_is_clopper_pearson_and_convex(n: int) -> None:
    curve = bound_curve(n, ALPHA)
    misses = np.arange(0, n // 2, max(n // 20, 1))
    exact = [expected_lower(1 - m / n, n, ALPHA) for m in misses]
    assert 1 - unproved_at(misses / n, n, ALPHA) == pytest.approx(exact, abs=1e-12)
    assert np.all(np.diff(curve.slope) < 1e-3)  # L' falls with the miss rate: L is convex in q

"""Where votes of a landscape are taken: evenly, repeatably, around where accuracy falls."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.landscape.design import first_norms, first_stage, spread_norms, useful_range
from dsrs.landscape.prediction import predicted_radii, probability
from dsrs.landscape.profile import profile_of_votes
from dsrs.laws import GeneralizedGaussian
from landscape.known_profiles import half_space


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_norms_fill_the_range(count: int) -> None:
    logs = np.sort(np.log(spread_norms(2.0, 50.0, count)))
    gaps = np.diff(np.concatenate([[np.log(2)], logs, [np.log(50)]]))
    assert gaps.min() >= 0
    assert gaps.max() < 2.7 * np.log(25) / count  # golden ratio: never above phi^2 = 2.62 shares


def test_norms_depend_on_the_number_of_the_vote_alone() -> None:
    whole = spread_norms(2.0, 50.0, 100)
    parts = [spread_norms(2.0, 50.0, 30), spread_norms(2.0, 50.0, 70, 30)]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("distance", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("d", [784, 150_528])
def test_two_stages_find_the_fall_and_predict_from_it(distance: float, d: int) -> None:
    """A half space at any distance: 4000 votes predict the radius of Gaussians to 3%."""
    generator, truth = np.random.default_rng(3), half_space(d, distance)
    votes = 4000
    first = first_stage(votes)
    norms = first_norms(d, first)
    hits = generator.random(first) < truth(norms)
    low, high = useful_range(profile_of_votes(norms, hits), d)
    more = spread_norms(low, high, votes - first)
    norms = np.concatenate([norms, more])
    hits = np.concatenate([hits, generator.random(len(more)) < truth(more)])
    profile = profile_of_votes(norms, hits)
    for z in (1.0, 2.0):
        law = GeneralizedGaussian(d, distance / z)
        inside = law.radial_quantile([0.001, 0.999])
        assert low < inside[0]
        assert inside[1] < high
        assert probability(profile, law) == pytest.approx(
            float(truth(law.radial_quantile((np.arange(200) + 0.5) / 200)).mean()), abs=0.03
        )
        predicted = predicted_radii([profile], law, "np", 10**9, 0.001)[0]
        assert predicted == pytest.approx(distance, rel=0.06)


def test_a_class_that_is_never_right_is_looked_at_everywhere() -> None:
    norms = first_norms(784, 200)
    low, high = useful_range(profile_of_votes(norms, np.zeros(200)), 784)
    assert (low, high) == pytest.approx((norms.min(), norms.max()), rel=0.05)


def test_bad_designs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="between two positive numbers"):
        spread_norms(0.0, 1.0, 5)
    with pytest.raises(InvalidInput, match="numbered from 0"):
        spread_norms(1.0, 2.0, 5, -1)
    with pytest.raises(InvalidInput, match="at least 2 votes"):
        first_stage(1)

"""The choice of a law: it finds the right size, says what it knows, and stays below the limit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.landscape import Profile, limit_and_norm
from dsrs.laws import GeneralizedGaussian
from dsrs.tuning import Objective, Tuned, shapes, tune
from landscape.known_profiles import exact_profile, half_space, predicted_radii

# All that have a forecast: landscape has none.
METHODS = ("np", "tailored", "rescaled:0.8x", "truncated:heuristic")
D, N, ALPHA = 784, 10_000, 0.001


def bounded(distance: float, size: float) -> Profile:
    """A half space whose class is also lost at random the further out, the more."""
    half = half_space(D, distance)
    return exact_profile(lambda norm: half(norm) / (1 + (norm / size) ** 6), 1.0, 300.0)


PROFILES = [bounded(distance, 25 + 10 * distance) for distance in (0.5, 1.0, 1.5, 2.0, 2.5)]
CURRENT = GeneralizedGaussian(D, 1.5, 380)


@pytest.fixture(scope="module")
def tuned() -> Tuned:
    return tune(PROFILES, D, N, ALPHA, current=CURRENT)


def test_candidates_are_in_order_and_below_the_limit(tuned: Tuned) -> None:
    values = [candidate.value for candidate in tuned.candidates]
    assert values == sorted(values, reverse=True)
    assert len({candidate.law for candidate in tuned.candidates}) == len(values) > 20
    for candidate in tuned.candidates:
        assert np.all(candidate.radii <= tuned.limits * (1 + 1e-3))
        assert candidate.low <= candidate.value <= candidate.high
        assert candidate.value == pytest.approx(candidate.radii.mean())


def test_the_size_is_that_of_a_fine_scan(tuned: Tuned) -> None:
    """A scan of Gaussians that is finer than the grid finds at most half a percent more."""
    scan = [
        predicted_radii(PROFILES, GeneralizedGaussian(D, sigma), "np", N, ALPHA).mean()
        for sigma in np.geomspace(0.05, 3, 120)
    ]
    assert tuned.best.value > 0.995 * max(scan)
    sizes = [limit_and_norm(profile, D, N, ALPHA)[1] / np.sqrt(D) for profile in PROFILES]
    assert 0.7 * min(sizes) < tuned.best.law.sigma < 1.4 * max(sizes)


def test_laws_that_give_one_class_to_all_are_left_out(tuned: Tuned) -> None:
    """Under huge noise the model always answers 0: two inputs are certified there, and far."""
    always = exact_profile(lambda norm: np.full_like(norm, 1 - 1e-12), 1.0, 3000.0)
    profiles, classes = [always, always, *PROFILES], [0, 0, 1, 1, 2, 2, 3]
    blind = tune(profiles, D, N, ALPHA, methods=["np"])
    assert np.all(blind.best.radii[2:] == 0)
    assert blind.one_class == 0
    seeing = tune(profiles, D, N, ALPHA, methods=["np"], classes=classes)
    assert seeing.one_class > 0
    for candidate in seeing.candidates:
        assert np.count_nonzero(candidate.radii[2:]) >= 2
    # The two pull the choice to larger noise, yet not beyond what tells the others apart.
    assert seeing.best.radii[2:].mean() > 0.7 * tuned.best.value
    one = tune(PROFILES, D, N, ALPHA, methods=["np"], classes=[4] * len(PROFILES))
    assert one.one_class == 0


def test_a_law_is_not_chosen_by_the_votes_that_certify_it(tuned: Tuned) -> None:
    again = tuned.without(tuned.best.law)
    assert again.candidates == tuned.candidates[1:]
    assert again.best.value > 0.99 * tuned.best.value  # its neighbours promise nearly as much
    assert tuned.without(None) == tuned


def test_the_current_choice_is_beside_it(tuned: Tuned) -> None:
    assert {forecast.method for forecast in tuned.current} == set(METHODS)
    assert all(forecast.law == CURRENT for forecast in tuned.current)
    assert tuned.best.value > tuned.current[0].value >= tuned.current[-1].value


def test_every_method_is_tried(tuned: Tuned) -> None:
    only = tune(PROFILES[:2], D, N, ALPHA, methods=["rescaled:0.8x"])
    assert {candidate.method for candidate in only.candidates} == {"rescaled:0.8x"}
    assert {candidate.method for candidate in tuned.candidates} <= set(METHODS)


def test_the_record_as_json(tuned: Tuned) -> None:
    fields = json.loads(json.dumps(tuned.to_dict()))
    assert {"law", "method", "predicted", "candidates", "current", "limit"} <= fields.keys()
    assert fields["law"].keys() == {"sigma", "k", "eta"}
    assert GeneralizedGaussian(D, **fields["law"]) == tuned.best.law
    assert fields["method"] == tuned.best.method == fields["candidates"][0]["method"]
    assert fields["predicted"]["interval"] == [tuned.best.low, tuned.best.high]
    curve = fields["predicted"]["certified_accuracy"]
    assert len(curve) == len(fields["radii"])
    assert curve == sorted(curve, reverse=True)
    assert np.all(np.array(curve) <= np.array(fields["limit"]["certified_accuracy"]) + 1e-9)
    # The area under the curve is the average radius, up to the width of one step.
    area = np.trapezoid(curve, fields["radii"])
    assert area == pytest.approx(fields["predicted"]["acr"], abs=fields["radii"][1])


def test_accuracy_at_a_radius() -> None:
    found = tune(PROFILES, D, N, ALPHA, "accuracy@0.8", methods=["np"])
    assert found.best.value == np.mean(found.best.radii >= 0.8)
    # The first input cannot: its half space is at 0.5. All others can.
    assert found.best.value == pytest.approx(0.8)
    radius = tune(PROFILES, D, N, ALPHA, methods=["np"]).best.radii.mean()
    assert found.best.radii.mean() <= radius + 1e-9


def test_inputs_that_are_always_wrong_change_nothing_but_the_mean() -> None:
    wrong = exact_profile(lambda norm: np.full_like(norm, 0.1), 1.0, 300.0)
    right = tune(PROFILES, D, N, ALPHA, methods=["np"])
    half = tune([*PROFILES, *[wrong] * 5], D, N, ALPHA, methods=["np"])
    assert half.best.value == pytest.approx(right.best.value / 2, rel=0.01)
    nothing = tune([wrong], D, N, ALPHA, methods=["np"])
    assert nothing.best.value == 0


def test_shapes_end_with_the_gaussian() -> None:
    assert shapes(784, 2.0)[-1] == 392
    assert shapes(2, 2.0) == [1.0]
    assert shapes(784, 4.0)[-1] == 196


@pytest.mark.parametrize("text", ["", "acc", "accuracy@", "accuracy@-1", "acr@1", "accuracy@inf"])
def test_bad_objectives_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="acr or accuracy@RADIUS"):
        Objective.parse(text)


def test_objectives_are_read_back() -> None:
    for text in ("acr", "accuracy@1.5"):
        assert Objective.parse(text).text == text


def test_empty_landscapes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one input"):
        tune([], D, N, ALPHA)
    with pytest.raises(InvalidInput, match="at least one method"):
        tune(PROFILES, D, N, ALPHA, methods=[])


def test_an_eta_that_no_law_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"`eta` must be from 0\.5 to 8, got 0"):
        tune(PROFILES[:1], D, N, ALPHA, methods=["np"], etas=[0.0])


def test_methods_without_a_forecast_are_left_out_and_named_where_none_is_left() -> None:
    both = tune(PROFILES[:2], D, N, ALPHA, methods=["np", "landscape"])
    assert {candidate.method for candidate in both.candidates} == {"np"}
    with pytest.raises(InvalidInput, match="no forecast for the methods landscape"):
        tune(PROFILES[:2], D, N, ALPHA, methods=["landscape"])
    with pytest.raises(InvalidInput, match="a method is np, "):
        tune(PROFILES[:2], D, N, ALPHA, methods=["nonsense"])

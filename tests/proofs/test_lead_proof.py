"""A class that leads without a majority: the closed form, the textbook, and forgeries."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from scipy.special import ndtri

from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, parse_additional_law
from dsrs.proofs import (
    NOTHING_KNOWN,
    Certificate,
    Interval,
    Lead,
    Observation,
    Step,
    certificate_of,
    certify,
    check,
    find_flaw,
    find_lead,
    not_the_rival,
)
from oracle.textbook import _gap, _log_root, _p_alone, _p_only_value
from oracle.theorem_integrals import Shells

PLAIN = GeneralizedGaussian(16, 0.5)
LAW = GeneralizedGaussian(16, 0.5, 4)


def lead(
    law: GeneralizedGaussian, lower: float, rival: float, q: AdditionalLaw | None = None
) -> Certificate:
    return certificate_of(law, find_lead(law, lower, rival, q))


def textbook_lower(law: GeneralizedGaussian, radius: float, probability: float) -> float:
    """The least probability at a shift of an event with this one: Neyman and Pearson's."""
    shells = Shells(law.d, law.k, law.sigma, radius)
    log_lam = _log_root(lambda x: _gap(probability, _p_alone(shells, x)))
    return float(_p_only_value(shells, probability, log_lam))


@pytest.mark.parametrize(("lower", "rival"), [(0.4, 0.3), (0.48, 0.01), (0.9, 0.1), (0.7, 0.2)])
def test_under_gaussian_noise_it_is_the_closed_form(lower: float, rival: float) -> None:
    found = lead(PLAIN, lower, rival)
    exact = PLAIN.sigma / 2 * float(ndtri(lower) - ndtri(rival))
    assert found.status == "certified"
    assert check(found)
    assert exact * (1 - 1e-8) - 1e-8 < found.radius <= exact


@pytest.mark.parametrize(("lower", "rival"), [(0.4, 0.3), (0.8, 0.15)])
def test_beyond_the_gaussian_both_bounds_of_the_textbook_hold_up_to_the_radius(
    lower: float, rival: float
) -> None:
    found = lead(LAW, lower, rival)
    assert check(found)

    def together(radius: float) -> float:
        return textbook_lower(LAW, radius, lower) + textbook_lower(LAW, radius, 1 - rival)

    # The search stops within 1e-6 sigma; the textbook's integrals are good to 1e-7 or so.
    assert together(found.radius * (1 - 1e-4)) > 1
    assert together(found.radius + 1e-3 * LAW.sigma) < 1


def test_a_majority_against_all_the_rest_is_the_usual_certificate() -> None:
    found = lead(LAW, 0.8, 0.2)
    assert found.np_radius == pytest.approx(found.radius, rel=1e-5)
    assert found.np_radius is not None
    assert found.np_radius <= found.radius


def test_bounds_under_another_law_that_falls_give_a_certificate() -> None:
    q = Rescaled(LAW, 0.55)
    found = lead(LAW, 0.45, 0.2, q)
    assert found.known_of_p == NOTHING_KNOWN
    assert found.np_radius is None
    assert found.radius > 0
    assert check(found)


def test_who_does_not_lead_or_whose_law_rises_gets_nothing() -> None:
    hollow = parse_additional_law("weighted:1:0,2:1,3:0", LAW)
    assert not hollow.falls
    assert lead(LAW, 0.9, 0.05, hollow).status == "abstained"
    for lower, rival in ((0.3, 0.3), (0.2, 0.5), (0.0, 1.0)):
        found = lead(LAW, lower, rival)
        assert (found.status, found.radius, found.proof) == ("abstained", 0.0, Lead(lower, rival))
        assert check(found)


FOUND = lead(PLAIN, 0.45, 0.2)
STEPS = FOUND.proof.steps  # type: ignore[union-attr]
FORGERIES = {
    "a larger radius": ({"radius": FOUND.radius * 1.01}, {}),
    "a larger rival": ({}, {"rival": 0.3}),
    "a rival below 0": ({}, {"rival": -0.1}),
    "a larger lower bound": ({}, {"lower": 0.9, "rival": 0.5}),
    "a lower bound above 1": ({}, {"lower": 1.5}),
    "one step": ({}, {"steps": STEPS[:1]}),
    "no step": ({}, {"steps": ()}),
    "steps farther out": (
        {"radius": 1.0},
        {"steps": tuple(replace(step, radius=1.0) for step in STEPS)},
    ),
    "bounds that are claimed": (
        {},
        {"steps": tuple(replace(step, dual_bound=0.9) for step in STEPS)},
    ),
    "no number": ({}, {"steps": (STEPS[0], Step(FOUND.radius, (float("nan"),), 0.5))}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_lead_is_refused(name: str) -> None:
    assert check(FOUND)
    changed, proof = FORGERIES[name]
    forged = replace(FOUND, **changed, proof=replace(FOUND.proof, **proof))  # type: ignore
    flaw = find_flaw(forged)
    assert flaw is not None, name
    again = Certificate.from_json(FOUND.to_json())
    assert again.proof == FOUND.proof


def test_what_is_known_of_the_class_under_p_says_nothing_of_its_rivals() -> None:
    """P_A <= 0.66 makes a negative multiplier worth something, but for the class only."""
    seen = Observation(Rescaled(LAW, 0.4), Interval(0.9, 1.0))
    step = certify(LAW, Interval(0.0, 0.66), seen).proof.steps[0]  # type: ignore[union-attr]
    assert step.multipliers[0] < 0
    own = replace(step, multipliers=step.multipliers[1:])
    for steps, flaw in (((step, step), "multipliers"), ((own, own), "claims")):
        forged = Certificate(LAW, "certified", step.radius, None, Lead(0.9, 0.1, seen.law, steps))
        assert flaw in str(find_flaw(forged))


def test_a_lead_may_reach_less_far_than_a_majority() -> None:
    found = lead(LAW, 0.9, 0.5)
    assert found.np_radius == found.radius
    assert check(found)


@pytest.mark.parametrize("rival", [0.1, 1 / 3, 0.7, 1e-17, 0.0, 1.0, 0.49999999999999994])
def test_what_a_rival_leaves_is_never_too_much(rival: float) -> None:
    assert Fraction(not_the_rival(rival)) + Fraction(rival) <= 1
    assert not_the_rival(rival) >= 1 - rival - 2e-16

"""Certificates against closed forms, the oracles, and the laws they must obey."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import dsrs
from dsrs import Certificate, GeneralizedGaussian, Interval, Observation, Rescaled, Truncated
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import AdditionalLaw
from dsrs.proofs import Dual, Step, check
from oracle.linear_program import primal_worst_case
from oracle.shells import dual_bound as exact_bound
from oracle.textbook import textbook_np_radius, textbook_radius

CIFAR = GeneralizedGaussian(3072, 0.5, 1530)
MNIST = GeneralizedGaussian(784, 0.5, 380)


def seen(law: AdditionalLaw, lower: float, upper: float) -> Observation:
    return Observation(law, Interval(lower, upper))


def double(
    base: GeneralizedGaussian, p: tuple[float, float], *additional: Observation
) -> Certificate:
    found = dsrs.certify(base, Interval(*p), *additional)
    assert check(found)
    return found


def np_radius(found: Certificate) -> float:
    assert found.np_radius is not None
    return found.np_radius


def steps_of(found: Certificate) -> tuple[Step, ...]:
    assert isinstance(found.proof, Dual)
    return found.proof.steps


def with_proof(found: Certificate, radius: float | None = None, **change: Any) -> Certificate:
    """The certificate with other fields of its proof."""
    assert isinstance(found.proof, Dual)
    proof = dataclasses.replace(found.proof, **change)
    return dataclasses.replace(
        found, radius=found.radius if radius is None else radius, proof=proof
    )


# --- Neyman-Pearson


@pytest.mark.parametrize("p", [0.500001, 0.6, 0.9, 0.999, 1 - 1e-9])
def test_gaussian_radius_is_the_closed_form_from_below(p: float) -> None:
    exact = 0.5 * special.ndtri(p)
    radius = double(GeneralizedGaussian(784, 0.5), (p, 1.0)).radius
    assert radius <= exact
    assert radius == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("p", [0.6, 0.9, 0.999])
def test_small_k_tends_to_the_closed_form(p: float) -> None:
    # k = 1e-9 goes through the numerical route, and the law is Gaussian to 1e-9.
    radius = double(GeneralizedGaussian(784, 0.5, 1e-9), (p, 1.0)).radius
    assert radius == pytest.approx(0.5 * special.ndtri(p), abs=5e-7)


@pytest.mark.parametrize(("law", "p"), [(MNIST, 0.9), (GeneralizedGaussian(24, 1.0, 7.5), 0.7)])
def test_generalized_radius_agrees_with_the_textbook(law: GeneralizedGaussian, p: float) -> None:
    textbook = textbook_np_radius(law.d, law.k, law.sigma, p, tol=1e-7)
    # The textbook bisects to 1e-7 and integrates to about 1e-8.
    assert double(law, (p, 1.0)).radius == pytest.approx(textbook, abs=1e-6 * law.sigma)


def test_half_or_less_abstains_and_certainty_is_unlimited() -> None:
    for law in (MNIST, GeneralizedGaussian(784, 0.5)):
        assert double(law, (0.5, 1.0)).status == "abstained"
        assert double(law, (0.5, 1.0)).radius == 0
        assert double(law, (1.0, 1.0)).radius == math.inf


# --- double sampling


@pytest.mark.parametrize(
    ("base", "p", "law", "q"),
    [
        (GeneralizedGaussian(20, 0.5, 5), (0.9, 0.93), "truncated:0.6", (0.97, 0.98)),
        (GeneralizedGaussian(20, 0.5, 5), (0.9, 0.92), "rescaled:0.4", (0.96, 0.97)),
        (GeneralizedGaussian(20, 0.5, 0), (0.9, 0.92), "rescaled:0.4", (0.96, 0.97)),
        (GeneralizedGaussian(12, 0.5, 0.5), (0.85, 0.9), "truncated:0.7", (1.0, 1.0)),
        # Known to be wrong near the centre: the second multiplier is negative.
        (GeneralizedGaussian(20, 0.5, 5), (0.8, 0.81), "rescaled:0.4", (0.77, 0.78)),
        (GeneralizedGaussian(20, 0.5, 5), (0.8, 0.81), "truncated:0.5", (0.70, 0.72)),
        # P- < 1/2: only the second law certifies; the first multiplier is 0.
        (GeneralizedGaussian(20, 0.5, 5), (0.4, 0.9), "truncated:0.8", (0.9, 1.0)),
        (GeneralizedGaussian(20, 0.5, 5), (0.45, 0.52), "truncated:0.6", (0.86, 0.9)),
    ],
    ids=str,
)
def test_radius_is_where_the_primal_worst_case_is_one_half(
    base: GeneralizedGaussian, p: tuple[float, float], law: str, q: tuple[float, float]
) -> None:
    kind, value = law.split(":")
    found = double(base, p, seen(dsrs.laws.additional_law(kind, float(value), base), *q))
    assert found.radius > np_radius(found)
    at = primal_worst_case(base.d, base.k, base.sigma, found.radius, p, q, kind, float(value))
    # The linear program is good to 1e-3.
    assert at == pytest.approx(0.5, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "p", "law", "q"),
    [
        (MNIST, (0.95, 0.96), "truncated:0.6", (0.99, 0.995)),
        (MNIST, (0.95, 0.96), "rescaled:0.4", (0.99, 0.995)),
        (CIFAR, (0.97, 0.98), "truncated:0.8", (0.995, 1.0)),
        (GeneralizedGaussian(784, 0.5), (0.9, 0.92), "truncated:0.5", (0.97, 0.98)),
        (GeneralizedGaussian(150528, 1.0, 75260), (0.8, 0.82), "truncated:0.5", (0.95, 0.97)),
    ],
    ids=str,
)
def test_radius_agrees_with_the_textbook(
    base: GeneralizedGaussian, p: tuple[float, float], law: str, q: tuple[float, float]
) -> None:
    kind, value = law.split(":")
    found = double(base, p, seen(dsrs.laws.additional_law(kind, float(value), base), *q))
    textbook = textbook_radius(base.d, base.k, base.sigma, *p, kind, float(value), *q)
    assert found.radius == pytest.approx(textbook, abs=5e-6)


def test_certain_inside_the_ball_gives_the_radius_of_the_shifted_ball() -> None:
    # Q_A = 1 and P_A = the ball's mass: the worst classifier is right in the ball alone, so the
    # radius is where its shifted mass is 1/2: for k = 0 a noncentral chi-square probability.
    base = GeneralizedGaussian(10, 1.0)
    ball = Truncated(base, 0.8)
    found = double(base, (0.8, 0.8), seen(ball, 1.0, 1.0))
    mass = stats.ncx2(10, found.radius**2).cdf(ball.radius**2)
    assert mass == pytest.approx(0.5, abs=1e-6)
    assert steps_of(found)[0].multipliers[1] == math.inf


def test_wrong_inside_the_ball_does_not_certify_beyond_a_gap() -> None:
    # Wrong in the whole ball of mass 0.55 and right outside: P_A = 0.45, so the smoothed answer
    # is wrong at shift 0, although far shifts leave the ball behind and the bound rises above 1/2.
    base = GeneralizedGaussian(4, 1.0)
    found = dsrs.certify(base, Interval(0.45, 0.45), seen(Truncated(base, 0.55), 0.0, 0.0))
    assert found.status == "abstained"
    assert found.radius == 0


def test_hollow_proof_is_a_chain_without_gaps() -> None:
    found = double(CIFAR, (0.97, 0.98), seen(Rescaled(CIFAR, 0.4), 0.95, 0.96))
    assert steps_of(found)[0].multipliers[1] < 0
    assert len(steps_of(found)) > 2
    broken = with_proof(found, steps=steps_of(found)[:1] + steps_of(found)[3:])
    assert not check(broken)


def test_check_refuses_a_larger_claim() -> None:
    found = double(CIFAR, (0.97, 0.98), seen(Truncated(CIFAR, 0.8), 0.995, 1.0))
    step = steps_of(found)[0]
    larger = dataclasses.replace(step, radius=step.radius + 1e-6)
    assert not check(with_proof(found, radius=larger.radius, steps=(larger,)))
    assert not check(dataclasses.replace(found, radius=larger.radius))
    weaker = with_proof(found, p=Interval(0.9699, 0.98))
    assert not check(weaker)


# --- laws that every certificate obeys


@pytest.mark.parametrize(
    "law", [Truncated(CIFAR, 0.8), Truncated(CIFAR, 0.3), Rescaled(CIFAR, 0.4)], ids=str
)
def test_never_below_neyman_pearson_and_monotone_in_the_box(law: Truncated | Rescaled) -> None:
    radii = [double(CIFAR, (0.97, 1.0), seen(law, q, 1.0)).radius for q in (0.0, 0.9, 0.98, 0.999)]
    assert radii == sorted(radii)
    assert radii[0] == pytest.approx(double(CIFAR, (0.97, 1.0)).radius, abs=1e-9)
    better = double(CIFAR, (0.975, 1.0), seen(law, 0.98, 1.0)).radius
    assert better > radii[2]


@given(
    m=st.floats(0.5, 50), d=st.integers(2, 5_000_000), p=st.floats(0.3, 0.9999),
    width=st.floats(0, 0.1), q=st.floats(0.3, 1.0), truncated=st.booleans(),
    value=st.floats(0.1, 0.95),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_any_law_and_box_gives_a_proof_that_checks(
    d: int, m: float, p: float, width: float, q: float, truncated: bool, value: float
) -> None:
    base = GeneralizedGaussian(d, 1.0, max(d / 2 - m, 0.0))
    law = Truncated(base, value) if truncated else Rescaled(base, 0.6 + 0.7 * value)
    try:
        found = double(base, (p, min(p + width, 1)), seen(law, q, min(q + width, 1)))
    except InfeasibleBox:
        return
    assert found.radius >= np_radius(found) >= 0
    assert found.status != "undecided"
    assert Certificate.from_json(found.to_json()) == found


@pytest.mark.parametrize("law", [Truncated, Rescaled])
def test_sigma_only_scales_the_radius(law: type[Truncated | Rescaled]) -> None:
    radii = []
    for sigma in (0.25, 1.0):
        base = GeneralizedGaussian(784, sigma, 380)
        value = 0.6 if law is Truncated else 0.8 * sigma
        radii.append(double(base, (0.95, 0.96), seen(law(base, value), 0.99, 1.0)).radius / sigma)
    # Both are within 1e-6 sigma below the optimum; in practice the search lands on the same point.
    assert radii[0] == pytest.approx(radii[1], abs=1e-6)


def test_several_laws_prove_at_least_as_much_as_each() -> None:
    first, second = seen(Truncated(MNIST, 0.4), 0.999, 1.0), seen(Truncated(MNIST, 0.8), 0.98, 1.0)
    third = seen(Rescaled(MNIST, 0.4), 0.985, 1.0)
    alone = [double(MNIST, (0.93, 0.95), each).radius for each in (first, second, third)]
    two = double(MNIST, (0.93, 0.95), first, second)
    mixed = double(MNIST, (0.93, 0.95), first, third)
    assert two.radius >= max(alone[:2])
    assert mixed.radius >= max(alone[0], alone[2])
    # Two truncations cut space into three rings, which one of them cannot: a real gain.
    assert two.radius > max(alone[:2]) + 1e-3
    assert len(steps_of(two)[0].multipliers) == 3


def test_a_law_that_is_p_itself_shares_the_better_interval() -> None:
    again = seen(Rescaled(MNIST, 0.5), 0.97, 1.0)
    assert double(MNIST, (0.95, 1.0), again).radius == double(MNIST, (0.97, 1.0)).radius
    assert double(MNIST, (0.98, 1.0), again).radius == double(MNIST, (0.98, 1.0)).radius


# --- edges and errors


def test_edges_of_the_feasible_region() -> None:
    base = GeneralizedGaussian(20, 0.5, 5)
    ball = Truncated(base, 0.4)
    # P_A = Q_A/nu exactly: wrong everywhere outside.
    assert double(base, (0.36, 0.36), seen(ball, 0.9, 0.9)).status == "abstained"
    # P_A = 1 - (1 - Q_A)/nu exactly: right everywhere outside.
    top = 1 - (1 - 0.9) * 0.4
    right_outside = double(base, (top, top), seen(ball, 0.9, 0.9))
    assert right_outside.radius >= np_radius(right_outside) > 0
    # On this knife's edge the linear program is blunt; mpmath confirms the bound instead.
    step = steps_of(right_outside)[0]
    l1, l2 = step.multipliers
    exact = exact_bound(20, 5, 0.5, step.radius, l1, l2, top, 0.9, "truncated", 0.4)
    assert exact > 0.5
    # Nothing is known.
    assert double(base, (0.0, 1.0), seen(ball, 0.0, 1.0)).status == "abstained"


def test_infeasible_boxes_are_refused_with_the_reason() -> None:
    cases: list[tuple[AdditionalLaw, tuple[float, float], tuple[float, float]]] = [
        (Truncated(MNIST, 0.8), (0.97, 0.98), (0.95, 0.96)),
        (Truncated(MNIST, 0.8), (0.5, 0.6), (0.9, 1.0)),
        (Rescaled(MNIST, 0.45), (0.5, 0.6), (1 - 1e-9, 1.0)),
        (Rescaled(MNIST, 0.5), (0.5, 0.6), (0.7, 0.8)),
    ]
    for law, p, q in cases:
        with pytest.raises(InfeasibleBox, match="no classifier"):
            dsrs.certify(MNIST, Interval(*p), seen(law, *q))


def test_a_law_of_another_base_is_refused() -> None:
    with pytest.raises(InvalidInput, match="was made for"):
        dsrs.certify(MNIST, Interval(0.9, 1.0), seen(Truncated(CIFAR, 0.8), 0.9, 1.0))


def test_a_list_of_observations_is_refused_with_what_to_give() -> None:
    several = [seen(Truncated(MNIST, 0.9), 0.9, 1.0)]
    with pytest.raises(InvalidInput, match=r"an Observation\(law, interval\) of its own, got \["):
        dsrs.certify(MNIST, Interval(0.9, 1.0), several)  # type: ignore[arg-type]


@pytest.mark.parametrize("ends", [(0.5, 0.4), (-0.1, 0.5), (0.5, 1.1), (math.nan, 0.5)])
def test_bad_intervals_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="got"):
        Interval(*ends)


def test_certificate_survives_json_with_infinities() -> None:
    base = GeneralizedGaussian(10, 1.0)
    for found in (
        double(base, (1.0, 1.0)),
        double(base, (0.8, 0.9), seen(Truncated(base, 0.8), 1.0, 1.0)),
        double(base, (0.4, 0.9)),
    ):
        again = Certificate.from_json(found.to_json())
        assert again == found
        assert check(again)


def test_other_norms_follow_from_l2() -> None:
    found = double(CIFAR, (0.97, 1.0))
    assert found.linf_radius <= found.radius / np.sqrt(3072)
    assert found.linf_radius == pytest.approx(found.radius / np.sqrt(3072), rel=1e-14)
    assert found.l1_radius == found.radius


@pytest.mark.parametrize("radius", [3.5363635372568822, 0.1, 1e-300, 5e-324, 1e300, 7.0])
@pytest.mark.parametrize("d", [2, 3, 4097, 150528])
def test_the_linf_radius_is_rounded_down_but_no_further(d: int, radius: float) -> None:
    base = GeneralizedGaussian(d, 1.0)
    found = Certificate(base, "certified", radius, None, None)
    linf = found.linf_radius
    assert Fraction(linf) ** 2 * d <= Fraction(radius) ** 2
    assert Fraction(math.nextafter(math.nextafter(linf, 9e307), 9e307)) ** 2 * d > (
        Fraction(radius) ** 2
    )

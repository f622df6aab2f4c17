"""Certificates from a bound of the gradient, against a linear program over classifiers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from dsrs import Certificate, GeneralizedGaussian, check
from dsrs.errors import InvalidInput
from dsrs.proofs.base import Step
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.dual import Dual
from dsrs.proofs.slab import Slab, find_slab, first_order_bound

LAW = GeneralizedGaussian(784, 0.5)


def first_order(law: GeneralizedGaussian, p_lower: float, gradient: float) -> Certificate:
    return certificate_of(law, find_slab(law, p_lower, gradient))


def half_space_gradient(p: float) -> float:
    return float(stats.norm.pdf(special.ndtri(p)))


def least_probability(p: float, gradient: float, rho: float) -> float:
    """The linear program over classifiers that are constant on thin slabs."""
    edges = np.concatenate([[-np.inf], np.linspace(-8, 8, 4001), [np.inf]])
    mass = np.diff(stats.norm.cdf(edges))
    first = -np.diff(stats.norm.pdf(edges))  # integral of w over each slab
    shifted = np.diff(stats.norm.cdf(edges - rho))
    found = optimize.linprog(
        shifted, A_ub=np.array([-mass, -first]), b_ub=[-p, gradient], bounds=(0, 1), method="highs"
    )
    return float(found.fun)


@pytest.mark.parametrize("p", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_radius_is_where_the_worst_classifier_falls_to_one_half(p: float, share: float) -> None:
    found = first_order(LAW, p, share * half_space_gradient(p))
    rho = found.radius / LAW.sigma
    # Slabs of 0.004 leave about their square.
    assert least_probability(p, share * half_space_gradient(p), rho) == pytest.approx(0.5, abs=1e-5)
    assert isinstance(found.proof, Slab)
    assert found.np_radius is not None
    assert found.radius > found.np_radius
    assert check(found)
    assert Certificate.from_json(found.to_json()) == found


def test_the_gradient_of_a_half_space_gains_nothing() -> None:
    for p in (0.6, 0.95):
        found = first_order(LAW, p, half_space_gradient(p))
        assert isinstance(found.proof, Dual)
        assert found.radius == pytest.approx(LAW.sigma * special.ndtri(p), rel=1e-12)
        assert check(found)


def test_a_smaller_gradient_never_gives_a_smaller_radius() -> None:
    radii = [
        first_order(LAW, 0.8, share * half_space_gradient(0.8)).radius
        for share in (1.2, 0.99, 0.7, 0.3, 0.0)
    ]
    assert radii == sorted(radii)
    assert radii[-1] == pytest.approx(LAW.sigma * _symmetric_reach(0.8), abs=1e-9)


def _symmetric_reach(p: float) -> float:
    """Without a gradient the slab is symmetric."""
    b = float(special.ndtri((1 + p) / 2))
    return float(optimize.brentq(lambda r: special.ndtr(b - r) - special.ndtr(-b - r) - 0.5, 0, b))


def test_no_multipliers_prove_more_than_the_worst_classifier() -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        p = float(generator.uniform(0.51, 0.999))
        gradient = float(generator.uniform(0, 1)) * half_space_gradient(p)
        rho = float(generator.uniform(0.05, 3))
        level, slope = (float(value) for value in generator.exponential(2, 2))
        assert first_order_bound(p, gradient, (level, slope), rho) <= (
            least_probability(p, gradient, rho) + 1e-5
        )


def test_forged_proofs_are_refused() -> None:
    found = first_order(LAW, 0.9, 0.8 * half_space_gradient(0.9))
    proof = found.proof
    assert isinstance(proof, Slab)

    def forged(radius: float = found.radius, **change: Any) -> Certificate:
        return dataclasses.replace(found, radius=radius, proof=dataclasses.replace(proof, **change))

    def step(**change: Any) -> dict[str, Any]:
        return {"step": dataclasses.replace(proof.step, **change)}

    assert check(forged())
    assert not check(forged(found.radius * (1 + 1e-9)))
    assert not check(forged(gradient=-1.0))
    assert not check(forged(gradient=proof.gradient * 1.001))
    assert not check(forged(p_lower=0.5))
    assert not check(forged(p_lower=1.5))
    assert not check(dataclasses.replace(found, law=GeneralizedGaussian(784, 0.5, 10)))
    assert not check(forged(**step(multipliers=(1.0,))))
    assert not check(forged(**step(dual_bound=0.51)))
    assert not check(forged(found.radius * 1.001, **step(radius=found.radius * 1.001)))


def test_useless_multipliers_prove_nothing() -> None:
    for multipliers in ((0.0, 1.0), (1.0, 0.0), (math.inf, 1.0), (1e-9, 1.0)):
        assert first_order_bound(0.9, 0.1, multipliers, 1.0) < 0.5


def test_other_noise_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Gaussian"):
        first_order(GeneralizedGaussian(784, 0.5, 380), 0.9, 0.1)


@pytest.mark.parametrize("miss", [1e-8, 1e-9, 1e-10])
def test_a_class_that_hardly_ever_misses_still_gains(miss: float) -> None:
    found = first_order(LAW, 1 - miss, 0.0)
    # The slab of no gradient is symmetric.
    assert found.radius == pytest.approx(-LAW.sigma * special.ndtri(miss / 2), abs=1e-4)
    assert found.np_radius is not None
    assert found.radius > found.np_radius
    assert check(found)


@pytest.mark.parametrize(
    ("radius", "multipliers"),
    [
        (1e3, (1.0, 1e-320)),  # the line is 0 at minus infinity
        (1e200, (1.0, 1e-3)),  # the square of the shift is infinite
        (1e6, (1.0, 1e-320)),  # their ratio is 0
        (0.5, (1e306, 1e306)),  # the line is infinite
    ],
)
def test_numbers_that_overflow_prove_nothing(
    radius: float, multipliers: tuple[float, float]
) -> None:
    found = first_order(LAW, 0.9, 0.05)
    proof = dataclasses.replace(found.proof, step=Step(radius, multipliers, 0.6))  # type: ignore
    assert not check(dataclasses.replace(found, radius=max(radius, found.radius), proof=proof))
    assert first_order_bound(0.9, 0.05, multipliers, radius / LAW.sigma) == -math.inf

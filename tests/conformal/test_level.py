"""The level of calibration: what clean coverage leaves the promised one under shifts."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

import dsrs
from dsrs.conformal import (
    ShiftProof,
    calibration_level,
    coverage_of_one,
    level_of,
    overlap,
    shift_proof,
)
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian

LAWS = [
    GeneralizedGaussian(784, 0.5),
    GeneralizedGaussian(784, 0.5, 380),
    GeneralizedGaussian(12, 2.0, 3.0),
    GeneralizedGaussian(50, 1.0, 0.0, 1.0),
]


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("ratio", [1e-3, 0.5, 1.0, 3.0])
def test_gaussian_noise_has_the_closed_form(coverage: float, ratio: float) -> None:
    exact = special.ndtr(special.ndtri(coverage) + ratio)
    _, level = calibration_level(GeneralizedGaussian(10, 0.25), 0.25 * ratio, coverage, 1, 0.0)
    # 1e-14: what the evaluation from below subtracts for rounding, over the multiplier.
    assert exact <= level <= exact + 2e-14


def integral_of_min(law: GeneralizedGaussian, radius: float, multiplier: float) -> float:
    """I(l) for d = 3 by a plain rule over norm and cosine, which knows the density alone."""
    norms = law.sigma * np.exp(np.linspace(-12, 3.5, 3001))
    cosines, weights = np.polynomial.legendre.leggauss(401)

    def log_density(norm: np.ndarray) -> np.ndarray:
        unit = law.scale * np.sqrt(2)
        return np.asarray(-2 * law.k * np.log(norm) - (norm / unit) ** law.eta)

    away = np.sqrt(norms[:, None] ** 2 + radius**2 - 2 * radius * norms[:, None] * cosines)
    here, there = np.exp(log_density(norms))[:, None], np.exp(log_density(away))
    shells = norms**3 / 2  # norm^2 d norm, in the logarithm of the norm
    total = np.trapezoid(shells * np.exp(log_density(norms)) * 2, np.log(norms))
    inner = np.minimum(multiplier * here, there) @ weights
    return float(np.trapezoid(shells * inner, np.log(norms)) / total)


@pytest.mark.parametrize(("k", "eta"), [(0.0, 2.0), (0.5, 2.0), (0.0, 1.0), (0.4, 3.0)])
@pytest.mark.parametrize("multiplier", [1.5, 6.0, 40.0])
def test_the_overlap_is_the_integral_from_below(k: float, eta: float, multiplier: float) -> None:
    law = GeneralizedGaussian(3, 1.0, k, eta)
    exact = integral_of_min(law, 0.7, multiplier)
    # 2e-5: the error of the plain rule at its kinks.
    assert exact - 2e-5 <= overlap(law, 0.7, multiplier) <= exact + 2e-5


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_best_multiplier_gives_the_exact_inverse(law: GeneralizedGaussian) -> None:
    radius = 0.6 * law.sigma
    _, level = calibration_level(law, radius, 0.9, 1, 0.0)
    least = dsrs.least_probability(law, dsrs.Interval(level, 1.0), radius=radius)
    # 1e-8: what the trusted evaluation charges flat, times the slope of about 3.
    assert 0.9 - 1e-8 <= least.dual_bound <= 0.9 + 1e-8


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_any_other_multiplier_asks_for_more(law: GeneralizedGaussian) -> None:
    radius = 0.6 * law.sigma
    best, level = calibration_level(law, radius, 0.9, 1, 0.0)
    for factor in (0.7, 0.9, 1.1, 1.5):
        multiplier = factor * best.multiplier
        other = ShiftProof(radius, multiplier, overlap(law, radius, multiplier))
        assert level_of(other, Fraction(0.9)) > level


def test_the_level_rises_with_radius_coverage_and_variation() -> None:
    law = GeneralizedGaussian(30, 1.0, 5.0)
    for name, values in {
        "radius": (0.0, 0.3, 0.6, 1.0),
        "coverage": (0.5, 0.8, 0.9, 0.95),
        "variation": (0.0, 1e-6, 1e-4, 1e-3),
    }.items():
        usual = {"radius": 0.5, "coverage": 0.9, "variation": 1e-9}
        levels = [
            calibration_level(law, u["radius"], u["coverage"], 1, u["variation"])[1]
            for u in (usual | {name: value} for value in values)
        ]
        assert all(a < b for a, b in itertools.pairwise(levels)), name


def test_noise_on_a_grid_is_charged_twice() -> None:
    proof = shift_proof(GeneralizedGaussian(30, 1.0), 1.0, 0.9)
    without, charged = (level_of(proof, Fraction(0.9), v) for v in (0.0, 1e-4))
    assert charged == pytest.approx(without + 1e-4 + 1e-4 / proof.multiplier, rel=1e-12)


def test_unmoved_inputs_need_their_coverage_alone() -> None:
    assert calibration_level(GeneralizedGaussian(30, 1.0), 0.0, 0.9, 1, 0.0)[1] == 0.9


def test_each_of_several_sets_has_half_of_the_misses() -> None:
    assert coverage_of_one(0.9, 1) == Fraction(0.9)
    assert coverage_of_one(0.9, 7) == 1 - (1 - Fraction(0.9)) / 2
    one, several = (calibration_level(LAWS[0], 0.2, 0.9, m, 0.0)[1] for m in (1, 3))
    assert several > one


def test_a_radius_beyond_all_proof_asks_for_everything() -> None:
    law = GeneralizedGaussian(784, 0.5, 391.5)  # so concentrated that a small shift leaves nothing
    assert calibration_level(law, 1.0, 0.9, 1, 0.0)[1] == 1.0


@pytest.mark.parametrize("radius", [-1.0, float("nan"), float("inf")])
def test_a_radius_that_is_no_length_is_refused(radius: float) -> None:
    with pytest.raises(InvalidInput, match="radius"):
        shift_proof(LAWS[0], radius, 0.9)

"""The dual bound in l1 and l-infinity against a closed form, draws of whole vectors, patience."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs import Interval, Observation
from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from reproduction.norms import (
    OtherNorm,
    OverlapSearch,
    Rule,
    Shifted,
    error_bound,
    radius_in_norm,
    unit_in_norm,
)

Floats = NDArray[np.float64]
LAW = GeneralizedGaussian(784, 0.5, 380)


@pytest.mark.parametrize("d", [2, 784, 150_528])
@pytest.mark.parametrize("wrong", [0.3, 0.05, 1e-4])
def test_laplace_noise_has_its_closed_form(d: int, wrong: float) -> None:
    """For independent Laplace noise of scale b the radius is b ln(1 / (2 (1 - P_A)))."""
    exact = 0.5 / math.sqrt(2) * math.log(1 / (2 * wrong))
    radius = radius_in_norm("l1", GeneralizedGaussian(d, 0.5, 0.0, 1.0), 1 - wrong)
    assert exact * (1 - 2e-6) < radius <= exact


def test_radii_are_those_of_the_monte_carlo_estimate_and_a_little_more() -> None:
    """A million draws and a tenth of alpha = 0.001 proved 0.6014 and 0.9738 from these bounds."""
    second = Observation(Truncated(LAW, 0.5), Interval(0.997246, 1.0))
    assert radius_in_norm("l1", LAW, 0.915897) == pytest.approx(0.60616, rel=1e-4)
    assert radius_in_norm("l1", LAW, 0.915897, second) == pytest.approx(0.98117, rel=1e-4)
    assert radius_in_norm("l1", LAW, 0.5) == 0


def test_laws_that_the_worst_shift_is_not_known_of_are_refused() -> None:
    rising = Weighted(LAW, (1.0, 20.0), (0.0, 30.0))
    for law in (rising, Truncated(LAW.resized(0.4), 0.5)):
        with pytest.raises(InvalidInput, match="must fall with the norm"):
            radius_in_norm("l1", LAW, 0.9, Observation(law, Interval(0.9, 1.0)))
    with pytest.raises(InvalidInput, match="`norm` must be l1 or linf"):
        unit_in_norm("l2", LAW)  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [2, 3])
def test_in_few_dimensions_a_surer_class_has_a_larger_radius(d: int) -> None:
    for law in (GeneralizedGaussian(d, 1.0), GeneralizedGaussian(d, 1.0, 0.0, 4.0)):
        radii = [radius_in_norm("l1", law, p_lower) for p_lower in (0.7, 0.9, 0.95, 0.99, 0.999)]
        assert radii == sorted(radii)
        assert radii[0] > 0


def lengths(norm: OtherNorm, x: Floats) -> Floats:
    sizes = np.abs(x)
    return np.asarray(sizes.sum(axis=1) if norm == "l1" else sizes.max(axis=1))


def noise(norm: OtherNorm, law: GeneralizedGaussian, count: int) -> Floats:
    """Noise that is round in the norm, with the unit s of `law`: directions of Laplace numbers, or
    of the cube."""
    generator = np.random.default_rng(7)
    x = generator.laplace(size=(count, law.d))
    if norm == "linf":
        x = generator.uniform(-1, 1, (count, law.d))
    return np.asarray(x * (law.sample_norms(count, generator) / lengths(norm, x))[:, None])


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_sigma_is_the_size_of_a_coordinate(norm: OtherNorm) -> None:
    for k, eta in ((0.0, 2.0), (5.0, 2.0), (2.0, 1.0)):
        law = GeneralizedGaussian(12, 0.7, k, eta)
        x = noise(norm, law, 40_000) * unit_in_norm(norm, law)
        assert np.sqrt((x**2).mean()) == pytest.approx(0.7, rel=0.01)


def sampled(
    norm: OtherNorm, law: GeneralizedGaussian, delta: Floats, laws: list[AdditionalLaw], by: Floats
) -> tuple[float, float]:
    """V by draws of whole vectors, with its standard error: nothing of overlaps or shells."""
    x = noise(norm, law, 40_000)
    before, after = lengths(norm, x), lengths(norm, x + delta)
    log_ratio = 2 * law.k * np.log(before / after) + law.shell(before) - law.shell(after)
    weights = [np.zeros(len(x)), *(other.log_weight(law.shell(after)) for other in laws)]
    with np.errstate(over="ignore"):
        total = sum(c * np.exp(log_ratio + w) for c, w in zip(by, weights, strict=True))
    values = np.maximum(1 - total, 0.0)
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("q", ["none", "truncated", "rescaled"])
def test_the_integral_agrees_with_draws_of_whole_vectors(norm: OtherNorm, q: str) -> None:
    law = GeneralizedGaussian(12, 0.5, 3.0)
    laws: dict[str, list[AdditionalLaw]] = {
        "none": [],
        "truncated": [Truncated(law, 0.5)],
        "rescaled": [Rescaled(law, 0.35)],
    }
    others = laws[q]
    multipliers = np.array([1.4, 0.6][: 1 + len(others)])
    radius = 0.15 * float(law.norm(law.m))
    delta = np.full(12, radius) if norm == "linf" else np.eye(12)[0] * radius
    mean, error = sampled(norm, law, delta, others, multipliers)
    found = error_bound(law, radius, others, np.zeros(len(multipliers)), multipliers)
    assert found == pytest.approx(mean, abs=4.5 * error)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_no_other_shift_of_the_ball_is_worse(norm: OtherNorm) -> None:
    law, generator = GeneralizedGaussian(4, 0.5, 0.8), np.random.default_rng(11)
    multipliers, radius = np.array([1.2, 0.5]), 0.4 * float(law.norm(law.m))
    others: list[AdditionalLaw] = [Truncated(law, 0.6)]
    worst = error_bound(law, radius, others, np.zeros(2), multipliers)
    for _ in range(8):
        delta = generator.standard_normal((1, 4))
        delta *= radius / lengths(norm, delta)
        mean, error = sampled(norm, law, delta, others, multipliers)
        assert mean < worst + 4.5 * error


def test_the_bound_is_never_below_a_patient_one() -> None:
    """Many panels and both rules: laws, shifts and multipliers at random, kinks and jumps included.

    The patient sum has kinks inside its panels, which it misses by less than 3e-6.
    """
    generator = np.random.default_rng(3)
    for _ in range(25):
        d = int(generator.choice([2, 10, 784, 150_528]))
        eta, m = float(generator.choice([1.0, 2.0, 4.0])), float(generator.choice([0.4, 4, 50]))
        law = GeneralizedGaussian(d, 0.5, max(0.0, (d - m * eta) / 2), eta)
        others: list[AdditionalLaw] = [Truncated(law, float(generator.uniform(0.1, 0.9)))]
        others = others[: int(generator.integers(2))]
        radius = float(np.exp(generator.uniform(-3, 2))) * float(law.norm(law.m)) / d
        multipliers = np.exp(generator.uniform(-2, 6, 1 + len(others)))
        found = error_bound(law, radius, others, np.zeros(len(multipliers)), multipliers)
        patient = Shifted.by(law, radius, others, Rule(500, 8, True)).excess(multipliers).sum()
        assert patient - 3e-6 < found < patient + 2e-4


def test_long_overlaps_in_the_plane_are_not_underestimated() -> None:
    """The density is e^-n / n, and the overlap is uniform: mpmath integrates both to 25 digits."""
    law, multiplier = GeneralizedGaussian(2, 0.2, 0.5, 1.0), 4.820750396459726
    errors = np.array([1 - 0.9492934992343481])
    radius = 0.23713981076746393 / unit_in_norm("l1", law)
    wrong = error_bound(law, radius, (), errors, np.array([multiplier]))
    assert 0 < wrong - (1 - 0.50000118320760406) < 1e-6


def test_what_is_returned_was_proved() -> None:
    """From other multipliers than those of the step before, the search ended without a proof."""
    law = GeneralizedGaussian(10, 0.5, 0.0, 1.0)
    errors = np.array([1 - 0.9755611286322688, 1 - 0.9674309958498724])
    search = OverlapSearch(law, (Rescaled(law, 0.3179693630503419),), errors)
    radius, multipliers, wrong = search.largest()
    assert 1.067 < radius * unit_in_norm("l1", law) < 1.0672
    assert wrong < 0.5
    assert wrong == error_bound(law, radius, search.others, errors, multipliers)

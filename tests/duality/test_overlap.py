"""The dual bound in l1 and l-infinity against a closed form, draws of whole vectors, patience."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsrs.duality.overlap import Rule, Shifted, error_bound
from dsrs.duality.overlap_search import OverlapSearch
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, L1Law, LinfLaw, Rescaled, Truncated
from dsrs.laws.norms import norm_of

Floats = np.ndarray


@pytest.mark.parametrize("d", [2, 784, 150_528])
@pytest.mark.parametrize("wrong", [0.3, 0.05, 1e-4])
def test_laplace_noise_has_its_closed_form(d: int, wrong: float) -> None:
    """For independent Laplace noise of scale b the radius is b ln(1 / (2 (1 - P_A)))."""
    law = L1Law(d, 0.5, 0.0, 1.0)
    exact = 0.5 / math.sqrt(2) * math.log(1 / (2 * wrong))
    radius, _, bound = OverlapSearch(law, (), np.array([wrong])).largest()
    assert exact * (1 - 2e-6) < radius <= exact
    assert bound < 0.5


def lengths(law: GeneralizedGaussian, x: Floats) -> Floats:
    """The norms of the rows, in the norm of the law."""
    sizes = np.abs(x)
    return np.asarray(sizes.sum(axis=1) if law.measured_in == "l1" else sizes.max(axis=1))


def log_density(law: GeneralizedGaussian, x: Floats) -> Floats:
    """Up to a constant, from whole vectors."""
    norms = lengths(law, x)
    return np.asarray(-2 * law.k * np.log(norms) - law.shell(norms))


def sampled(
    law: GeneralizedGaussian, delta: Floats, others: list[AdditionalLaw], multipliers: Floats
) -> tuple[float, float]:
    """V by draws of whole vectors, with its standard error: nothing of overlaps or shells."""
    x = law.sample(40_000, np.random.default_rng(7))
    moved = x + delta
    log_ratio = log_density(law, moved) - log_density(law, x)
    norms = lengths(law, moved)
    weights = [np.zeros(len(x)), *(other.log_weight(law.shell(norms)) for other in others)]
    with np.errstate(over="ignore"):
        total = sum(c * np.exp(log_ratio + w) for c, w in zip(multipliers, weights, strict=True))
    values = np.maximum(1 - total, 0.0)
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize("kind", [L1Law, LinfLaw])
@pytest.mark.parametrize("q", ["none", "truncated", "rescaled"])
def test_the_integral_agrees_with_draws_of_whole_vectors(kind: type, q: str) -> None:
    law = kind(12, 0.5, 3.0)
    laws: dict[str, list[AdditionalLaw]] = {
        "none": [],
        "truncated": [Truncated(law, 0.5)],
        "rescaled": [Rescaled(law, 0.35)],
    }
    others = laws[q]
    multipliers = np.array([1.4, 0.6][: 1 + len(others)])
    radius = 0.15 * float(law.norm(law.m))
    delta = np.full(12, radius) if kind is LinfLaw else np.eye(12)[0] * radius
    mean, error = sampled(law, delta, others, multipliers)
    found = error_bound(law, radius, others, np.zeros(len(multipliers)), multipliers)
    assert found == pytest.approx(mean, abs=4.5 * error)


@pytest.mark.parametrize("kind", [L1Law, LinfLaw])
def test_no_other_shift_of_the_ball_is_worse(kind: type) -> None:
    law, generator = kind(4, 0.5, 0.8), np.random.default_rng(11)
    multipliers, radius = np.array([1.2, 0.5]), 0.4 * float(law.norm(law.m))
    others: list[AdditionalLaw] = [Truncated(law, 0.6)]
    worst = error_bound(law, radius, others, np.zeros(2), multipliers)
    for _ in range(8):
        delta = generator.standard_normal(4)
        delta *= radius / norm_of(delta, law.measured_in)
        mean, error = sampled(law, delta, others, multipliers)
        assert mean < worst + 4.5 * error


def test_the_bound_is_never_below_a_patient_one() -> None:
    """Many panels and both rules: laws, shifts and multipliers at random, kinks and jumps included.

    The patient sum has kinks inside its panels, which it misses by less than 3e-6.
    """
    generator = np.random.default_rng(3)
    for _ in range(25):
        d = int(generator.choice([2, 10, 784, 150_528]))
        eta, m = float(generator.choice([1.0, 2.0, 4.0])), float(generator.choice([0.4, 4, 50]))
        law = L1Law(d, 0.5, max(0.0, (d - m * eta) / 2), eta)
        others: list[AdditionalLaw] = [Truncated(law, float(generator.uniform(0.1, 0.9)))]
        others = others[: int(generator.integers(2))]
        radius = float(np.exp(generator.uniform(-3, 2))) * float(law.norm(law.m)) / d
        multipliers = np.exp(generator.uniform(-2, 6, 1 + len(others)))
        found = error_bound(law, radius, others, np.zeros(len(multipliers)), multipliers)
        patient = Shifted.by(law, radius, others, Rule(500, 8, True)).excess(multipliers).sum()
        assert patient - 3e-6 < found < patient + 2e-4


def test_long_overlaps_in_the_plane_are_not_underestimated() -> None:
    """The density is e^-n / n, and the overlap is uniform: mpmath integrates both to 25 digits."""
    law, radius, multiplier = L1Law(2, 0.2, 0.5, 1.0), 0.23713981076746393, 4.820750396459726
    errors = np.array([1 - 0.9492934992343481])
    wrong = error_bound(law, radius, (), errors, np.array([multiplier]))
    assert 0 < wrong - (1 - 0.50000118320760406) < 1e-6


def test_what_is_returned_was_proved() -> None:
    """From other multipliers than those of the step before, the search ended without a proof."""
    law = L1Law(10, 0.5, 0.0, 1.0)
    errors = np.array([1 - 0.9755611286322688, 1 - 0.9674309958498724])
    search = OverlapSearch(law, (Rescaled(law, 0.3179693630503419),), errors)
    radius, multipliers, wrong = search.largest()
    assert 1.067 < radius < 1.0672
    assert wrong < 0.5
    assert wrong == error_bound(law, radius, search.others, errors, multipliers)

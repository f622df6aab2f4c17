"""Smoothing laws that are round in l1 or l-infinity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dsrs.duality.base import base_of
from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.landscape.shells import shells_of
from dsrs.laws import (
    GeneralizedGaussian,
    L1Law,
    LinfLaw,
    Rescaled,
    Truncated,
    law_in_norm,
    sample_additional,
    smoothing_law_from_dict,
)
from dsrs.laws.grid import Grid
from dsrs.laws.norms import norm_of

LAWS = [L1Law, LinfLaw]


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("k", "eta"), [(0.0, 2.0), (5.0, 2.0), (2.0, 1.0)])
def test_sigma_is_the_size_of_a_coordinate(kind: type, k: float, eta: float) -> None:
    law = kind(12, 0.7, k, eta)
    noise = law.sample(40_000, np.random.default_rng(1))
    assert np.sqrt((noise**2).mean()) == pytest.approx(0.7, rel=0.01)
    norms = np.array([norm_of(row, law.measured_in) for row in noise[:4000]])
    shells = law.shell(norms)
    assert stats.kstest(shells, stats.gamma(law.m).cdf).pvalue > 1e-4


def test_laplace_coordinates_are_l1_noise() -> None:
    """l1 with eta = 1 and k = 0 has independent Laplace coordinates of variance sigma^2."""
    noise = L1Law(6, 0.5, 0.0, 1.0).sample(5000, np.random.default_rng(2))
    assert stats.kstest(noise[:, 2], stats.laplace(scale=0.5 / np.sqrt(2)).cdf).pvalue > 1e-4


@pytest.mark.parametrize("kind", LAWS)
def test_additional_laws_have_the_same_shape(kind: type) -> None:
    law, generator = kind(9, 0.5, 2.0), np.random.default_rng(3)
    half = Truncated(law, 0.5)
    noise = sample_additional(half, 2000, generator)
    norms = np.array([norm_of(row, law.measured_in) for row in noise])
    assert norms.max() <= half.radius * (1 + 1e-12)
    assert half.radius == pytest.approx(float(law.norm(special.gammaincinv(law.m, 0.5))))
    assert Rescaled(law, 0.3).law == kind(9, 0.3, 2.0)


@pytest.mark.parametrize("kind", LAWS)
def test_json_gives_the_law_back(kind: type) -> None:
    law = kind(9, 0.5, 2.0, 3.0)
    assert smoothing_law_from_dict(law.to_dict()) == law
    assert law.to_dict()["kind"] == law.kind == law.measured_in
    assert law != GeneralizedGaussian(9, 0.5, 2.0, 3.0)
    with pytest.raises(InvalidInput, match="has d, sigma, k and eta"):
        smoothing_law_from_dict({"kind": law.kind, "d": 9})
    with pytest.raises(UnknownLaw):
        smoothing_law_from_dict({**law.to_dict(), "kind": "l3"})
    with pytest.raises(UnknownLaw, match="one of"):
        smoothing_law_from_dict({**law.to_dict(), "kind": {}})
    with pytest.raises(InvalidInput, match="must be one of l1, l2, linf"):
        law_in_norm("l3", 9, 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", LAWS)
def test_what_is_known_for_l2_refuses_other_norms(kind: type) -> None:
    law = kind(9, 0.5, 2.0)
    assert not kind(9, 0.5).is_gaussian
    for function in (base_of, shells_of):
        with pytest.raises(InvalidInput, match="only for noise that is round in the l2 norm"):
            function(law)


def test_the_charge_of_the_grid_bounds_the_sum_of_mean_sizes() -> None:
    """docs/grid.md: e (4 d + 2 sum_j E|y_j| / h); the sum is E|y|_1."""
    grid = Grid(1 / 4080)
    for law in (L1Law(50, 0.5, 3.0), LinfLaw(50, 0.5, 3.0)):
        noise = law.sample(4000, np.random.default_rng(4))
        least = 2.0**-53 * 40 * (4 * 50 + 2 * np.abs(noise).sum(axis=1).mean() * 4080)
        assert least < grid.variation(law) < 6 * least
        assert grid.variation(Truncated(law, 0.5)) < grid.variation(law)

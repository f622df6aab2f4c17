"""What the general search knows of B: its value, and its derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.duality import dual_bound, lay_nodes
from dsrs.laws import GeneralizedGaussian, Rescaled
from duality.search_cases import Measured, general_cases, problem

CASES = general_cases()


@pytest.mark.parametrize("name", CASES)
def test_its_value_is_the_trusted_one_to_what_a_search_needs(name: str) -> None:
    case, multipliers = CASES[name]
    for shift in (0.1, 0.8, 2.0):
        rho = shift * case.base.unit
        trusted = dual_bound(case, multipliers, rho)
        # Where g changes its sign short shifts are beyond the few nodes of a search.
        room = 1e-4 if shift == 0.1 and multipliers.min() < 0 else 5e-8
        assert Measured(lay_nodes(case), rho, multipliers).bound == pytest.approx(trusted, abs=room)


@pytest.mark.parametrize("name", CASES)
def test_its_gradient_is_that_of_differences(name: str) -> None:
    case, multipliers = CASES[name]
    nodes, rho = lay_nodes(case), 0.8 * case.base.unit
    at = Measured(nodes, rho, multipliers)
    for i in range(len(multipliers)):
        step = np.zeros(len(multipliers))
        step[i] = 1e-4 * abs(multipliers[i])
        ahead, behind = (Measured(nodes, rho, multipliers + s) for s in (step, -step))
        slope = (ahead.bound - behind.bound) / (2 * step[i])
        assert at.gradient[i] == pytest.approx(slope, abs=1e-5)
        bend = (ahead.hits - behind.hits) / (2 * step[i])
        assert at.curvature[i] == pytest.approx(bend, rel=5e-3, abs=1e-5)


@pytest.mark.parametrize("m", [0.8, 1.6, 5.0])
def test_its_curvature_knows_the_step_at_a_zero_of_g(m: float) -> None:
    """With many dimensions and a small shape no node sees how R ends there."""
    law = GeneralizedGaussian(572, 1.0, 286 - m)
    case = problem(law, (0.9, 0.91), (Rescaled(law, 0.6), 0.8, 0.81))
    multipliers = np.array([60.0, -60.0 * 1.5 * 0.6 ** (2 * m)])
    nodes, rho = lay_nodes(case), 0.8 * case.base.unit
    at = Measured(nodes, rho, multipliers)
    for i in range(2):
        step = np.zeros(2)
        step[i] = 1e-3 * abs(multipliers[i])
        ahead, behind = (Measured(nodes, rho, multipliers + s) for s in (step, -step))
        bend = (ahead.hits - behind.hits) / (2 * step[i])
        assert at.curvature[i] == pytest.approx(bend, rel=0.02)


@pytest.mark.parametrize("name", CASES)
def test_its_slope_in_the_shift_is_that_of_differences(name: str) -> None:
    case, multipliers = CASES[name]
    nodes, rho = lay_nodes(case), 0.8 * case.base.unit
    step = 1e-4 * rho
    ahead, behind = (Measured(nodes, rho + s, multipliers) for s in (step, -step))
    at = Measured(nodes, rho, multipliers)
    assert at.slope == pytest.approx((ahead.bound - behind.bound) / (2 * step), rel=1e-4, abs=1e-5)
    swept = (ahead.hits - behind.hits) / (2 * step)
    assert at.sweeps == pytest.approx(swept, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_the_bound_is_concave(name: str) -> None:
    case, multipliers = CASES[name]
    nodes, rho = lay_nodes(case), 0.8 * case.base.unit
    generator = np.random.default_rng(1)
    for _ in range(10):
        # Kinks at 0 included: B chooses the worse end of each interval itself.
        a, b = multipliers * generator.normal(0.5, 1.0, (2, len(multipliers)))
        ends = [Measured(nodes, rho, x).bound for x in (a, b)]
        assert Measured(nodes, rho, 0.5 * (a + b)).bound >= np.mean(ends) - 1e-7
    at = Measured(nodes, rho, multipliers)
    assert (at.curvature == at.curvature.T).all()
    assert np.linalg.eigvalsh(at.curvature).min() > -1e-9


def test_its_work_is_counted() -> None:
    case, multipliers = CASES["rescaled"]
    before = case.work[0]
    Measured(lay_nodes(case), 0.5, multipliers)
    assert case.work[0] > before + 24

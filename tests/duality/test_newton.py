"""The search for multipliers of any laws: that it ends at the maximum, from wherever it starts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from dsrs.duality import (
    Floats,
    Problem,
    dual_bound,
    general_multipliers,
    lay_nodes,
    newton_step,
    slope_of,
    start_alone,
)
from dsrs.laws import Rescaled, Truncated
from duality.search_cases import MNIST, Measured, general_cases, problem

CASES = general_cases()


def best(case: Problem, rho: float, start: Floats) -> tuple[float, float, Floats, Floats]:
    found, rates = start.copy(), np.zeros(len(start))
    value, slope = general_multipliers(lay_nodes(case), rho, found, rates)
    return value, slope, found, rates


def test_a_step_solves_the_equations_of_the_free_multipliers() -> None:
    generator = np.random.default_rng(3)
    half = generator.normal(size=(4, 4))
    curvature, slope = half @ half.T + np.eye(4), generator.normal(size=4)
    free = newton_step(np.ones(4), slope, curvature, np.inf)
    assert free == pytest.approx(np.linalg.solve(curvature, slope), rel=1e-9)
    # One that rests at its kink takes no part.
    multipliers, slope[2] = np.array([1.0, -1.0, 0.0, 2.0]), 0.0
    step = newton_step(multipliers, slope, curvature, np.inf)
    others = np.array([0, 1, 3])
    inside = np.linalg.solve(curvature[np.ix_(others, others)], slope[others])
    assert step[others] == pytest.approx(inside, rel=1e-9)
    assert step[2] == 0


def test_a_step_without_curvature_is_no_longer_than_it_may_be() -> None:
    """Where a law hits everything, however small the slope and the curvature that is left."""
    slope = np.array([1e-3, -2e-6])
    for left in (0.0, 1e-18, 1e-12):
        curvature = np.array([[0.3, 0.0], [0.0, left]])
        step = newton_step(np.ones(2), slope, curvature, 8.0)
        assert step == pytest.approx([1e-3 / 0.3, -8.0], rel=1e-3)


def test_at_a_kink_only_a_slope_that_leads_away_counts() -> None:
    case = problem(MNIST, (0.9, 0.95), (Rescaled(MNIST, 0.8), 0.5, 0.6))
    nodes, slope = lay_nodes(case), np.empty(2)
    for hit, expected in ((0.4, 0.1), (0.55, 0.0), (0.7, -0.1)):
        slope_of(nodes, np.array([1.0, 0.0]), np.array([0.9, hit]), slope)
        assert slope[1] == pytest.approx(expected)
    slope_of(nodes, np.array([-1.0, 1.0]), np.array([0.9, 0.9]), slope)
    assert slope == pytest.approx([0.05, -0.4])


@pytest.mark.parametrize("name", CASES)
def test_it_finds_what_a_plain_maximiser_finds(name: str) -> None:
    case, start = CASES[name]
    rho = 0.8 * case.base.unit
    value, _, found, _ = best(case, rho, np.zeros(len(start)))
    assert value == pytest.approx(dual_bound(case, found, rho), abs=1e-7)
    options = {"xatol": 1e-6, "fatol": 1e-11, "maxfev": 150}
    plain = optimize.minimize(
        lambda x: -dual_bound(case, x, rho), start, method="Nelder-Mead", options=options
    )
    assert value >= -plain.fun - 1e-8
    near = optimize.minimize(
        lambda x: -dual_bound(case, x, rho), found, method="Nelder-Mead", options=options
    )
    assert -near.fun <= value + 1e-7


@pytest.mark.parametrize("name", CASES)
def test_the_start_does_not_change_the_answer(name: str) -> None:
    case, start = CASES[name]
    rho = 0.8 * case.base.unit
    first = best(case, rho, np.zeros(len(start)))
    for other in (start, 0.1 * start, 5.0 * start, first[2]):
        again = best(case, rho, other)
        assert again[0] == pytest.approx(first[0], abs=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_slope_and_rates_are_those_of_differences(name: str) -> None:
    case, start = CASES[name]
    rho, step = 0.8 * case.base.unit, 1e-3 * case.base.unit
    _, slope, found, rates = best(case, rho, start)
    ahead, behind = best(case, rho + step, found), best(case, rho - step, found)
    assert slope == pytest.approx((ahead[0] - behind[0]) / (2 * step), rel=1e-3)
    difference = (ahead[2] - behind[2]) / (2 * step)
    assert rates == pytest.approx(difference, rel=0.02, abs=0.02 * np.abs(difference).max())


def test_multipliers_that_do_not_help_end_at_zero() -> None:
    case = problem(MNIST, (0.93, 0.95), (Rescaled(MNIST, 0.8), 0.9, 1.0))
    value, _, found, _ = best(case, 0.8 * case.base.unit, np.array([1.0, 3.0]))
    alone = best(problem(MNIST, (0.93, 0.95)), 0.8 * case.base.unit, np.zeros(1))
    assert found[1] == 0
    assert value == pytest.approx(alone[0], abs=1e-9)


def test_it_starts_from_p_or_from_the_surest_law() -> None:
    ball = (Truncated(MNIST, 0.5), 0.99, 1.0)
    found = np.zeros(2)
    start_alone(lay_nodes(problem(MNIST, (0.7, 0.9), ball)), 0.5, found)
    assert found[0] > 0 == found[1]
    found = np.zeros(2)
    start_alone(lay_nodes(problem(MNIST, (0.4, 0.9), ball)), 0.5, found)
    assert found[1] > 0 == found[0]


def test_it_stops_when_the_work_is_spent() -> None:
    law = (Rescaled(MNIST, 0.8), 0.95, 0.96)
    case = problem(MNIST, (0.97, 0.98), law, work=2000.0)
    best(case, 0.8 * case.base.unit, np.zeros(2))
    one = problem(MNIST, (0.97, 0.98), law)
    Measured(lay_nodes(one), 0.8 * one.base.unit, np.array([6.0, -2.0]))
    # At most what one line search and its last look take beyond it.
    assert case.work[0] < 2000 + 15 * one.work[0]

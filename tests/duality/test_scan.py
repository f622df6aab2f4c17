"""The slow searches: the same maximum as Newton's, and the best along one multiplier."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.duality import (
    best_alone,
    general_multipliers,
    lay_nodes,
    scan_multipliers,
    slope_at,
    sweep_multipliers,
)
from dsrs.laws import Rescaled
from duality.search_cases import MNIST, Measured, general_cases, problem

CASES = general_cases()


def newton_value(name: str, rho: float) -> float:
    case, start = CASES[name]
    found = start.copy()
    nodes = lay_nodes(case)
    return general_multipliers(nodes, rho, found, np.zeros(len(start)))[0]


@pytest.mark.parametrize("name", ["rescaled", "a negative multiplier", "few dimensions"])
def test_the_scan_of_two_finds_the_maximum(name: str) -> None:
    case, start = CASES[name]
    nodes, rho, found = lay_nodes(case), 0.8 * case.base.unit, start.copy()
    scan_multipliers(nodes, rho, found)
    # Bisection ends within 1e-7 of the logarithm of each.
    assert Measured(nodes, rho, found).bound == pytest.approx(newton_value(name, rho), abs=1e-7)


def test_sweeps_climb_and_end_near_the_maximum() -> None:
    case, start = CASES["three laws"]
    nodes, rho, found = lay_nodes(case), 0.8 * case.base.unit, start.copy()
    before = Measured(nodes, rho, found).bound
    sweep_multipliers(nodes, rho, found)
    after, top = Measured(nodes, rho, found).bound, newton_value("three laws", rho)
    assert before < after <= top + 1e-7
    assert after > top - 0.1 * (top - before)


@pytest.mark.parametrize("name", CASES)
def test_one_multiplier_ends_where_its_slope_is_zero(name: str) -> None:
    case, start = CASES[name]
    nodes, rho = lay_nodes(case), 0.8 * case.base.unit
    for i in range(len(start)):
        found = start.copy()
        best_alone(nodes, rho, found, i, abs(start[i]))
        if found[i] == 0:
            assert slope_at(nodes, rho, found, i, 1.0) <= 0 <= slope_at(nodes, rho, found, i, -1.0)
        else:
            assert abs(slope_at(nodes, rho, found, i, np.sign(found[i]))) < 1e-6
        assert (np.delete(found, i) == np.delete(start, i)).all()


def test_slopes_on_both_sides_of_a_kink_are_those_of_both_ends() -> None:
    case = problem(MNIST, (0.9, 0.95), (Rescaled(MNIST, 0.8), 0.5, 0.6))
    nodes, multipliers = lay_nodes(case), np.array([1.0, 0.0])
    up, down = (slope_at(nodes, 0.3, multipliers, 1, side) for side in (1.0, -1.0))
    assert down - up == pytest.approx(0.1)

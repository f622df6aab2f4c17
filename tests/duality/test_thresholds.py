"""Thresholds of regions: the closed form, derivatives by differences, and starts that are warm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special

from dsrs.duality import (
    Floats,
    Problem,
    alone_multipliers,
    dual_bound,
    lay_nodes,
    line_value,
    log_p,
    predicted,
    region_threshold,
    rough_normal_quantile,
    split_multipliers,
    within_line,
)
from dsrs.laws import Truncated
from duality.search_cases import GAUSSIAN, MNIST, SMALL, problem

CASES = {
    "alone": problem(MNIST, (0.93, 0.95)),
    "a family alone": problem(SMALL, (0.93, 0.95)),
    "inner threshold above": problem(MNIST, (0.93, 0.95), (Truncated(MNIST, 0.6), 0.98, 0.99)),
    "inner threshold below": problem(MNIST, (0.9, 0.92), (Truncated(MNIST, 0.6), 0.86, 0.87)),
    "the ball says nothing": problem(MNIST, (0.93, 0.95), (Truncated(MNIST, 0.6), 0.9, 0.99)),
    "a family with a ball": problem(SMALL, (0.93, 0.95), (Truncated(SMALL, 0.6), 0.98, 0.99)),
}


def best(
    case: Problem, rho: float, warm: np.ndarray | None = None
) -> tuple[float, float, Floats, Floats]:
    count = len(case.lowers)
    found, rates = np.zeros(count), np.zeros(count)
    search = alone_multipliers if count == 1 else split_multipliers
    warm = np.zeros((3, 3)) if warm is None else warm
    value, slope = search(lay_nodes(case), rho, warm, found, rates)
    return value, slope, found, rates


@pytest.mark.parametrize("p", [0.6, 0.93, 0.999])
def test_under_gaussian_noise_the_threshold_is_the_closed_form(p: float) -> None:
    z, rho = special.ndtri(p), 0.7
    value, slope, found, rates = best(problem(GAUSSIAN, (p, 1.0)), rho)
    # B is flat at the top: the search stops when it has B, and the rest is of first order.
    assert math.log(found[0]) == pytest.approx(rho * z - rho**2 / 2, abs=1e-6)
    assert value == pytest.approx(special.ndtr(z - rho), abs=1e-9)
    density = math.exp(-((z - rho) ** 2) / 2) / math.sqrt(2 * math.pi)
    assert slope == pytest.approx(-density, abs=1e-3)
    assert rates[0] / found[0] == pytest.approx(z - rho, abs=5e-3)


@pytest.mark.parametrize("name", CASES)
def test_no_multipliers_nearby_give_more(name: str) -> None:
    case, rho = CASES[name], 0.8 * CASES[name].base.unit
    value, _, found, _ = best(case, rho)
    top = dual_bound(case, found, rho)
    assert top == pytest.approx(value, abs=1e-8)
    for i in range(len(found)):
        for change in (-1e-3, 1e-3):
            other = found.copy()
            other[i] += change * max(abs(found[i]), 1.0)
            assert dual_bound(case, other, rho) < top + 1e-9


@pytest.mark.parametrize("name", CASES)
def test_slope_and_rates_are_those_of_differences(name: str) -> None:
    case, rho, step = CASES[name], 0.8 * CASES[name].base.unit, 1e-3 * CASES[name].base.unit
    _, slope, found, rates = best(case, rho)
    below, above = best(case, rho - step), best(case, rho + step)
    assert slope == pytest.approx((above[0] - below[0]) / (2 * step), rel=1e-4)
    difference = (above[2] - below[2]) / (2 * step)
    # Thresholds are good to 1e-4 or so where B is flat.
    assert rates == pytest.approx(difference, rel=0.05, abs=0.05 * np.abs(difference).max() + 1e-3)
    assert found == pytest.approx(0.5 * (below[2] + above[2]), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_a_warm_start_does_not_change_the_answer(name: str) -> None:
    case, unit = CASES[name], CASES[name].base.unit
    cold = best(case, 0.8 * unit)
    for elsewhere in (0.1, 0.75, 2.0):
        warm = np.zeros((3, 3))
        best(case, elsewhere * unit, warm)
        again = best(case, 0.8 * unit, warm)
        assert again[0] == pytest.approx(cold[0], abs=2e-9)
        assert again[2] == pytest.approx(cold[2], rel=1e-3, abs=1e-3)


def test_a_region_of_nothing_or_of_all_has_no_finite_threshold() -> None:
    nodes = lay_nodes(CASES["alone"])
    count = len(nodes.t)
    assert region_threshold(nodes, 0.5, 0, count, 0.0, 1.0, 0.0).a == -math.inf
    assert region_threshold(nodes, 0.5, 0, count, 1.0, 0.0, 0.0).a == math.inf


def test_a_line_is_integrated_forwards_and_backwards() -> None:
    for case in (CASES["alone"], CASES["a family alone"]):
        nodes, base, rho = lay_nodes(case), case.base, 0.7 * case.base.unit

        def integrand(v: float) -> float:
            return within_line(base, rho, 0.1, v)[0] * math.exp(log_p(base, v))  # noqa: B023

        value, slope = line_value(nodes, rho, 0.1, -0.4, 0.3)
        exact = integrate.quad(integrand, -0.4, 0.3, points=[0.0, 0.1], epsabs=1e-12)[0]
        assert value == pytest.approx(exact, abs=1e-9)
        assert line_value(nodes, rho, 0.1, 0.3, -0.4) == pytest.approx((-value, -slope))
        step = 1e-4 * rho
        ahead, behind = (line_value(nodes, rho + h, 0.1, -0.4, 0.3)[0] for h in (step, -step))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-7)


def test_the_rough_quantile_is_near_the_true_one() -> None:
    for share in (1e-6, 0.01, 0.3, 0.5, 0.9, 0.999):
        assert rough_normal_quantile(share) == pytest.approx(
            special.ndtri(share), abs=0.05, rel=0.05
        )


def test_predictions_go_on_from_the_last_radius_but_not_far() -> None:
    warm = np.zeros((3, 3))
    warm[1] = 2.0, 3.0, 0.5
    assert predicted(warm, 1, 0.6, 0.9, 1.0) == pytest.approx(2.3)
    assert predicted(warm, 1, 100.0, 0.9, 1.0) == pytest.approx(5.0)
    assert predicted(warm, 0, 0.5, 0.9, 1.0) == pytest.approx(
        0.5 * (special.ndtri(0.9) - 0.25), abs=0.01
    )

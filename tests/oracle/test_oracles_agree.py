"""Textbook, mpmath shells and linear program against each other and against recorded radii."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import mpmath as mp
import pytest
from scipy.special import ndtri

from oracle.linear_program import primal_worst_case
from oracle.shells import Weight, dual_bound, shell_cdf, shell_partial_mean, shell_shortfall
from oracle.textbook import (
    InfeasibleBox,
    textbook_box_minimum,
    textbook_np_radius,
    textbook_radius,
    textbook_worst_case,
)
from oracle.theorem_integrals import RescaledQ, Shells, TruncatedQ

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "double_sampling.csv.gz"
SHELLS = [
    # d, k, rho, t, lam
    (2, 0.3, 0.7, 0.5, 0.9),
    (20, 5.0, 0.6, 4.0, 0.7),
    (784, 380.0, 0.2, 12.0, 1.3),
    (150528, 75260.0, 0.01, 4.0, 2.0),
]


@pytest.mark.parametrize(("d", "k", "rho", "t", "lam"), SHELLS)
def test_textbook_shell_is_the_mpmath_shell(
    d: int, k: float, rho: float, t: float, lam: float
) -> None:
    sigma = math.sqrt((d - 2 * k) / d)  # so that s' = 1 and r = rho
    shells = Shells(d, k, sigma, rho)
    exact = shell_cdf(d, k, rho, t, lam)
    # Floats lose k eps sqrt(d) in the Lambert W form: 1e-9 at k = 75,260.
    assert shells.hit(t, math.log(lam)) == pytest.approx(float(exact), abs=1e-9)
    assert shells.miss(t, math.log(lam)) == pytest.approx(float(1 - exact), abs=1e-9)


def test_shortfall_is_lam_f_minus_g() -> None:
    for case in SHELLS:
        with mp.workdps(40):
            gap = case[-1] * shell_cdf(*case) - shell_partial_mean(*case) - shell_shortfall(*case)
            assert abs(gap) < 1e-35


def lagrangian(
    d: float, k: float, r: float, l1: float, l2: float, shape: str, value: float
) -> float:
    """R + l1 (P_A - P) + l2 (Q_A - Q), with sigma = 0.5, P_A = 0.9 and Q_A = 0.95."""
    shells = Shells(d, k, 0.5, r)
    if shape == "rescaled":
        law = RescaledQ(shells, value)
        return law.r(l1, l2) + l1 * (0.9 - law.p(l1, l2)) + l2 * (0.95 - law.q(l1, l2))
    ball = TruncatedQ(shells, value)
    log_in = math.log(l1 + l2 / value) if l1 + l2 / value > 0 else -math.inf
    log_out = math.log(l1) if l1 > 0 else -math.inf
    inside = ball.inside(log_in)
    hit = inside + ball.outside(log_out)
    return ball.r(log_in, log_out) + l1 * (0.9 - hit) + l2 * (0.95 - inside / value)


@pytest.mark.parametrize(
    ("d", "k", "r", "l1", "l2", "shape", "value"),
    [
        (20, 6.0, 0.9, 1.2, -0.2, "truncated", 0.4),
        (20, 0.5, 0.4, 1.2, -0.7, "rescaled", 0.4),
        pytest.param(5, 2.0, 0.9, 1.2, -0.7, "truncated", 0.4, marks=pytest.mark.slow),
        pytest.param(784, 380.0, 0.5, 1.2, 0.7, "truncated", 0.8, marks=pytest.mark.slow),
        pytest.param(784, 380.0, 0.5, -0.3, 2.0, "truncated", 0.8, marks=pytest.mark.slow),
        pytest.param(784, 380.0, 0.5, -1.2, 2.0, "rescaled", 0.4, marks=pytest.mark.slow),
        pytest.param(784, 380.0, 0.5, 1.2, -0.7, "rescaled", 0.6, marks=pytest.mark.slow),
        pytest.param(784, 0.0, 0.5, 1.2, 0.7, "truncated", 0.8, marks=pytest.mark.slow),
        pytest.param(150528, 75260.0, 0.7, 0.8, 0.5, "truncated", 0.4, marks=pytest.mark.slow),
    ],
)
def test_dual_bound_is_the_textbook_lagrangian(
    d: int, k: float, r: float, l1: float, l2: float, shape: str, value: float
) -> None:
    exact = dual_bound(d, k, 0.5, r, l1, l2, 0.9, 0.95, shape, value)
    # quad is asked for 1e-9, and the multipliers are of order 1
    assert lagrangian(d, k, r, l1, l2, shape, value) == pytest.approx(float(exact), abs=2e-9)


@pytest.mark.slow
def test_a_law_split_in_two_gives_the_same_dual_bound() -> None:
    whole = dual_bound(20, 6.0, 0.5, 0.6, 0.8, 0.6, 0.8, 0.9, "truncated", 0.5)
    half = Weight("truncated", 0.5, 0.3, 0.9)
    parts = dual_bound(20, 6.0, 0.5, 0.6, 0.8, 0.3, 0.8, 0.9, "truncated", 0.5, more=[half])
    assert abs(whole - parts) < 1e-15


@pytest.mark.parametrize(
    ("P", "Q", "percentile"),
    [
        (0.9, 0.97, 0.6),
        (0.45, 0.9, 0.4),
        (0.5, 1.0, 0.4),
        (0.5, 0.0, 0.4),
        (0.35, 0.5, 0.7),  # P_A = Q_A / nu
        (0.65, 0.5, 0.7),  # P_A = 1 - (1 - Q_A) / nu
    ],
)
def test_truncated_worst_case_is_the_linear_program(P: float, Q: float, percentile: float) -> None:
    worst = textbook_worst_case(20, 5.0, 0.5, 0.5, P, Q, "truncated", percentile)
    primal = primal_worst_case(20, 5.0, 0.5, 0.5, (P, P), (Q, Q), "truncated", percentile)
    # f constant on cells can only be too large, and 120 x 120 cells cost less than 1e-3;
    # below, the slack of 1e-6 times a multiplier
    assert worst - 1e-4 <= primal <= worst + 1e-3


@pytest.mark.parametrize(
    ("d", "k", "P", "Q", "beta"),
    [
        (20, 5.0, 0.3, 0.9, 0.3),  # P below 1/2, lambda_1 < 0
        pytest.param(20, 5.0, 0.9, 0.96, 0.4, marks=pytest.mark.slow),
        pytest.param(20, 5.0, 0.9, 0.96, 0.6, marks=pytest.mark.slow),
        pytest.param(20, 0.0, 0.9, 0.96, 0.4, marks=pytest.mark.slow),
        pytest.param(12, 0.5, 0.9, 0.7, 0.4, marks=pytest.mark.slow),  # lambda_2 < 0
    ],
)
def test_rescaled_worst_case_is_the_linear_program(
    d: int, k: float, P: float, Q: float, beta: float
) -> None:
    worst = textbook_worst_case(d, k, 0.5, 0.5, P, Q, "rescaled", beta)
    primal = primal_worst_case(d, k, 0.5, 0.5, (P, P), (Q, Q), "rescaled", beta)
    assert worst - 1e-4 <= primal <= worst + 1e-3


@pytest.mark.parametrize(
    ("p_box", "q_box"),
    [
        ((0.85, 0.9), (0.9, 0.95)),
        ((0.85, 0.9), (0.8, 1.0)),
        ((0.4, 0.7), (0.95, 1.0)),
        ((0.6, 0.8), (0.3, 0.5)),
    ],
)
def test_algorithm_1_finds_the_corner_of_the_box(
    p_box: tuple[float, float], q_box: tuple[float, float]
) -> None:
    P, Q = textbook_box_minimum(20, 5.0, 0.5, 0.4, *p_box, "truncated", 0.6, *q_box)
    worst = textbook_worst_case(20, 5.0, 0.5, 0.4, P, Q, "truncated", 0.6)
    primal = primal_worst_case(20, 5.0, 0.5, 0.4, p_box, q_box, "truncated", 0.6)
    assert worst - 1e-4 <= primal <= worst + 1e-3


@pytest.mark.parametrize("d", [20, 3072, 150528])
def test_a_vacuous_interval_for_q_gives_the_closed_form(d: int) -> None:
    radius = 0.5 * ndtri(0.8)
    assert textbook_np_radius(d, 0.0, 0.5, 0.8) == radius
    P, Q = textbook_box_minimum(d, 0.0, 0.5, radius, 0.8, 1.0, "truncated", 0.5, 0.0, 1.0)
    worst = textbook_worst_case(d, 0.0, 0.5, radius, P, Q, "truncated", 0.5)
    assert worst == pytest.approx(0.5, abs=1e-8)  # quad is asked for 1e-9


def test_an_infeasible_point_is_refused() -> None:
    with pytest.raises(InfeasibleBox):
        textbook_worst_case(20, 5.0, 0.5, 0.5, 0.5, 0.9, "truncated", 0.7)
    with pytest.raises(InfeasibleBox):
        textbook_worst_case(20, 5.0, 0.5, 0.5, 0.99, 0.1, "rescaled", 0.4)
    with pytest.raises(ValueError, match="no classifier"):
        primal_worst_case(20, 5.0, 0.5, 0.5, (0.5, 0.5), (0.9, 0.9), "truncated", 0.7)


def recorded(shape: str, k: float, index: int) -> dict[str, float]:
    """One recorded run without fall-back, its numbers as floats."""
    if not REFERENCE.exists():
        pytest.skip(f"recorded certificates are not at {REFERENCE}")
    with gzip.open(REFERENCE, "rt") as lines:
        for row in csv.DictReader(lines):
            if (row["q_shape"], float(row["k"]), row["fallback"]) != (shape, k, "0"):
                continue
            if int(row["index"]) >= index and float(row["radius"]) > 0.3:
                names = ("d", "k", "sigma", "p_lower", "p_upper", "q_value", "q_lower", "q_upper")
                return {name: float(row[name]) for name in (*names, "radius", "radius_grid")}
    raise LookupError((shape, k, index))


ROWS = [
    ("truncated", 380.0, 10),
    ("truncated", 1530.0, 100),
    pytest.param("rescaled", 380.0, 10, marks=pytest.mark.slow),
    pytest.param("rescaled", 1530.0, 100, marks=pytest.mark.slow),
    pytest.param("rescaled", 1510.0, 10, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("shape", "k", "index"), ROWS)
def test_textbook_radius_is_the_recorded_one(shape: str, k: float, index: int) -> None:
    row = recorded(shape, k, index)
    radius = textbook_radius(
        row["d"], k, row["sigma"], row["p_lower"], row["p_upper"],
        shape, row["q_value"], row["q_lower"], row["q_upper"], tol=1e-5,
    )  # fmt: skip
    # A recorded radius is the last passing multiple of the grid, good to 1e-4.
    assert row["radius"] - 1e-4 <= radius <= row["radius"] + row["radius_grid"] + 1e-4


def test_one_recorded_rescaled_radius_passes_and_the_next_step_fails() -> None:
    """The rescaled search takes a minute; the two ends of its interval take seconds."""
    row = recorded("rescaled", 380.0, 10)
    p, q = (row["p_lower"], row["p_upper"]), (row["q_lower"], row["q_upper"])
    law = (row["d"], row["k"], row["sigma"])
    for r, holds in [
        (row["radius"] - 1e-4, True),
        (row["radius"] + row["radius_grid"] + 1e-4, False),
    ]:
        P, Q = textbook_box_minimum(*law, r, *p, "rescaled", row["q_value"], *q)
        assert (textbook_worst_case(*law, r, P, Q, "rescaled", row["q_value"]) > 0.5) is holds

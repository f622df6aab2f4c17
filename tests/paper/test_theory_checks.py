"""Theorems 2 and 6 against independent routes to the same numbers."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.concentration import (
    THEOREM_2_RATE,
    ball_radius,
    concentration_radius,
    first_impossible_dimension,
    gamma_table,
    shifted_ball_mass,
    theorem_2,
    theorem_2_for_every_m,
    theorem_6,
)

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"


@pytest.mark.parametrize("d", [2, 3, 10, 784, 150_528])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_gaussian_ball_mass_is_a_noncentral_chi_square(d: int, share: float) -> None:
    law = GeneralizedGaussian(d, 0.5)
    ball = float(law.radial_quantile(0.7))
    shift = share * min(ball, 3.0)
    exact = stats.ncx2.cdf((ball / 0.5) ** 2, d, (shift / 0.5) ** 2)
    # SciPy's noncentral chi-square itself is good to about 1e-9 at large d.
    assert shifted_ball_mass(law, ball, shift) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("d", [20, 784])
def test_ball_mass_is_the_integral_of_the_lemma(d: int) -> None:
    law = GeneralizedGaussian(d, 1.0, d / 2 - 5)
    ball = concentration_radius(d, 1.0, 0.5)
    shift = 0.1 * math.sqrt(d)
    beta = stats.beta((d - 1) / 2, (d - 1) / 2)

    def integrand(t: float) -> float:
        norm = float(law.norm(t))
        inside = beta.cdf((ball**2 - (norm - shift) ** 2) / (4 * shift * norm))
        return float(stats.gamma.pdf(t, law.m) * inside)

    step = float(law.shell(math.sqrt(ball**2 - shift**2)))
    lemma, _ = integrate.quad(integrand, 1e-9, 60, points=[step], limit=400, epsabs=1e-11)
    assert shifted_ball_mass(law, ball, shift) == pytest.approx(lemma, abs=1e-8)


@given(
    d=st.integers(2, 10_000),
    m=st.floats(0.5, 15),
    share=st.floats(0, 0.99),
    further=st.floats(0, 0.99),
)
def test_ball_mass_falls_with_the_shift(d: int, m: float, share: float, further: float) -> None:
    law = GeneralizedGaussian(d, 1.0, max(d / 2 - m, 0.0))
    ball = float(law.radial_quantile(0.6))
    near, far = sorted((share, further))
    assert (
        shifted_ball_mass(law, ball, far * ball)
        <= shifted_ball_mass(law, ball, near * ball) + 1e-12
    )


def test_ball_radius_is_where_half_of_the_mass_is_left() -> None:
    law = GeneralizedGaussian(3072, 0.5, 1530)
    ball = concentration_radius(3072, 0.5, 0.6)
    assert shifted_ball_mass(law, ball, ball_radius(law, ball)) == pytest.approx(0.5, abs=1e-11)
    assert ball_radius(law, float(law.radial_quantile(0.5))) == 0.0


def test_theorem_2_and_the_recorded_curve() -> None:
    path = REFERENCE / "dimension_simulations.csv"
    if not path.exists():
        pytest.skip("needs ../shared/reference")
    with path.open(encoding="utf-8") as lines:
        recorded = {
            int(row["d"]): float(row["radius"])
            for row in csv.DictReader(lines)
            if row["curve"] == "exact_concentration"
        }
    for growth in theorem_2(sorted(recorded)):
        assert growth.radius >= growth.theorem_2
        # The recorded curve also knows P_A, more than the ball's mass, which helps at small d.
        assert growth.radius <= recorded[growth.d] * (1 + 1e-6)
        if growth.d >= 300:
            assert growth.radius == pytest.approx(recorded[growth.d], rel=1e-6)


def test_gamma_table_equals_the_paper() -> None:
    rows = gamma_table()
    assert len(rows) == 30
    assert all(row.agrees and row.suffices for row in rows)


def test_theorem_6_rate_falls_like_the_fourth_root() -> None:
    rates = [growth.rate for growth in theorem_6([4**power for power in range(5, 12)])]
    # |x + delta|^2 has mean d + r^2 and spread sqrt(2 d): r ~ d^(1/4), the rate halves with 16 d.
    assert rates[2] / rates[0] == pytest.approx(0.5, rel=0.01)
    assert rates[-1] / rates[-3] == pytest.approx(0.5, rel=0.001)
    assert first_impossible_dimension(0.1) == 2048


def test_theorem_2_holds_for_every_m_of_the_proofs_table() -> None:
    rows = theorem_2_for_every_m((20, 30, 44, 784, 150_528, 3_646_460))
    assert [row.m for row in rows] == [step / 2 for step in range(1, 31)]
    # Where k = d/2 - m is 0, P is the Gaussian whose median norm T is: nothing is certified.
    assert [row.holds_from for row in rows] == [20] * 19 + [30] * 10 + [44]
    assert all(THEOREM_2_RATE <= row.least_rate <= row.last_rate for row in rows)
    # The larger m, the nearer to the Gaussian, which has no such growth.
    assert all(after.last_rate < before.last_rate for before, after in pairwise(rows))


@pytest.mark.parametrize("k", [0, 1, 10, 100, 1000])
def test_theorem_6_for_every_constant_k(k: int) -> None:
    rates = [growth.rate for growth in theorem_6([4**p for p in (7, 9, 11, 13)], k=float(k))]
    # d^(1/4) whatever the constant: the rate halves with 16 d, and k is forgotten.
    for before, after in pairwise(rates):
        assert after / before == pytest.approx(0.5, rel=0.03)
    assert rates[-1] == pytest.approx(theorem_6([4**13])[0].rate, rel=1e-3)
    assert first_impossible_dimension(0.02, k=float(k)) == 2**20


def test_out_of_range_arguments_are_refused() -> None:
    law = GeneralizedGaussian(10, 1.0)
    with pytest.raises(InvalidInput, match="p_con"):
        concentration_radius(10, 1.0, 1.0)
    with pytest.raises(InvalidInput, match="shift"):
        shifted_ball_mass(law, 1.0, 1.5)
    with pytest.raises(InvalidInput, match="rate"):
        first_impossible_dimension(0.0)

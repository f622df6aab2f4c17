"""Theorems 2 and 6 against independent routes to the same numbers.

Figure 2a against the recorded simulation, and the drawing of the figures.
"""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from reproduction.growth import (
    DIMENSION_VOTES,
    RELAXED_POWERS,
    THEOREM_2_RATE,
    DimensionCurve,
    ball_radius,
    concentration_radius,
    dimension_curves,
    first_impossible_dimension,
    gamma_table,
    paper_dimensions,
    projected_radius,
    relaxed_lower,
    sampled_lower,
    shifted_ball_mass,
    theorem_2,
    theorem_2_for_every_m,
    theorem_6,
)
from reproduction.recorded import RecordedRun, RunName

SIMULATIONS = Path(__file__).parents[3] / "shared" / "reference" / "dimension_simulations.csv"


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
    if not SIMULATIONS.exists():
        pytest.skip("needs ../shared/reference")
    with SIMULATIONS.open(encoding="utf-8") as lines:
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


def recorded_points() -> dict[tuple[str, float | None, int], float]:
    if not SIMULATIONS.exists():
        pytest.skip("needs ../shared/reference")
    names = {"exact_concentration": "exact", "sampled": "sampled"}
    with SIMULATIONS.open(encoding="utf-8") as lines:
        return {
            (names[row["curve"]], float(row["n"]) if row["n"] else None, int(row["d"])): float(
                row["radius"]
            )
            for row in csv.DictReader(lines)
            if row["curve"] in names
        }


def compare(curves: list[DimensionCurve]) -> int:
    points = recorded_points()
    count = 0
    for curve in curves:
        for d, radius in zip(curve.dimensions, curve.radii, strict=True):
            assert radius == pytest.approx(points[curve.kind, curve.parameter, d], rel=1e-3)
            count += 1
    return count


def test_some_points_of_figure_2a() -> None:
    assert compare(dimension_curves(dimensions=(20, 732, 3_646_460))) == 3 * (
        1 + len(DIMENSION_VOTES)
    )


@pytest.mark.slow
def test_every_point_of_figure_2a() -> None:
    assert compare(dimension_curves()) == 31 * (1 + len(DIMENSION_VOTES))


def test_the_recorded_dimensions() -> None:
    dimensions = paper_dimensions()
    assert (dimensions[0], dimensions[-1], len(dimensions)) == (20, 3_646_460, 31)
    assert {d for _, _, d in recorded_points()} == set(dimensions)


def test_bounds_of_the_simulation() -> None:
    assert sampled_lower(10) ** 10 == pytest.approx(0.0005, rel=1e-12)
    assert relaxed_lower(100, 0.5) == pytest.approx(1 - np.exp(-10.0), rel=1e-14)
    assert relaxed_lower(3_646_460, 0.5) == 1.0
    # The paper's projection: r_NP d^(a / 1.18) with r_NP = Phi^-1(0.6).
    assert projected_radius(1, 0.3) == pytest.approx(0.2533471031357997, rel=1e-12)


def test_relaxed_curves_lie_below_exact_concentration_and_end_before_doubles_do() -> None:
    curves = dimension_curves(("exact", "relaxed"), (44, 150_528))
    exact = dict(zip(curves[0].dimensions, curves[0].radii, strict=True))
    assert [curve.parameter for curve in curves[1:]] == list(RELAXED_POWERS)
    for curve in curves[1:]:
        for d, radius in zip(curve.dimensions, curve.radii, strict=True):
            assert 0 < radius < exact[d]
    assert curves[-1].dimensions == (44,)
    # Exact concentration proves at least the lemma's radius.
    law = GeneralizedGaussian(150_528, 1.0, 150_528 / 2 - 5)
    lemma = ball_radius(law, concentration_radius(150_528, 1.0, 0.5))
    assert exact[150_528] == pytest.approx(lemma, rel=1e-6)


def sweep(radii: dict[float, list[float]]) -> list[RecordedRun]:
    law = GeneralizedGaussian(3072, 0.5, 1530)
    return [
        RecordedRun(
            RunName("consistency-cifar-1530-0.50", law, 50_000, 0.0005, "truncated", str(value)),
            np.arange(len(found)),
            np.full(len(found), 0.9),
            np.full(len(found), 0.91),
            np.array(found),
        )
        for value, found in radii.items()
    ]


def test_best_percentiles() -> None:
    from reproduction.figures_of_record import PERCENTILES, best_percentiles, sweep_runs

    # First input: best at 0.3 and (nearly) at 0.4. Second: abstained. Third: no difference.
    rows = {p: [1.0, 0.0, 0.5] for p in PERCENTILES}
    rows[0.3][0], rows[0.4][0] = 1.2, 1.195
    runs = sweep(rows)
    best = best_percentiles(
        sweep_runs(runs[::-1], "consistency-cifar-1530-0.50"), lambda run: run.recorded_radius
    )
    assert (best.least.tolist(), best.greatest.tolist()) == ([0.3], [0.4])
    with pytest.raises(DataError, match=r"0\.1"):
        sweep_runs(runs[1:], "consistency-cifar-1530-0.50")


def test_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from reproduction.figures_of_record import (
        BestPercentiles,
        draw_accuracy_by_norm,
        draw_heuristic,
    )
    from reproduction.figures_of_theory import draw_relaxed, draw_sampled
    from reproduction.recorded import AccuracyByNorm

    curves = [
        DimensionCurve("exact", None, (20, 30), (1.0, 1.2)),
        DimensionCurve("sampled", 1000.0, (20, 30), (0.7, 0.8)),
        DimensionCurve("relaxed", 0.5, (20,), (0.7,)),
    ]
    draw_sampled(curves, tmp_path / "sampled.svg")
    draw_relaxed(curves, tmp_path / "relaxed.svg")
    best = BestPercentiles("model", np.array([0.9]), np.array([0.3]), np.array([0.5]))
    draw_heuristic(best, tmp_path / "heuristic.svg")
    norms = np.linspace(0, 100, 5)
    curve = AccuracyByNorm(
        "cohen-mnist-380-1.00",
        GeneralizedGaussian(784, 1.0, 380),
        np.zeros(5, dtype=np.int64),
        norms,
        np.linspace(1, 0, 5),
    )
    draw_accuracy_by_norm([curve, curve], tmp_path / "deeper" / "norm.svg")
    drawn = [
        tmp_path / f"{name}.svg" for name in ("sampled", "relaxed", "heuristic", "deeper/norm")
    ]
    assert all("<svg" in path.read_text(encoding="utf-8") for path in drawn)
    assert "10^{3}" in drawn[0].read_text(encoding="utf-8")

"""Figure 2a against the recorded simulation, and the drawing of the figures."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from dsrs.errors import DataError
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.concentration import ball_radius, concentration_radius
from dsrs.paper.dimension import (
    DIMENSION_VOTES,
    RELAXED_POWERS,
    DimensionCurve,
    dimension_curves,
    paper_dimensions,
    projected_radius,
    relaxed_lower,
    sampled_lower,
)
from dsrs.paper.recorded import RecordedRun, RunName

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "dimension_simulations.csv"


def recorded_points() -> dict[tuple[str, float | None, int], float]:
    if not REFERENCE.exists():
        pytest.skip("needs ../shared/reference")
    names = {"exact_concentration": "exact", "sampled": "sampled"}
    with REFERENCE.open(encoding="utf-8") as lines:
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
    from dsrs.paper.figures.truncation import PERCENTILES, best_percentiles, sweep_runs

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
    from dsrs.paper.figures.dimension import draw_relaxed, draw_sampled
    from dsrs.paper.figures.noise_norm import draw_accuracy_by_norm
    from dsrs.paper.figures.truncation import BestPercentiles, draw_heuristic
    from dsrs.paper.recorded import AccuracyByNorm

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

"""Numbers of docs/differences.md that come from certifying the recorded runs again."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dsrs import Interval, Observation, certify, certify_rows
from dsrs.duality.kernel import compile_kernels
from dsrs.exchange.dsrs_logs import read_radius_log, read_sampling_log
from dsrs.laws import GeneralizedGaussian
from dsrs.measures.rounding import floor_printed
from dsrs.paper.certification_time import certification_time, runs_to_time
from dsrs.paper.dimension import (
    RELAXED_POWERS,
    dimension_curves,
    problem,
    relaxed_lower,
    sampled_lower,
)
from dsrs.paper.logs import read_logs
from dsrs.paper.published import published_accuracy
from dsrs.paper.recertify import recertified_radii
from dsrs.paper.recorded import RECORDED_DIMENSIONS, dataset_of
from dsrs.paper.recorded_accuracy import RecordedAccuracy
from dsrs.paper.reference_tables import read_reference
from dsrs.paper.table_runs import row_key, runs_needed
from dsrs.paper.tables import Cell, compare_tables
from oracle.textbook import textbook_box_minimum, textbook_np_radius, textbook_worst_case
from paper.documentation import row, stated

TABLES = {
    "best-over-sigma": "best over sigma",
    "per-sigma": "by sigma",
    "variants": "truncated against rescaled",
    "truncation-choice": "choice of T",
    "acr": "average radius",
}
Rows = list[dict[str, str]]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def accuracy(original_logs: Path) -> RecordedAccuracy:
    logs = read_logs(original_logs)
    runs, alone = runs_needed(logs.runs, TABLES), runs_needed(logs.radii, TABLES)
    return RecordedAccuracy(runs, recertified_radii, alone)


@pytest.fixture(scope="module")
def cells(accuracy: RecordedAccuracy) -> list[Cell]:
    return compare_tables(accuracy, TABLES)


def test_the_table_of_cells(cells: list[Cell]) -> None:
    page = stated("differences")
    for table, title in TABLES.items():
        members = [cell for cell in cells if cell.table == table]
        covered = [cell for cell in members if cell.ours is not None]
        signs = [np.sign(cell.difference or 0) for cell in covered]
        recorded = sum(cell.source == "recorded" for cell in covered)
        line = row(
            title,
            len(members),
            len(covered) - recorded,
            recorded,
            len(members) - len(covered),
            *(signs.count(sign) for sign in (0, 1, -1)),
        )
        assert line in page


def test_every_cell_below_is_listed_with_its_reason(cells: list[Cell]) -> None:
    page = stated("differences")
    below = [cell for cell in cells if (cell.difference or 0) < 0]
    assert all(cell.reason and not cell.short for cell in below)
    unproved = [cell for cell in below if cell.reason.startswith("recorded but not proved")]
    assert {cell.reason for cell in unproved} == {
        "recorded but not proved: input 4400, 0.25 (proved 0.249958)"
    }
    assert "Input 4400 has 0.25 recorded, but only 0.249958 can be proved" in page
    others = {(cell.training, cell.radius) for cell in below if cell not in unproved}
    assert others == {
        (t, r) for t, r in [*(("gaussian", r) for r in (1.0, 1.6, 2.2)), ("consistency", 1.4)]
    }
    assert "r = 1, 1.6 and 2.2 (Gaussian) and r = 1.4 (Consistency), each 0.1 short" in page


def test_rescaled_q_on_imagenet(accuracy: RecordedAccuracy, cells: list[Cell]) -> None:
    page = stated("differences")
    for printed in published_accuracy():
        if (printed.table, printed.dataset) != ("variants", "imagenet"):
            continue
        if printed.certification == "neyman-pearson":
            continue
        radii = accuracy.radii(row_key(printed, 1.0))
        assert radii is not None
        ours = [f"{float(radii.percent(r)):.1f}" for r in printed.radii]
        if printed.certification == "dsrs-truncated":
            assert row("truncated", *ours) in page
        else:
            assert row("rescaled, printed", *(f"{p:.1f}" for p in printed.percents)) in page
            assert row("rescaled, exact", *ours) in page
    gains = [c.difference or 0 for c in cells if c.table == "variants"]
    assert f"gains up to {max(gains):.1f} points" in page


def test_average_radii(cells: list[Cell]) -> None:
    page = stated("differences")
    gained = [cell for cell in cells if cell.table == "acr" and (cell.difference or 0) > 0]
    assert len(gained) == 5
    for cell in gained:
        assert cell.ours is not None
        assert f"{cell.paper:.3f} to {floor_printed(float(cell.ours), 4)}" in page


def test_fall_back_rows_from_all_votes(reference: Path) -> None:
    (run,) = (
        run
        for run in read_reference(reference)
        if (run.name.model, run.name.rule) == ("consistency-imagenet-75260-0.25", "x+")
    )
    assert run.fallback is not None
    radii = Counter(floor_printed(float(r), 3) for r in recertified_radii(run)[run.fallback])
    assert radii == {"0.876": 240, "0.859": 33}
    assert "all votes prove 0.876, and 0.859 for the 33 with a miss." in stated("differences")


def test_recorded_radii_are_of_the_first_lines(original_logs: Path) -> None:
    """Inputs that a log of P has with two intervals, whose radius was recorded and is not 0."""
    page = stated("differences")
    logs = [(path, read_sampling_log(path)) for path in l2_sampling_logs(original_logs)]
    twice = [(path, log) for path, log in logs if log.later]
    inputs = sum(len(log.later) for _, log in twice)
    assert f"{inputs} inputs of {len(twice)} logs have other intervals" in page.replace(
        "three", "3"
    )
    told = 0
    for path, log in twice:
        name = f"orig-rad-{path.name}"
        radii = original_logs / "orig-radius" / path.parent.name / name
        if log.name.rule is None and radii.exists():
            law = GeneralizedGaussian(
                RECORDED_DIMENSIONS[dataset_of(path.parent.name)], log.name.sigma, log.name.k
            )
            for index, recorded in read_radius_log(radii).radii.items():
                lines = [certify(law, line).radius for line in log.lines(index)]
                if recorded.radius and len(lines) > 1 and abs(lines[0] - lines[1]) > 1e-4:
                    assert lines[0] == pytest.approx(recorded.radius, abs=5e-6)
                    told += 1
    assert f"(all {told} that can be told apart)" in page


def l2_sampling_logs(folder: Path) -> list[Path]:
    found = (folder / "sampling").glob("*/*.txt")
    return sorted(path for path in found if path.name.startswith(("gaussian-", "general-")))


def certified(rows: Rows) -> np.ndarray:
    outcomes = list(certify_rows(rows))
    return np.array([o.certificate.radius if o.certificate else np.nan for o in outcomes])


def recorded(reference: Path, name: str, keep: Callable[[dict[str, str]], bool]) -> Rows:
    with gzip.open(reference / f"{name}.csv.gz", "rt") as file:
        return [row for row in csv.DictReader(file) if keep(row)]


def textbook_probability(row: dict[str, str], radius: float) -> float:
    d, k, sigma = int(row["d"]), float(row["k"]), float(row["sigma"])
    law = (row["q_shape"], float(row["q_value"]))
    p = float(row["p_lower"]), float(row["p_upper"])
    q = float(row["q_lower"]), float(row["q_upper"])
    worst = textbook_box_minimum(d, k, sigma, radius, *p, *law, *q)
    return float(textbook_worst_case(d, k, sigma, radius, *worst, *law))


def test_radii_of_double_sampling(reference: Path) -> None:
    page = stated("differences")
    rows = recorded(reference, "double_sampling", lambda row: row["fallback"] == "0")
    ours = certified(rows)
    theirs = np.array([float(row["radius"]) for row in rows])
    grid = np.array([float(row["radius_grid"]) for row in rows])
    gain = ours - theirs
    above, below = gain > grid + 1e-4, gain < -1e-4
    agree = int(np.count_nonzero(~(above | below) & ~np.isnan(gain)))
    assert f"Of the {len(rows):,} recorded rows of double sampling without fall-back" in page
    assert f"- {agree:,} agree to 1e-4" in page
    assert (
        f"- {np.count_nonzero(above)} gain more than a grid step, up to {gain.max():.3f} "
        f"(median {np.median(gain[above]):.2f})" in page
    )
    assert (
        f"- {np.count_nonzero(below)} are smaller, by {-gain[below].max():.4f} to "
        f"{-gain.min():.3f}" in page
    )
    found = [textbook_probability(rows[i], theirs[i] - 1e-6) for i in np.flatnonzero(below)]
    assert max(found) < 0.5
    assert f"({min(found):.4f} to {max(found):.5f})" in page


def test_radii_of_neyman_pearson(reference: Path) -> None:
    page = stated("differences")
    rows = recorded(reference, "neyman_pearson", lambda row: True)
    gap = np.abs(certified(rows) - [float(row["radius"]) for row in rows])
    gaussian = np.array([float(row["k"]) == 0 for row in rows])
    assert gap[gaussian].max() <= 5e-13
    assert np.mean(gap[~gaussian] <= 3e-6) >= 0.99
    assert f"Of the {len(rows):,} Neyman-Pearson rows, those with k = 0 agree to 5e-13" in page
    far = np.flatnonzero(gap > 1e-4)
    assert len(far) == 11
    assert "Eleven differ by more than 1e-4, up to 5e-4" in page
    assert gap.max() < 5.5e-4
    lower = [float(rows[i]["p_lower"]) for i in far]
    assert f"between {min(lower):.4f} and {max(lower):.4f}" in page
    for i in far:
        d, k, sigma, p = (float(rows[i][name]) for name in ("d", "k", "sigma", "p_lower"))
        textbook = textbook_np_radius(d, k, sigma, p)
        assert certified([rows[i]])[0] == pytest.approx(textbook, abs=2e-6 * sigma)


def test_curves_against_the_dimension(reference: Path) -> None:
    page = stated("differences")
    with (reference / "dimension_simulations.csv").open(encoding="utf-8") as lines:
        points = list(csv.DictReader(lines))
    names = {"exact_concentration": "exact", "sampled": "sampled"}
    known = {
        (names[p["curve"]], float(p["n"]) if p["n"] else None, int(p["d"])): float(p["radius"])
        for p in points
        if p["curve"] in names
    }
    gaps = [
        abs(radius / known[curve.kind, curve.parameter, d] - 1)
        for curve in dimension_curves()
        for d, radius in zip(curve.dimensions, curve.radii, strict=True)
    ]
    assert f"all {len(gaps)} points" in page
    assert max(gaps) <= 1e-3
    assert f"every point agrees to 1e-3, {sum(gap <= 1e-4 for gap in gaps)} of them to 1e-4" in page
    # With Q_A known from below only, the curve n = 10 alone changes.
    losses = {}
    for n in (10, 100):
        for d in (20, 732, 3_646_460):
            law, p, q = problem(d, sampled_lower(n))
            wide = Observation(q.law, Interval(q.interval.lower, 1.0))
            losses[n, d] = 1 - certify(law, p, wide).radius / certify(law, p, q).radius
    assert all(0.025 < losses[10, d] < 0.085 for d in (20, 732, 3_646_460))
    assert max(losses[100, d] for d in (20, 732, 3_646_460)) < 1e-6
    assert "only the curve n = 10 changes, by 3 to 8 %" in page
    relaxed = dimension_curves(("exact", "relaxed"), (44,))
    radii = {curve.parameter: curve.radii[0] for curve in relaxed}
    shown = [floor_printed(radii[power], 2) for power in RELAXED_POWERS[1:]]
    assert f"{', '.join(shown[:3])} and {shown[3]}" in page
    assert f"(1.62 against {radii[None]:.3f})" in page
    assert 1 - relaxed_lower(488, 0.5) == pytest.approx(3e-10, rel=0.2)


def test_the_time_of_a_certificate(original_logs: Path) -> None:
    compile_kernels()
    runs = runs_to_time(read_logs(original_logs).runs)
    found = [certification_time(run, 50, original_logs) for run in runs]
    assert max(one.overhead for one in found) < 5e-3
    paper = [f"{one.paper:.2f}" for one in found]
    page = stated("method")
    assert "less than 5 milliseconds more than Neyman-Pearson's on MNIST, CIFAR-10 and" in page
    assert f"the paper gives {paper[0]}, {paper[1]} and {paper[2]} seconds" in page

"""Every number of docs/method.md that comes from the theory, computed again.

Numbers of docs/differences.md that come from certifying the recorded runs again.

Numbers of docs/differences.md that the recorded runs alone give, without solving anything.
"""

from __future__ import annotations

import ast
import csv
import gzip
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from dsrs import Interval, Observation, certify, certify_rows
from dsrs.duality import compile_kernels
from dsrs.laws import GeneralizedGaussian, heuristic_percentile
from dsrs.measures import floor_printed
from oracle.textbook import textbook_box_minimum, textbook_np_radius, textbook_worst_case
from reproduction.figures_of_record import imagenet_lower_bounds, tinyimagenet_lower_bounds
from reproduction.growth import (
    RELAXED_POWERS,
    dimension_curves,
    first_impossible_dimension,
    gamma_table,
    paper_dimensions,
    problem,
    relaxed_lower,
    sampled_lower,
    theorem_2,
    theorem_2_for_every_m,
)
from reproduction.logs import read_radius_log, read_sampling_log
from reproduction.opt import PAPER_WEIGHTS, OptSettings, truncation_at
from reproduction.plane import check_multiclass, check_theorem_1, regions
from reproduction.recorded import (
    RECORDED_DIMENSIONS,
    RECORDED_TRAININGS,
    RecordedRadii,
    RecordedRun,
    dataset_of,
    recertified_radii,
)
from reproduction.recorded_logs import LogFolder, read_logs
from reproduction.sources import read_reference
from reproduction.tables import (
    Cell,
    RecordedAccuracy,
    compare_tables,
    published_accuracy,
    row_key,
    runs_needed,
)
from reproduction.tests.documentation import DOCS, row, stated
from reproduction.theory import EXPONENTS, RATES, check_nested_classes
from reproduction.times import PAPER_SECONDS, certification_time, recorded_seconds, runs_to_time


def test_the_code_of_the_method_page_says_what_it_shows() -> None:
    """A line `expression  # value` must have this value."""
    text = (DOCS / "method.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    claims = 0
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        exec(compile(block, "method.md", "exec"), names)
        for line in block.splitlines():
            expression, _, value = line.partition("  # ")
            if value:
                assert eval(expression, names) == ast.literal_eval(value), line
                claims += 1
    assert claims >= 3


@pytest.mark.parametrize("name", tuple(regions()))
def test_theorem_1(name: str) -> None:
    found = check_theorem_1(name)
    radii = (
        found.neyman_pearson,
        found.truncated,
        found.on_region,
        found.true_radius,
    )
    line = row(name, f"{found.p_a:.4f}", *(floor_printed(radius, 5) for radius in radii))
    assert line in stated("method")


def test_the_corollary() -> None:
    found = check_multiclass()
    page = stated("method")
    assert f"certify the true radius, {floor_printed(found.laws_on_the_rivals, 5)}." in page
    assert f"prove {floor_printed(found.laws_on_a_and_b, 5)}, the radius of Theorem 1" in page


@pytest.mark.slow
def test_the_corollary_from_votes() -> None:
    found, page = check_nested_classes(), stated("method")
    shown = {
        pair: {votes: floor_printed(radius, 5) for votes, radius in radii.items()}
        for pair, radii in found.certified.items()
    }
    assert f"radius is {floor_printed(found.true_radius, 5)}, and that" in page
    assert f"of Theorem 1 {floor_printed(found.theorem_1, 5)}." in page
    assert f"give {shown['AB'][1_000_000]}, and {shown['AB'][10_000]} from 10,000" in page
    assert f"laws on B and C {shown['BC'][1_000_000]} and {shown['BC'][10_000]}" in page


def test_theorem_2() -> None:
    page = stated("method")
    for growth in theorem_2((20, 98, 1098, 12_492, 142_280, 3_646_460)):
        radii = floor_printed(growth.radius, 4), floor_printed(growth.theorem_2, 4)
        assert row(f"{growth.d:,}", *radii, floor_printed(growth.rate, 5)) in page
    last = theorem_2((3_646_460,))[0]
    assert f"comes to {floor_printed(last.rate, 5)} sigma sqrt(d) for m = 5" in page
    rows = theorem_2_for_every_m(paper_dimensions())
    assert f"the {len(rows)} values of m" in page
    assert f"from d = {max(row.holds_from for row in rows)} on" in page
    ends = floor_printed(rows[0].last_rate, 5), floor_printed(rows[-1].last_rate, 5)
    assert f"d = 3,646,460 from {ends[0]} (m = 0.5) to {ends[1]} (m = 15) times" in page


def test_theorem_6() -> None:
    page = stated("method")
    assert row("k", *(f"c = {rate:g}" for rate in RATES)) in page
    for k in EXPONENTS:
        limits = (first_impossible_dimension(rate, k=float(k)) for rate in RATES)
        assert row(k, *(f"{limit:,}" for limit in limits)) in page


def test_the_proof_of_theorem_2() -> None:
    page = stated("differences")
    assert f"0.5 / 0.999 = {0.5 / 0.999:.5f}" in page
    assert f"smallest entry of the table is {min(r.cdf for r in gamma_table()):.4f}" in page


def test_the_settings_of_opt() -> None:
    page = stated("differences")
    settings = OptSettings()
    weights = sorted(PAPER_WEIGHTS.values())
    assert f"with lambda from {weights[0]:.0e} to {weights[-1]:.0e}".replace("e-0", "e-") in page
    scaled = [weight * settings.samples for weight in weights]
    assert f"lambda is {scaled[0]:.3g} to {scaled[-1]:.2g}" in page
    assert settings.learning_rate * 0.001 == 2.0
    assert "a mean gradient of 0.001 already moves P_con by 2" in page


def test_the_measurement_of_opt() -> None:
    """The summary belongs to the inputs that `python -m reproduction opt --inputs 100` printed."""
    rows, of_share = (
        measured_inputs(name) for name in ("opt-mnist-1.00.csv", "opt-mnist-1.00-share.csv")
    )
    page = stated("method")
    assert f"Measured on {len(rows)} test inputs" in page
    means = {
        name: f"{sum(r[name] for r in rows) / len(rows):.4f}"
        for name in ("np_radius", "heuristic_radius", "opt_radius")
    }
    assert (
        f"the mean radius is {means['np_radius']} with Neyman-Pearson, "
        f"{means['heuristic_radius']} with the heuristic and {means['opt_radius']} with Opt"
    ) in page
    certified = [r for r in rows if r["np_radius"] > 0]
    better = sum(r["heuristic_radius"] > r["opt_radius"] for r in certified)
    assert f"Of the {len(certified)} inputs that are certified at all" in page
    assert f"proves more for {better} and Opt for {len(certified) - better}." in page
    share = f"{sum(r['opt_radius'] for r in of_share) / len(of_share):.4f}"
    other = stated("differences")
    assert f"On the {len(of_share)} inputs" in other
    assert f"a mean radius of {share}" in other
    assert f"instead of {means['opt_radius']}." in other


def test_the_measurement_of_opt_on_cifar10() -> None:
    """The rows belong to the inputs that `python -m reproduction opt --inputs 20` printed."""
    rows, page = measured_inputs("opt-cifar10-0.25.csv"), stated("differences")
    assert f"Gaussian training, {len(rows)} inputs" in page
    for title, name in (("Neyman-Pearson", "np"), ("heuristic", "heuristic"), ("Opt", "opt")):
        radii = [row[f"{name}_radius"] for row in rows]
        cells = [f"{sum(r >= at / 10 for r in radii) / len(radii):.0%}"[:-1] for at in range(1, 8)]
        assert f"{title} | {' | '.join(cells)} | {sum(radii) / len(radii):.4f} |" in page
    certified = [row for row in rows if row["np_radius"] > 0]
    better = sum(row["heuristic_radius"] > row["opt_radius"] for row in certified)
    assert f"of {len(certified)} inputs that are certified at all" in page
    assert f"more for {better} and Opt for {len(certified) - better}" in page


def measured_inputs(name: str) -> list[dict[str, float]]:
    with (DOCS / "measurements" / name).open(encoding="utf-8") as lines:
        return [{head: float(text) for head, text in r.items()} for r in csv.DictReader(lines)]


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
                if recorded and len(lines) > 1 and abs(lines[0] - lines[1]) > 1e-4:
                    assert lines[0] == pytest.approx(recorded, abs=5e-6)
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


@pytest.fixture(scope="module")
def double_sampling(reference: Path) -> Rows:
    with gzip.open(reference / "double_sampling.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def logs(original_logs: Path) -> LogFolder:
    return read_logs(original_logs)


def test_the_truncation_heuristic_of_the_record(double_sampling: Rows) -> None:
    rows = [
        row for row in double_sampling if row["q_rule"] in ("x", "x+") and row["fallback"] == "0"
    ]
    gap = max(
        abs(float(row["q_value"]) - heuristic_percentile(float(row["p_lower"]))) for row in rows
    )
    assert gap <= 1e-15
    assert f"all {len(rows):,} recorded percentiles to 1e-15" in stated("differences")


def test_fall_back_rows(double_sampling: Rows) -> None:
    page = stated("differences")
    small = [r for r in double_sampling if r["q_rule"] == "x+" and r["dataset"] != "imagenet"]
    fallback = sum(row["fallback"] == "1" for row in small)
    assert f"uses: {fallback:,} of {len(small):,} rows" in page
    forgotten = [
        row for row in double_sampling if row["fallback"] == "1" and float(row["p_upper"]) < 1
    ]
    every = sum(row["fallback"] == "1" for row in double_sampling)
    assert f"{len(forgotten)} of the {every:,} fall-back rows" in page
    radii = Counter(
        f"{float(row['radius']):.3f}"
        for row in double_sampling
        if row["model"] == "consistency-imagenet-75260-0.25" and row["fallback"] == "1"
    )
    assert set(radii) == {"0.813", "0.829"}
    assert (
        f"Of the {sum(radii.values())} fall-back rows of the ImageNet model "
        f'"consistency", sigma = 0.25, {radii["0.813"]} have 0.813 recorded and '
        f"{radii['0.829']} have 0.829"
    ) in page


def test_which_rule_the_choice_of_t_used(logs: LogFolder) -> None:
    """Worst difference from the printed figures, at radii in binary as they were computed then."""
    every: list[RecordedRun | RecordedRadii] = [*logs.runs, *logs.radii]
    recorded = [run for run in every if not np.isnan(run.recorded_radius).any()]
    words = {title: word for word, title in RECORDED_TRAININGS.items()}
    worst: dict[tuple[str, str], float] = {}
    decimals = 0.0
    for printed in published_accuracy():
        if printed.table != "truncation-choice" or printed.certification != "dsrs-heuristic":
            continue
        for found in recorded:
            name = found.name
            if (
                (name.dataset, name.law.sigma, name.n) == (printed.dataset, printed.sigma, 50_000)
                and name.model.startswith(f"{words[printed.training]}-")
                and name.rule in ("x", "x+")
                and f"-{name.law.k:g}-" in name.model
            ):
                shares = _percents(
                    found.recorded_radius, [0.1 * round(r / 0.1) for r in printed.radii]
                )
                key = (printed.dataset, name.rule)
                worst[key] = max(worst.get(key, 0.0), np.abs(shares - printed.percents).max())
                if name.rule == "x+":
                    decimal = _percents(found.recorded_radius, printed.radii)
                    decimals = max(decimals, (decimal - shares).max())
    page = stated("differences")
    assert worst["cifar10", "x+"] == pytest.approx(0, abs=1e-9)
    assert (
        f"`x` is off by at most {worst['mnist', 'x']:.1f} points, `x+` by at most "
        f"{worst['mnist', 'x+']:.1f} (CIFAR-10 is `x+` exactly)"
    ) in page
    assert f"this alone adds up to {decimals:.1f} points" in page


def _percents(radii: np.ndarray, at: list[float] | tuple[float, ...]) -> np.ndarray:
    return np.array([100 * np.mean(radii >= r) for r in at])


def test_cells_from_the_recorded_radii(logs: LogFolder) -> None:
    tables = ("best-over-sigma", "per-sigma", "variants", "acr")
    cells = compare_tables(RecordedAccuracy(logs.runs, alone=logs.radii), tables)
    covered = [cell for cell in cells if cell.ours is not None]
    equal = [cell for cell in covered if cell.difference == 0]
    assert f"{len(equal)} of the {len(covered)} cells of all tables" in stated("differences")


def test_no_original_log_is_broken(logs: LogFolder) -> None:
    assert logs.broken == []
    # What is left out: other norms, models of no table, and a folder that was put too deep.
    assert all(
        "tinyimagenet" in str(path) or "norm" in why or "must hold" in why or "inside of" in why
        for path, why in logs.left_out
    )


def test_p_grows_from_tinyimagenet_to_imagenet(logs: LogFolder, original_logs: Path) -> None:
    tiny, _ = tinyimagenet_lower_bounds(original_logs)
    medians = {
        bound.model: f"{np.median(bound.p_lower[bound.p_lower > 0.5]):.3f}"
        for bound in (*tiny, *imagenet_lower_bounds(logs.runs))
    }
    small = [medians[f"{word}-tinyimagenet-4700-0.50"] for word in ("cohen", "consistency")]
    large = [medians[f"{word}-imagenet-75260-1.00"] for word in ("cohen", "consistency")]
    for page in ("method", "differences"):
        text = stated(page)
        assert all(median in text for median in (*small, *large))
    assert f"the median is {small[0]} (Consistency {small[1]}) on TinyImageNet" in text
    assert f"{large[0]} ({large[1]}) on ImageNet" in text


def test_recorded_seconds_are_ten_times_the_printed_ones(
    logs: LogFolder, original_logs: Path
) -> None:
    page = stated("differences")
    seconds = {
        run.name.dataset: recorded_seconds(original_logs, run)
        for run in runs_to_time(logs.runs)
        if run.name.law.sigma == 0.5
    }
    assert set(seconds) == {"mnist", "cifar10"}
    for dataset, recorded in seconds.items():
        assert recorded is not None
        assert f"{recorded / 10:.2f}" == f"{PAPER_SECONDS[dataset]:.2f}"
        assert f"{PAPER_SECONDS[dataset]} s" in page
        assert f"{recorded:.2f} s" in page


def test_shares_of_p_that_opt_may_reach() -> None:
    settings = OptSettings()
    texts = []
    for name, d, k in (("MNIST", 784, 380), ("CIFAR-10", 3072, 1530), ("ImageNet", 150_528, 75260)):
        law = GeneralizedGaussian(d, 0.5, k)
        low, high = (truncation_at(law, p).percentile for p in (settings.lowest, settings.highest))
        texts.append(f"{low:.3f} to {high:.3f} on {name}")
    assert "a share from " + ", ".join(texts) in stated("differences")


def test_scipys_quantiles_lie_on_the_wrong_side_half_of_the_time() -> None:
    generator = np.random.default_rng(0)
    wrong, worst = 0, 0.0
    count = 100
    with mpmath.workdps(40):
        for _ in range(count):
            n = int(generator.integers(100, 2000))
            hits = int(generator.integers(n // 2, n))
            bound = float(stats.beta.ppf(0.0005, hits, n - hits + 1))
            # The exact lower bound has this tail; a larger p has a larger one.
            tail = mpmath.betainc(hits, n - hits + 1, 0, mpmath.mpf(bound), regularized=True)
            wrong += tail > mpmath.mpf("0.0005")
            worst = max(worst, abs(float(tail / mpmath.mpf("0.0005")) - 1))
    assert 0.25 * count < wrong < 0.75 * count
    # A relative error of the tail, which is steeper than p: p itself is off by less.
    assert worst < 1e-11
    assert math.isfinite(worst)

"""Numbers of docs/differences.md that the recorded runs alone give, without solving anything."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from dsrs.laws import GeneralizedGaussian, heuristic_percentile
from dsrs.paper.certification_time import PAPER_SECONDS, recorded_seconds, runs_to_time
from dsrs.paper.figures.class_probability import imagenet_lower_bounds, tinyimagenet_lower_bounds
from dsrs.paper.logs import LogFolder, read_logs
from dsrs.paper.opt_truncation import OptSettings, truncation_at
from dsrs.paper.published import published_accuracy
from dsrs.paper.recorded import RECORDED_TRAININGS, RecordedRadii, RecordedRun
from dsrs.paper.recorded_accuracy import RecordedAccuracy
from dsrs.paper.tables import compare_tables
from paper.documentation import stated

Rows = list[dict[str, str]]


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
    for row in published_accuracy():
        if row.table != "truncation-choice" or row.certification != "dsrs-heuristic":
            continue
        for found in recorded:
            name = found.name
            if (
                (name.dataset, name.law.sigma, name.n) == (row.dataset, row.sigma, 50_000)
                and name.model.startswith(f"{words[row.training]}-")
                and name.rule in ("x", "x+")
                and f"-{name.law.k:g}-" in name.model
            ):
                shares = _percents(found.recorded_radius, [0.1 * round(r / 0.1) for r in row.radii])
                key = (row.dataset, name.rule)
                worst[key] = max(worst.get(key, 0.0), np.abs(shares - row.percents).max())
                if name.rule == "x+":
                    decimal = _percents(found.recorded_radius, row.radii)
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

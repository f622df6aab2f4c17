"""The reader of the public logs, on small made-up ones, and of the compact tables.

Logs of the rules that fall back to P, and logs that have an input more than once.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections import Counter
from pathlib import Path

import mpmath
import numpy as np
import pytest

from dsrs import least_probability
from dsrs.errors import DataError
from dsrs.proofs import Interval
from reproduction.logs import (
    LogHeader,
    RadiusName,
    radius_name,
    read_radius_log,
    read_sampling_log,
    recorded_percentile,
    sampling_name,
)
from reproduction.recorded import RecordedRun, dataset_of, recertified_radii, recertify
from reproduction.recorded_logs import (
    EITHER_TRUNCATION,
    FORGOTTEN,
    NEITHER,
    PERHAPS_FORGOTTEN,
    REPEATED,
    read_logs,
    truncated_interval,
)
from reproduction.sources import read_accuracy_by_norm, read_reference

HEADER = "\nx disttype general-gaussian\nx k 380\nx std {sigma}\nx N 50000\nx alpha 0.0005\n\n"


def write_log(folder: Path, name: str, rows: dict[int, tuple[float, float]], sigma: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"o {index} {lower} {upper}\n" for index, (lower, upper) in rows.items())
    path = folder / name
    path.write_text(HEADER.format(sigma=sigma) + lines, encoding="utf-8")
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    model = tmp_path / "sampling" / "cohen-mnist-380-1.00.pth"
    p = {0: (0.9, 0.91), 10: (0.99983, 1.0), 20: (0.3, 0.32), 30: (0.995, 0.997)}
    all_right = (0.0005 ** (1 / 100_000), 1.0)  # of 100,000 votes, at alpha = 0.001
    write_log(model, "general-gaussian-380-1.0-50000-0.0005.txt", p, 1.0)
    rescaled = {0: (0.95, 0.96), 10: (0.999, 1.0), 20: (0.2, 0.3)}
    write_log(model, "general-gaussian-380-0.8-50000-0.0005.txt", rescaled, 0.8)
    truncated = {0: (0.97, 0.98), 10: all_right, 20: (0.4, 0.42), 30: all_right}
    write_log(model, "general-gaussian-380-1.0-50000-0.0005-x+.txt", truncated, 1.0)
    radii = tmp_path / "orig-radius" / "cohen-mnist-380-1.00.pth"
    radii.mkdir(parents=True)
    (radii / "orig-rad-general-gaussian-380-1.0-50000-0.0005.txt").write_text("0 1.25\n10 2.5\n")
    radii = tmp_path / "new-radius" / "cohen-mnist-380-1.00.pth"
    radii.mkdir(parents=True)
    (radii / "new-rad-general-gaussian-th-380-1.0-x+-50000-0.0005.txt").write_text(
        "0 1.3 0.1 0.2\n20 0.0 0.0 0.0\n"
    )
    return tmp_path


def by_shape(runs: list[RecordedRun]) -> dict[str | None, RecordedRun]:
    return {run.name.q_shape: run for run in runs}


def test_logs_pair_p_with_every_q(logs: Path) -> None:
    folder = read_logs(logs)
    assert (folder.broken, folder.left_out, folder.radii) == ([], [], [])
    runs = by_shape(folder.runs)
    assert set(runs) == {None, "rescaled", "truncated"}

    alone = runs[None]
    assert (alone.name.dataset, alone.name.training) == ("mnist", "gaussian")
    assert (alone.name.law.d, alone.name.law.k, alone.name.law.sigma) == (784, 380, 1)
    assert alone.index.tolist() == [0, 10, 20, 30]
    np.testing.assert_array_equal(alone.recorded_radius, [1.25, 2.5, np.nan, np.nan])

    rescaled = runs["rescaled"]
    assert rescaled.index.tolist() == [0, 10, 20]  # only inputs sampled under both laws
    assert rescaled.q_value is not None
    assert rescaled.q_value.tolist() == [0.8, 0.8, 0.8]
    assert not np.any(rescaled.fallback)


def test_truncated_logs_know_their_percentile_and_the_fallback(logs: Path) -> None:
    run = by_shape(read_logs(logs).runs)["truncated"]
    assert run.q_value is not None
    assert run.fallback is not None
    # Input 10: all first votes agreed. Input 30: more than 50,000 votes can prove, and the first
    # votes are lost, so one of them may have been a miss.
    assert run.fallback.tolist() == [False, True, False, True]
    np.testing.assert_allclose(run.p_lower, [0.9, 0.9999239939, 0.3, 0.9999000177], rtol=1e-9)
    assert set(run.notes) == {30}
    expected = [-0.08 * math.log(0.1) + 0.2, np.nan, 0.5, np.nan]
    np.testing.assert_allclose(run.q_value, expected, rtol=1e-14)
    np.testing.assert_array_equal(run.recorded_radius, [1.3, np.nan, 0.0, np.nan])


@pytest.mark.parametrize(
    ("rule", "p_lower", "percentile"),
    [
        ("x", 0.4, 0.5),
        ("x", 0.5, 0.2554517744),
        ("x2", 0.9, 0.8),
        ("x2", 0.3, 0.4),
        ("0.75", 0.9, 0.75),
    ],
)
def test_recorded_percentiles(rule: str, p_lower: float, percentile: float) -> None:
    assert recorded_percentile(rule, p_lower) == pytest.approx(percentile, rel=1e-9)


@pytest.mark.parametrize(
    "header", [LogHeader(1234567.0, 1e20, 5, 1e-05), LogHeader(0.5, 0.1, 1, 0.5)]
)
def test_names_are_read_as_they_were_written(header: LogHeader) -> None:
    assert sampling_name(Path(f"{header.stem}.txt")) == header
    for name in (RadiusName(header, None, False), RadiusName(header, "x2+", True)):
        assert radius_name(Path(f"{name.stem}.txt.gz")) == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 0.5 0.1\n", "expected `index radius"),
        ("0 inf\n", "must be finite"),
        ("0 0.5\n1 0.5\n1 0.6\n", "input 1 comes twice"),
    ],
)
def test_bad_logs_of_radii_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "orig-rad-general-gaussian-380-0.5-500-0.0005.txt"
    path.write_text("0 0.5\n1 0.5\n0 0.6\n1 0.6\n")
    radii = read_radius_log(path).radii  # of a log that was done again
    assert list(radii.values()) == [0.6, 0.6]
    path.write_text(content)
    with pytest.raises(DataError, match=re.escape(message)):
        read_radius_log(path)
    with pytest.raises(DataError, match="holds seconds"):
        radius_name(path.with_name(f"time-{path.name}"))


def test_a_header_that_contradicts_the_name_is_refused(tmp_path: Path) -> None:
    path = write_log(tmp_path, "general-gaussian-380-0.5-50000-0.0005.txt", {0: (0.1, 0.2)}, 1.0)
    with pytest.raises(DataError, match=r"named for sigma = 0\.5, and its header says 1"):
        read_sampling_log(path)


def test_broken_lines_name_their_place(tmp_path: Path) -> None:
    path = write_log(tmp_path, "general-gaussian-380-1.0-50000-0.0005.txt", {0: (0.1, 0.2)}, 1.0)
    path.write_text(path.read_text() + "o 1 0.5\n")
    with pytest.raises(DataError, match="line 9"):
        read_sampling_log(path)


@pytest.mark.parametrize("ends", ["0.9 0.8", "-0.1 0.2", "0.9 1.1", "nan 1"])
def test_an_interval_that_is_none_names_its_place(tmp_path: Path, ends: str) -> None:
    path = write_log(tmp_path, "general-gaussian-380-1.0-50000-0.0005.txt", {0: (0.1, 0.2)}, 1.0)
    path.write_text(path.read_text() + f"o 1 {ends}\n")
    with pytest.raises(DataError, match=r"0\.0005\.txt, line 9: "):
        read_sampling_log(path)


def test_other_norms_are_left_out_and_broken_files_do_not_stop_the_rest(logs: Path) -> None:
    model = logs / "sampling" / "cohen-mnist-380-1.00.pth"
    other = model / "infty-general-gaussian-380-1.0-50000-0.0005.txt"
    other.write_text("")
    (logs / "sampling" / "cohen-tinyimagenet-4700-0.50.pth").mkdir()
    broken = model / "general-gaussian-380-1.0-50000-0.0005-0.5.txt"
    broken.write_text("o 1 0.5\n")
    folder = read_logs(logs)
    assert len(folder.runs) == 3
    assert [path for path, _ in folder.broken] == [broken]
    assert [path.name for path, _ in folder.left_out] == [
        other.name,
        "cohen-tinyimagenet-4700-0.50.pth",
    ]


def test_a_broken_radius_log_costs_its_radii_and_nothing_else(logs: Path) -> None:
    path = next((logs / "new-radius").glob("*/*.txt"))
    path.write_text("0 1.3\n10 oops\n")
    folder = read_logs(logs)
    assert len(folder.runs) == 3
    ((where, why),) = folder.broken
    assert where == path
    assert "line 2" in why
    assert np.isnan(by_shape(folder.runs)["truncated"].recorded_radius).all()


def test_radii_without_a_sampling_log_are_kept_apart(logs: Path) -> None:
    radii = logs / "new-radius" / "cohen-mnist-380-1.00.pth"
    (radii / "new-rad-general-gaussian-380-1.0-0.90-50000-0.0005.txt").write_text("10 2\n0 1.5\n")
    (alone,) = read_logs(logs).radii
    assert (alone.name.q_shape, alone.name.rule) == ("rescaled", "0.9")
    assert (alone.index.tolist(), alone.recorded_radius.tolist()) == ([0, 10], [1.5, 2.0])


def test_a_copied_log_of_p_serves_its_q_and_is_no_run_of_its_own(logs: Path) -> None:
    model = logs / "sampling" / "cohen-mnist-380-1.00.pth"
    p = model / "general-gaussian-380-1.0-50000-0.0005.txt"
    (model / "general-gaussian-380-1.0-800000-0.005.txt").write_text(p.read_text())
    q = (model / "general-gaussian-380-1.0-50000-0.0005-x+.txt").read_text()
    q = q.replace("x N 50000", "x N 800000").replace("x alpha 0.0005", "x alpha 0.005")
    (model / "general-gaussian-380-1.0-800000-0.005-x2.txt").write_text(q)
    folder = read_logs(logs)
    assert folder.broken == []
    added = [run.name for run in folder.runs if run.name.n == 800_000]
    assert [(name.alpha, name.rule) for name in added] == [(0.005, "x2")]


def test_a_gaussian_has_no_exponent_whatever_its_log_is_called(logs: Path) -> None:
    model = logs / "sampling" / "cohen-mnist-380-1.00.pth"
    header = HEADER.format(sigma=1.0).replace("general-gaussian", "gaussian")
    (model / "gaussian-380-1.0-50000-0.0005.txt").write_text(header + "o 0 0.9 1\n")
    assert {run.name.law.k for run in read_logs(logs).runs} == {0, 380}


def test_a_folder_without_logs_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give the folder that holds `sampling`"):
        read_logs(tmp_path)


def test_dataset_of_a_model_name() -> None:
    assert dataset_of("consistency-cifar-1530-0.50") == "cifar10"
    with pytest.raises(DataError, match="mnist, cifar, imagenet"):
        dataset_of("cohen-svhn-0.50")


def write_table(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_compact_tables(tmp_path: Path) -> None:
    common = {"model": "cohen-mnist-380-1.00", "dataset": "mnist", "d": 784, "k": 380, "sigma": 1.0}
    p = {"n": 50000, "alpha": 0.0005, "p_lower": 0.9, "p_upper": 0.91, "radius": 1.2}
    q = {"q_shape": "truncated", "q_rule": "x+", "q_lower": 0.97, "q_upper": 0.98}
    seen = {**common, **p, **q, "index": 0, "q_value": 0.4, "fallback": 0}
    write_table(
        tmp_path / "double_sampling.csv.gz",
        [
            seen,
            {**seen, "index": 10, "q_value": "", "fallback": 1, "p_upper": 1, "q_upper": 1},
        ],
    )
    write_table(tmp_path / "neyman_pearson.csv.gz", [{**common, **p, "index": 7}])
    double, alone = read_reference(tmp_path)
    assert double.q_value is not None
    assert double.fallback is not None
    assert double.fallback.tolist() == [False, True]
    np.testing.assert_array_equal(double.q_value, [0.4, np.nan])
    np.testing.assert_array_equal(double.p_lower, [0.9, 0.97])  # of all votes in the second row
    assert alone.index.tolist() == [7]
    assert alone.name.q_shape is None

    norms = {"index": 3, "noise_norm": 1.5, "samples": 1000, "accuracy": 0.75}
    write_table(tmp_path / "norms.csv.gz", [{**common, **norms}])
    (curve,) = read_accuracy_by_norm(tmp_path / "norms.csv.gz")
    assert (curve.noise_norm.tolist(), curve.accuracy.tolist()) == ([1.5], [0.75])


def test_compact_tables_say_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found neither"):
        read_reference(tmp_path)
    write_table(tmp_path / "neyman_pearson.csv.gz", [{"model": "cohen-mnist-1.00", "d": 784}])
    with pytest.raises(DataError, match="expected a column"):
        read_reference(tmp_path)
    (tmp_path / "neyman_pearson.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot read"):
        read_reference(tmp_path)


N, ALPHA = 50_000, 0.0005
RESUMED_HEADER = f"x disttype general-gaussian\nx k 380\nx std 0.5\nx N {N}\nx alpha {ALPHA}\n"
STEM = f"general-gaussian-380-0.5-{N}-{ALPHA}"
MODEL = "cohen-mnist-380-0.50.pth"


def interval_of(misses: int, n: int, alpha: float) -> tuple[float, float]:
    """Clopper and Pearson's two-sided interval, from sums of binomial probabilities."""

    def end(most: int, level: float) -> float:
        """The p with Pr[at most `most` misses of n] = level."""
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(120):
            p = (low + high) / 2
            tail = sum(mpmath.binomial(n, j) * (1 - p) ** j * p ** (n - j) for j in range(most + 1))
            low, high = (low, p) if tail > level else (p, high)
        return float(low)

    with mpmath.workdps(40):
        lower = end(misses, alpha / 2)
        return lower, end(misses - 1, 1 - alpha / 2) if misses else 1.0


ALL_RIGHT, ONE_MISS, TWO_MISSES = (interval_of(misses, N, ALPHA) for misses in range(3))
AGAIN = [interval_of(misses, 2 * N, 2 * ALPHA) for misses in range(4)]  # all votes of a fall-back


def write(path: Path, *parts: dict[int, tuple[float, float]]) -> Path:
    """A sampling log; each part has a header of its own, as after a resumed run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        RESUMED_HEADER
        + "".join(f"o {index} {low!r} {high!r}\n" for index, (low, high) in part.items())
        for part in parts
    ]
    path.write_text("".join(lines))
    return path


def run_of(folder: Path, rule: str, first: object, logged: object) -> RecordedRun:
    """The run of P and Q that both logs make."""
    model = folder / "sampling" / MODEL
    for name, parts in ((f"{STEM}.txt", first), (f"{STEM}-{rule}.txt", logged)):
        write(model / name, *(parts if isinstance(parts, list) else [parts]))
    (run,) = [run for run in read_logs(folder).runs if run.name.q_shape]
    return run


def under_q(run: RecordedRun, place: int) -> tuple[float, float, float]:
    """Value and interval of Q; NaN where P alone counts."""
    columns = (run.q_value, run.q_lower, run.q_upper)
    value, lower, upper = (float(column[place]) for column in columns if column is not None)
    return value, lower, upper


def fell_back(run: RecordedRun) -> list[bool]:
    assert run.fallback is not None
    found: list[bool] = run.fallback.tolist()
    return found


def test_a_fall_back_comes_with_all_of_its_votes(tmp_path: Path) -> None:
    run = run_of(tmp_path, "x+", {0: ALL_RIGHT}, {0: AGAIN[0]})
    assert (run.p_lower[0], run.p_upper[0]) == AGAIN[0]
    assert (fell_back(run), dict(run.notes)) == ([True], {})
    assert np.isnan(under_q(run, 0)).all()


@pytest.mark.parametrize("later", [0, 1, 2])
def test_a_miss_that_the_record_forgot_is_counted(tmp_path: Path, later: int) -> None:
    assert 1 - 1e-8 < ONE_MISS[1] < 1  # the threshold of the scripts, which it passes
    run = run_of(tmp_path, "x+", {0: ONE_MISS}, {0: AGAIN[later]})
    found = run.p_lower[0], run.p_upper[0]
    assert found == pytest.approx(AGAIN[later + 1], rel=1e-9)
    assert found[0] <= AGAIN[later + 1][0] < AGAIN[later][0]
    assert (fell_back(run), dict(run.notes)) == ([True], {0: FORGOTTEN})


def test_an_interval_of_q_after_one_miss_is_no_fall_back(tmp_path: Path) -> None:
    # 49,999 of 50,000 under Q: two ends tell it from every count of 100,000.
    first, logged = {0: ONE_MISS, 1: TWO_MISSES}, {0: ONE_MISS, 1: (0.97, 0.98)}
    run = run_of(tmp_path, "x+", first, logged)
    assert fell_back(run) == [False, False]
    assert [under_q(run, place)[1] for place in (0, 1)] == [ONE_MISS[0], 0.97]
    other = run_of(tmp_path / "x2", "x2+", first, {0: AGAIN[0], 1: (0.97, 0.98)})
    # Where the threshold is 1e-9 one miss does not fall back, and no 50,000 votes prove so much.
    assert (fell_back(other), other.notes[0]) == ([True, False], PERHAPS_FORGOTTEN)


def test_a_fall_back_without_its_first_votes_is_charged_with_a_miss(tmp_path: Path) -> None:
    first = {0: (0.9, 0.92), 1: (0.9, 0.92)}
    run = run_of(tmp_path, "x+", first, {0: AGAIN[0], 1: (0.99991, 0.99992)})
    assert run.p_lower[0] == pytest.approx(AGAIN[1][0], rel=1e-9)
    assert (run.p_upper[0], run.notes[0]) == (1.0, PERHAPS_FORGOTTEN)
    # No number of votes has the second interval: it is not known what it is of.
    assert (run.p_lower[1], run.notes[1]) == (0.9, NEITHER)
    assert np.isnan(under_q(run, 1)).all()
    assert fell_back(run) == [True, False]


def test_of_repeated_lines_the_first_counts(tmp_path: Path) -> None:
    parts = [{0: (0.9, 0.91), 1: (0.8, 0.82)}, {0: (0.92, 0.93), 1: (0.8, 0.82), 2: (0.7, 0.72)}]
    path = write(tmp_path / "sampling" / MODEL / f"{STEM}.txt", *parts)
    (run,) = read_logs(tmp_path).runs
    assert (run.index.tolist(), run.p_lower.tolist()) == ([0, 1, 2], [0.9, 0.8, 0.7])
    assert dict(run.notes) == {0: REPEATED}
    write(path, {0: (0.9, 0.91)})
    path.write_text(path.read_text() + "o 0 0.92 0.93\n")
    with pytest.raises(DataError, match="comes twice without a new header"):
        read_sampling_log(path)


def test_q_holds_for_each_truncation_that_may_have_been_sampled(tmp_path: Path) -> None:
    first = [{0: (0.9, 0.91)}, {0: (0.93, 0.94)}]
    run = run_of(tmp_path, "x", first, {0: (0.98, 0.985)})
    shares = [-0.08 * math.log(1 - lower) + 0.2 for lower in (0.9, 0.93)]
    lower = 1 - 0.02 * shares[1] / shares[0]
    assert under_q(run, 0) == pytest.approx((min(shares), lower, 1.0), rel=1e-12)
    assert (run.p_lower[0], run.notes[0]) == (0.9, EITHER_TRUNCATION)
    fixed = run_of(tmp_path / "fixed", "0.5", first, {0: (0.98, 0.985)})
    assert (under_q(fixed, 0), fixed.notes[0]) == ((0.5, 0.98, 0.985), REPEATED)


def test_the_interval_of_the_smaller_ball_holds_whatever_lies_between() -> None:
    generator = np.random.default_rng(3)
    for _ in range(200):
        least, share, most = np.sort(generator.uniform(0.1, 1, 3))
        inner, ring = generator.uniform(0, 1, 2)
        logged = (inner * least + ring * (share - least)) / share  # the class inside `share`
        found = truncated_interval(Interval(float(logged), float(logged)), least, most)
        assert found.lower <= inner <= found.upper


def test_the_public_logs_forget_423_misses(original_logs: Path) -> None:
    notes: Counter[str | None] = Counter()
    for run in read_logs(original_logs).runs:
        if run.name.rule == "x+":
            fallen = np.flatnonzero(fell_back(run))
            notes.update(run.notes.get(int(run.index[place])) for place in fallen)
    # Counted with awk: of the 3,741 rows, 423 have 1 - 5e-9 as the upper end of P.
    assert notes == {None: 3318, FORGOTTEN: 423}


def test_a_forgotten_miss_costs_radius(original_logs: Path) -> None:
    name = "cohen-mnist-380-0.50"
    (run,) = [
        run
        for run in read_logs(original_logs).runs
        if (run.name.model, run.name.rule) == (name, "x+")
    ]
    assert run.fallback is not None
    places = np.flatnonzero(run.fallback)
    noted = [int(run.index[place]) in run.notes for place in places]
    honest, forgetful = (places[noted.index(forgot)] for forgot in (False, True))
    # Both have one radius in the record, of 100,000 of 100,000 votes.
    assert run.recorded_radius[honest] == run.recorded_radius[forgetful]
    record = run.recorded_radius[honest]
    assert record <= recertify(run, honest).radius < record + 0.01  # the grid of the record
    assert recertify(run, forgetful).radius < record - 0.01


@pytest.mark.slow
def test_only_rows_that_forgot_a_miss_end_below_their_record(original_logs: Path) -> None:
    (run,) = [
        run
        for run in read_logs(original_logs).runs
        if (run.name.model, run.name.rule) == ("consistency-mnist-380-0.50", "x+")
    ]
    radii = recertified_radii(run)
    below = np.flatnonzero(radii < run.recorded_radius - 1e-4)
    assert (len(run), len(below)) == (1000, 81)
    for place in below:
        assert run.notes[int(run.index[place])] == FORGOTTEN
        p = Interval(float(run.p_lower[place]), 1.0)
        shift = float(run.recorded_radius[place]) - 1e-6
        assert least_probability(run.name.law, p, radius=shift).dual_bound < 0.4999

"""The reader of the public logs, on small made-up ones, and of the compact tables."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import read_sampling_log
from dsrs.exchange.log_names import recorded_percentile
from dsrs.paper.logs import read_logs
from dsrs.paper.recorded import RecordedRun, dataset_of
from dsrs.paper.reference_tables import read_accuracy_by_norm, read_reference

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
        ("xp", 0.5, 0.5),
        ("x2", 0.9, 0.8),
        ("x2", 0.3, 0.4),
        ("0.75", 0.9, 0.75),
    ],
)
def test_recorded_percentiles(rule: str, p_lower: float, percentile: float) -> None:
    assert recorded_percentile(rule, p_lower) == pytest.approx(percentile, rel=1e-9)


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

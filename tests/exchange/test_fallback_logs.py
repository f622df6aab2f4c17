"""Logs of the rules that fall back to P, and logs that have an input more than once."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import mpmath
import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.errors import DataError
from dsrs.exchange import ResultRow, import_folder, import_rows
from dsrs.exchange.fallback import FORGOTTEN, NEITHER, PERHAPS_FORGOTTEN
from dsrs.exchange.joining import EITHER_TRUNCATION, REPEATED, truncated_interval
from dsrs.paper.logs import read_logs
from dsrs.paper.recertify import recertify
from dsrs.proofs.interval import Interval

N, ALPHA = 50_000, 0.0005
HEADER = f"x disttype general-gaussian\nx k 380\nx std 0.5\nx N {N}\nx alpha {ALPHA}\n"
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
        HEADER + "".join(f"o {index} {low!r} {high!r}\n" for index, (low, high) in part.items())
        for part in parts
    ]
    path.write_text("".join(lines))
    return path


def rows_of(folder: Path, rule: str, first: object, logged: object) -> dict[int, ResultRow]:
    """Import of both logs, and the same rows as `dsrs paper` reads them."""
    model = folder / "sampling" / MODEL
    for name, parts in ((f"{STEM}.txt", first), (f"{STEM}-{rule}.txt", logged)):
        write(model / name, *(parts if isinstance(parts, list) else [parts]))
    (rows,) = import_folder(folder, d=784).tables.values()
    (run,) = [run for run in read_logs(folder).runs if run.name.q_shape]
    for place, row in enumerate(rows):
        assert run.q_lower is not None
        assert run.fallback is not None
        assert (row.index, row.note) == (run.index[place], run.notes.get(row.index))
        assert (row.p_lower, row.p_upper) == (run.p_lower[place], run.p_upper[place])
        assert (row.q_lower is None) == np.isnan(run.q_lower[place])
        assert not (run.fallback[place] and row.q_law)
    return {row.index: row for row in rows}


def test_a_fall_back_comes_with_all_of_its_votes(tmp_path: Path) -> None:
    row = rows_of(tmp_path, "x+", {0: ALL_RIGHT}, {0: AGAIN[0]})[0]
    assert (row.p_lower, row.p_upper, row.q_law, row.note) == (*AGAIN[0], None, None)
    assert (row.n, row.alpha) == (2 * N, 2 * ALPHA)


@pytest.mark.parametrize("later", [0, 1, 2])
def test_a_miss_that_the_record_forgot_is_counted(tmp_path: Path, later: int) -> None:
    assert 1 - 1e-8 < ONE_MISS[1] < 1  # the threshold of the scripts, which it passes
    row = rows_of(tmp_path, "x+", {0: ONE_MISS}, {0: AGAIN[later]})[0]
    assert (row.p_lower, row.p_upper) == pytest.approx(AGAIN[later + 1], rel=1e-9)
    assert row.p_lower is not None
    assert row.p_lower <= AGAIN[later + 1][0] < AGAIN[later][0]
    assert (row.q_law, row.n, row.note) == (None, 2 * N, FORGOTTEN)


def test_an_interval_of_q_after_one_miss_is_no_fall_back(tmp_path: Path) -> None:
    # 49,999 of 50,000 under Q: two ends tell it from every count of 100,000.
    first, logged = {0: ONE_MISS, 1: TWO_MISSES}, {0: ONE_MISS, 1: (0.97, 0.98)}
    rows = rows_of(tmp_path, "x+", first, logged)
    assert [row.q_lower for row in rows.values()] == [ONE_MISS[0], 0.97]
    assert all(str(row.q_law).startswith("truncated:") for row in rows.values())
    other = rows_of(tmp_path / "x2", "x2+", first, {0: AGAIN[0], 1: (0.97, 0.98)})
    # Where the threshold is 1e-9 one miss does not fall back, and no 50,000 votes prove so much.
    assert (other[0].q_law, other[0].note) == (None, PERHAPS_FORGOTTEN)


def test_a_fall_back_without_its_first_votes_is_charged_with_a_miss(tmp_path: Path) -> None:
    first = {0: (0.9, 0.92), 1: (0.9, 0.92)}
    rows = rows_of(tmp_path, "x+", first, {0: AGAIN[0], 1: (0.99991, 0.99992)})
    assert rows[0].p_lower == pytest.approx(AGAIN[1][0], rel=1e-9)
    assert (rows[0].p_upper, rows[0].note) == (1.0, PERHAPS_FORGOTTEN)
    # No number of votes has the second interval: it is not known what it is of.
    assert (rows[1].p_lower, rows[1].q_law, rows[1].note) == (0.9, None, NEITHER)
    assert rows[1].n == N


def test_of_repeated_lines_the_first_counts(tmp_path: Path) -> None:
    parts = [{0: (0.9, 0.91), 1: (0.8, 0.82)}, {0: (0.92, 0.93), 1: (0.8, 0.82), 2: (0.7, 0.72)}]
    rows = import_rows(write(tmp_path / f"{STEM}.txt", *parts))
    assert [(row.index, row.p_lower, row.note) for row in rows] == [
        (0, 0.9, REPEATED),
        (1, 0.8, None),
        (2, 0.7, None),
    ]
    path = write(tmp_path / f"{STEM}.txt", {0: (0.9, 0.91)})
    path.write_text(path.read_text() + "o 0 0.92 0.93\n")
    with pytest.raises(DataError, match="comes twice without a new header"):
        import_rows(path)


def test_q_holds_for_each_truncation_that_may_have_been_sampled(tmp_path: Path) -> None:
    first = [{0: (0.9, 0.91)}, {0: (0.93, 0.94)}]
    rows = rows_of(tmp_path, "x", first, {0: (0.98, 0.985)})
    shares = [-0.08 * math.log(1 - lower) + 0.2 for lower in (0.9, 0.93)]
    assert rows[0].q_law == f"truncated:{min(shares)!r}"
    assert rows[0].q_lower == pytest.approx(1 - 0.02 * shares[1] / shares[0], rel=1e-12)
    assert rows[0].q_upper == 1.0
    assert (rows[0].p_lower, rows[0].note) == (0.9, EITHER_TRUNCATION)
    fixed = rows_of(tmp_path / "fixed", "0.5", first, {0: (0.98, 0.985)})
    assert (fixed[0].q_lower, fixed[0].q_upper, fixed[0].note) == (0.98, 0.985, REPEATED)


def test_the_interval_of_the_smaller_ball_holds_whatever_lies_between() -> None:
    generator = np.random.default_rng(3)
    for _ in range(200):
        least, share, most = np.sort(generator.uniform(0.1, 1, 3))
        inner, ring = generator.uniform(0, 1, 2)
        logged = (inner * least + ring * (share - least)) / share  # the class inside `share`
        found = truncated_interval(Interval(float(logged), float(logged)), least, most)
        assert found.lower <= inner <= found.upper


def test_the_command_says_how_many_rows_were_not_taken_as_they_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows_of(
        tmp_path, "x+", {0: ONE_MISS, 1: ONE_MISS, 2: ALL_RIGHT}, dict.fromkeys(range(3), AGAIN[0])
    )
    out = tmp_path / "table.csv"
    assert main(["import", str(tmp_path), "--d", "784", "--output", str(out)]) == 0
    assert f"2 rows: {FORGOTTEN}" in capsys.readouterr().err
    assert [row.note for row in import_rows(out)] == [FORGOTTEN, FORGOTTEN, None]


def test_the_public_logs_are_read_by_one_reader(original_logs: Path) -> None:
    """`dsrs import` and `dsrs paper` have the same intervals of every fall-back row."""
    runs = [run for run in read_logs(original_logs).runs if run.name.rule == "x+"]
    rows = {
        (model, row.index): row
        for model, table in import_folder(original_logs).tables.items()
        for row in table
        if row.method in ("truncated", "truncated:x+")
    }
    notes: Counter[str | None] = Counter()
    for run in runs:
        assert run.fallback is not None
        for place in np.flatnonzero(run.fallback):
            row = rows[run.name.model, int(run.index[place])]
            assert (row.p_lower, row.p_upper) == (run.p_lower[place], run.p_upper[place])
            assert (row.q_law, row.n) == (None, 2 * N)
            assert row.note == run.notes.get(row.index)
            notes[row.note] += 1
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

"""Export and import: each format gives back what it holds, rounded toward less certified."""

from __future__ import annotations

import builtins
import csv
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrs.cli.main import main
from dsrs.errors import DataError, DsrsError, InvalidInput, MissingExtra
from dsrs.exchange import (
    TABLE_COLUMNS,
    ResultRow,
    csv_text,
    export_run,
    format_of,
    import_rows,
    jsonl_text,
    read_csv,
    read_jsonl,
    read_tsv,
    rows_of,
    tsv_text,
    write_rows,
)
from dsrs.exchange.formats import clock
from dsrs.store import RunResult, open_run, start_run


def rows_in(folder: Path, method: str | None = None) -> list[ResultRow]:
    with open_run(folder) as run:
        return list(rows_of(run.results(), run.config["plan"], method))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "csv.gz"])
def test_tables_lose_nothing(run_folder: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"rows.{ending}"
    form = format_of(output)
    assert form == ending.removesuffix(".gz")
    with open_run(run_folder) as run:
        export_run(run, output, form)
    rows = rows_in(run_folder)
    assert len(rows) == 27
    assert import_rows(output) == rows
    assert import_rows(output, form) == rows
    write_rows(import_rows(output), tmp_path / "again", form)
    assert import_rows(tmp_path / "again") == rows


def test_one_method_of_a_table(run_folder: Path, tmp_path: Path) -> None:
    with open_run(run_folder) as run:
        export_run(run, tmp_path / "rows.csv", "csv", "truncated")
        with pytest.raises(InvalidInput, match="np, truncated, rescaled, got 'none'"):
            export_run(run, tmp_path / "rows.csv", "csv", "none")
    rows = import_rows(tmp_path / "rows.csv")
    assert rows == rows_in(run_folder, "truncated")
    assert {(row.method, row.q_law) for row in rows} == {("truncated", "truncated:0.61")}


finite = st.floats(0, 1e6, allow_nan=False)
row_strategy = st.builds(
    ResultRow,
    index=st.integers(0, 10**9),
    label=st.none() | st.integers(0, 1000),
    method=st.none() | st.sampled_from(["np", "truncated:0.6"]),
    status=st.none() | st.just("certified"),
    radius=st.none() | finite,
    d=st.none() | st.integers(2, 10**6),
    k=st.none() | finite,
    p_lower=st.none() | st.floats(0, 0.5),
    p_upper=st.none() | st.floats(0.5, 1),
    seconds=st.none() | finite,
)


CERTAIN = ResultRow(0, status="certified", radius=float("inf"), p_lower=1.0, p_upper=1.0)


@settings(deadline=None)
@given(st.lists(row_strategy | st.just(CERTAIN), max_size=5))
def test_text_tables_round_trip_any_row(rows: list[ResultRow]) -> None:
    assert read_csv(Path("x"), csv_text(rows)) == rows
    assert read_jsonl(Path("x"), jsonl_text(rows)) == rows


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "'=1", "''-", "'twas"])
def test_names_are_no_formulas_and_come_back(name: str) -> None:
    rows = [ResultRow(0, class_name=name)]
    (cell,) = [line["class_name"] for line in csv.DictReader(csv_text(rows).splitlines())]
    assert not cell.startswith(("=", "+", "-", "@"))
    assert read_csv(Path("t.csv"), csv_text(rows)) == rows
    assert read_jsonl(Path("t.jsonl"), jsonl_text(rows)) == rows


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_marks_in_a_text_of_another_program_end_no_row(mark: str) -> None:
    table = f'index,name,label\r\n0,a{mark}b,2\r\n1,"c{mark}d",3\r\n'
    assert [row.label for row in read_csv(Path("t.csv"), table)] == [2, 3]
    if mark in ("\u2028", "\x85"):  # JSON wants the others escaped
        lines = f'{{"index": 0, "class_name": "a{mark}b"}}\r\n{{"index": 1}}\r\n'
        first, second = read_jsonl(Path("t.jsonl"), lines)
        assert (first.class_name, second.index) == (f"a{mark}b", 1)


def test_columns_follow_the_record() -> None:
    assert TABLE_COLUMNS["index"] is int
    assert TABLE_COLUMNS["q_law"] is str
    assert TABLE_COLUMNS["radius"] is float


def test_tsv_has_the_known_columns_and_abstains_with_minus_one(
    run_folder: Path, tmp_path: Path
) -> None:
    with open_run(run_folder) as run:
        export_run(run, tmp_path / "log.tsv", "tsv", "truncated")
        with pytest.raises(InvalidInput, match="--method np or truncated or rescaled"):
            export_run(run, tmp_path / "other.tsv", "tsv")
    assert not (tmp_path / "other.tsv").exists()
    lines = (tmp_path / "log.tsv").read_text().splitlines()
    assert lines[0] == "idx\tlabel\tpredict\tradius\tcorrect\ttime"
    assert re.fullmatch(r"0\t0\t-1\t0\.0\t0\t\d:\d\d:\d\d\.\d{6}", lines[1])
    assert re.fullmatch(r"11\t1\t1\t\d\.\d{10,}\t1\t\d:\d\d:\d\d\.\d{6}", lines[2])


def test_tsv_comes_back_without_intervals(run_folder: Path, tmp_path: Path) -> None:
    with open_run(run_folder) as run:
        export_run(run, tmp_path / "log.tsv", "tsv", "np")
    for back, row in zip(import_rows(tmp_path / "log.tsv"), rows_in(run_folder, "np"), strict=True):
        assert (back.index, back.label, back.status) == (row.index, row.label, row.status)
        assert back.correct == row.correct
        assert back.p_lower is None
        assert row.radius is not None
        assert back.radius is not None
        assert back.radius == row.radius
        assert back.seconds == pytest.approx(row.seconds, abs=1e-6)  # the format's microseconds


@settings(deadline=None)
@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_tsv_keeps_radii_exactly(radius: float, seconds: float) -> None:
    row = ResultRow(3, label=1, target=1, status="certified", radius=radius, seconds=seconds)
    (back,) = read_tsv(Path("x"), tsv_text([row]))
    assert back.radius == radius
    assert tsv_text([back]) == tsv_text([row])
    assert back.seconds == pytest.approx(seconds, abs=1e-6)


def test_tables_of_several_methods_do_not_become_one_tsv() -> None:
    rows = [
        ResultRow(3, label=1, target=1, status="certified", radius=0.5, method=method)
        for method in ("np", "truncated")
    ]
    with pytest.raises(InvalidInput, match="one method, and the table has np, truncated"):
        tsv_text(rows)


def test_conversions_between_tsv_and_csv_do_not_drift(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_bytes(TSV + b"7\t2\t2\t0.612\t1\t0:00:17.25\n8\t2\t-1\t0.0\t0\t0:00:17\n")
    for number in range(3):
        table, back = tmp_path / f"{number}.csv", tmp_path / f"{number}.tsv"
        assert main(["import", str(log), "--output", str(table)]) == 0
        assert main(["import", str(table), "--output", str(back)]) == 0
        log = back
    assert [line.split("\t")[3] for line in log.read_text().splitlines()[1:]] == ["0.612", "0.0"]


def test_clock_and_days() -> None:
    assert clock(0) == "0:00:00"
    assert clock(3725.5) == "1:02:05.500000"
    text = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n7\t2\t2\t0.52\t1\t1 day, 2:00:01.5\n"
    assert read_tsv(Path("x"), text)[0].seconds == 26 * 3600 + 1.5


def test_tsv_refuses_a_run_without_labels(
    tmp_path: Path, config: dict[str, Any], make_result: Callable[..., RunResult]
) -> None:
    with start_run(tmp_path / "run", config) as writer:
        writer.add(make_result(1, labelled=False))
    with open_run(tmp_path / "run") as run:
        with pytest.raises(InvalidInput, match="no label"):
            export_run(run, tmp_path / "log.tsv", "tsv", "np")
        export_run(run, tmp_path / "rows.csv", "csv")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["rows.csv", "run"]


def test_parquet_without_pyarrow_names_the_extra(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def no_pyarrow(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_pyarrow)
    with open_run(run_folder) as run, pytest.raises(MissingExtra, match=r"dsrs\[parquet\]"):
        export_run(run, tmp_path / "rows.parquet", "parquet")
    assert not (tmp_path / "rows.parquet").exists()


TSV = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
BAD_FILES = [
    (b"", "format is not known"),
    (b"a,b\n1,2\n", "format is not known"),
    (b"\xff\xfe\x00rubbish", "bytes that are no text"),
    (b"PAR1 cut", "Parquet"),
    (b"\x1f\x8b cut", "damaged .gz"),
    (b"index,radius\n1,0.5\n2\n", "line 3: expected 2 cells"),
    (b"index,radius\nx,0.5\n", "`index` must be a whole number, got 'x'"),
    (b"index,radius\n1,nan\n", "`radius` is NaN"),
    (b"index,radius\n1,-0.5\n", "must be >= 0"),
    (b"index,p_lower,p_upper\n1,0.9,0.8\n", "must not exceed"),
    (b'{"index": 1}\n{"index": \n', "line 2: not JSON"),
    (b'{"radius": 1}\n', "`index` is missing"),
    (b'{"index": 1.5}\n', "whole number"),
    (b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n1\t2\n", "expected 6 columns, got 2"),
    (b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n1\t2\t2\t0.1\t1\tsoon\n", "`time` must be"),
    (b"index,radius\n1,inf\n", "infinite"),
    (b"index,radius\n1,0.5\n1,0.5\n", "input 1 comes twice"),
    (b"index,method,radius\n1,np,0.5\n1,np,0.5\n", "input 1 of the method np comes twice"),
    (b"index,status,radius\n1,abstained,0.5\n", "is abstained and has radius 0.5"),
    (b"index,status\n1,proved\n", "`status` must be one of"),
    (b"index,label\n1,-1\n", "`label` must not be negative"),
    (b"index,d,k,sigma\n1,784,392,0.5\n", "`k` must be in [0, d/2)"),
    (b"index,d,k,sigma\n1,784,0,-0.5\n", "`sigma` must be a positive"),
    (b"index,sigma\n1,inf\n", "`sigma` must be positive"),
    (b"index,d,k,sigma,q_law\n1,784,0,0.5,cauchy:1\n", "KIND:VALUE"),
    (b"index,d,k,sigma,q_law\n1,784,0,0.5,truncated:1.5\n", "line 2"),
    (b"index,alpha\n1,1.5\n", "`alpha` must be in (0, 1)"),
    (b"index,n\n1,0\n", "`n` must be at least 1"),
    (b"index,method\n1,=cmd|calc\n", "must start with a letter or digit"),
    (b"index,index\n1,2\n", "more than once"),
    (TSV + b"1\t2\t2\t0.5\t0\t0:00:01\n", "`correct` is 0"),
    (TSV + b"1\t2\t3\t0.5\t1\t0:00:01\n", "`correct` is 1"),
    (TSV + b"1\t2\t-1\t0.5\t0\t0:00:01\n", "is abstained and has radius 0.5"),
    (TSV + b"1\t2\t2\tinf\t1\t0:00:01\n", "infinite"),
    (TSV + b"1\t2\t2\t0.5\t1\t0:00:01\n" * 2, "input 1 comes twice"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_bad_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(message)):
        import_rows(path)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_rows_or_our_error(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_bytes(content)
    try:
        rows = import_rows(path)
    except DsrsError:
        return
    assert all(isinstance(row, ResultRow) for row in rows)


def test_a_certificate_of_two_laws_has_no_row(
    make_result: Callable[..., RunResult], config: dict[str, Any]
) -> None:
    result = make_result(1)
    certificate = result.certificates["truncated"]
    two_laws = dataclasses.replace(certificate.proof, additional=certificate.observations * 2)  # type: ignore
    double = dataclasses.replace(certificate, proof=two_laws)
    both = dataclasses.replace(result, certificates={"both": double})
    with pytest.raises(InvalidInput, match="2 additional laws"):
        list(rows_of([both], config["plan"]))


def test_an_unwritable_output_is_named(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with open_run(run_folder) as run, pytest.raises(DataError, match="cannot be written"):
        export_run(run, tmp_path / "file" / "rows.csv", "csv")

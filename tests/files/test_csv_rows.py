"""The reader of CSV tables: one bad row is told with its line, the others are read."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from dsrs.errors import DataError
from dsrs.files import open_csv


def rows_of(path: Path) -> list[tuple[int, list[str], str | None]]:
    with open_csv(path) as table:
        return [(row.line, list(row.cells.values()), row.error) for row in table.rows]


def test_rows_come_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfa,b\n1,2\n\n"3\n4",5\r\n6,7')
    assert rows_of(path) == [(2, ["1", "2"], None), (5, ["3\n4", "5"], None), (6, ["6", "7"], None)]
    with open_csv(path) as table:
        assert table.header == ["a", "b"]


def test_bad_rows_do_not_stop_the_others(tmp_path: Path) -> None:
    long = b"9" * (csv.field_size_limit() + 1)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,\xff\n1,2,3\n1\n" + long + b',1\n"x"y,2\n1,\x00\n4,5\n')
    found = rows_of(path)
    assert found[-1] == (8, ["4", "5"], None)
    assert [line for line, _, error in found if error] == [2, 3, 4, 5, 6]
    assert found[0][1][1].encode("utf-8", "surrogateescape") == b"\xff"


def test_a_cut_gz_gives_the_rows_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    lines = "a,b\n" + "".join(f"{i},{i * 7919 % 10007}\n" for i in range(20_000))
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    found = rows_of(path)
    assert len(found) > 1000
    assert all(error is None for _, _, error in found[:-1])
    line, _, error = found[-1]
    assert "cut" in str(error)
    assert line == found[-2][0] + 1


@pytest.mark.parametrize("content", [b"", b"\n", b"a,b,a\n1,2,3\n", b"a,\xff\n1,2\n"])
def test_a_header_must_name_each_column_once(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"header|more than once"):
        rows_of(path)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(DataError, match="cannot be read"):
            rows_of(path)

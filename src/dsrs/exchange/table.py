"""CSV, JSON lines and Parquet: the columns of `ResultRow`, without loss."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dsrs.errors import DataError, MissingExtra
from dsrs.exchange.row import COLUMNS, ResultRow, row_from_text
from dsrs.files.csv_rows import csv_table


def csv_text(rows: Iterable[ResultRow]) -> str:
    """A header line and one line a row; floats with all their digits, None as an empty cell."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if value is None else value for value in asdict(row).values()])
    return sink.getvalue()


def read_csv(path: Path, text: str) -> list[ResultRow]:
    """The rows of a CSV table with at least the column `index`."""
    table = csv_table(text.splitlines(keepends=True), str(path))
    return [
        row_from_text(row.cells, f"{path}, line {row.line}") for row in table.good_rows(str(path))
    ]


def jsonl_text(rows: Iterable[ResultRow]) -> str:
    """One JSON object a line; an infinite radius is the string "inf"."""
    lines = []
    for row in rows:
        fields = {
            name: "inf" if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(row).items()
        }
        lines.append(json.dumps(fields, allow_nan=False) + "\n")
    return "".join(lines)


def read_jsonl(path: Path, text: str) -> list[ResultRow]:
    """The rows of a JSON lines file."""
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise DataError(f"{where}: expected a JSON object, got {type(fields).__name__}")
        rows.append(_typed_row(fields, where))
    return rows


def parquet_bytes(rows: Iterable[ResultRow]) -> bytes:
    """A Parquet file with typed, nullable columns."""
    pa, parquet = _pyarrow()
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), sink)
    return bytes(sink.getvalue())


def read_parquet(path: Path, content: bytes) -> list[ResultRow]:
    """The rows of a Parquet file with at least the column `index`."""
    pa, parquet = _pyarrow()
    try:
        found = parquet.read_table(pa.BufferReader(content)).to_pylist()
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    return [_typed_row(fields, f"{path}, row {number}") for number, fields in enumerate(found)]


def _typed_row(fields: dict[str, Any], where: str) -> ResultRow:
    # Through text: JSON has one kind of number, and a whole float must stay a float.
    cells = {name: None if value is None else str(value) for name, value in fields.items()}
    return row_from_text(cells, where)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    return pyarrow, parquet

"""Parquet: the columns of `ResultRow`, typed and without loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dsrs.errors import DataError, MissingExtra
from dsrs.exchange.format import Format
from dsrs.exchange.row import TABLE_COLUMNS, ResultRow, row_from_fields

MAGIC = b"PAR1"


def parquet_bytes(rows: Iterable[ResultRow]) -> bytes:
    """A Parquet file with typed, nullable columns."""
    pa, parquet = _pyarrow()
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in TABLE_COLUMNS.items()])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), sink)
    return bytes(sink.getvalue())


def read_parquet(path: Path, content: bytes) -> list[ResultRow]:
    """The rows of a Parquet file with at least the column `index`."""
    pa, parquet = _pyarrow()
    try:
        records = parquet.read_table(pa.BufferReader(content)).to_pylist()
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    return [
        row_from_fields(fields, f"{path}, row {number}") for number, fields in enumerate(records)
    ]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    return pyarrow, parquet


FORMAT = Format(
    "parquet",
    ".parquet",
    lambda content: content.startswith(MAGIC),
    write=parquet_bytes,
    read=read_parquet,
)

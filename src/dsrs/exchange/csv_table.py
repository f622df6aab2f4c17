"""CSV: the columns of `ResultRow`, without loss."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from dsrs.exchange.format import Format, first_line
from dsrs.exchange.row import TABLE_COLUMNS, ResultRow, row_from_text
from dsrs.files import csv_cell, csv_table, text_of, text_of_cell
from dsrs.proofs import REQUIRED_COLUMNS


def csv_text(rows: Iterable[ResultRow]) -> str:
    """Return a header line and a line for each row; floats have all their digits, None is an empty
    cell."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(TABLE_COLUMNS)
    for row in rows:
        writer.writerow([_cell(value) for value in asdict(row).values()])
    return sink.getvalue()


def _cell(value: object) -> object:
    return csv_cell(value) if isinstance(value, str) else "" if value is None else value


def read_csv(path: Path, text: str) -> list[ResultRow]:
    """The rows of a CSV table with at least the column `index`."""
    table = csv_table(io.StringIO(text, newline=""), str(path))
    return [
        row_from_text(
            {
                name: text_of_cell(cell) if TABLE_COLUMNS.get(name) is str else cell
                for name, cell in row.cells.items()
            },
            f"{path}, line {row.line}",
        )
        for row in table.good_rows(str(path))
    ]


def _recognises(content: bytes) -> bool:
    columns = set(first_line(content).split(","))
    return "index" in columns or columns.issuperset(REQUIRED_COLUMNS)


FORMAT = Format(
    "csv",
    ".csv",
    _recognises,
    write=lambda rows: csv_text(rows).encode(),
    read=lambda path, content: read_csv(path, text_of(content, path)),
)

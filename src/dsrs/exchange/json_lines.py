"""JSON lines: the columns of `ResultRow`, without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.format import Format, first_line
from dsrs.exchange.row import ResultRow, row_from_fields
from dsrs.files import text_of, to_json


def jsonl_text(rows: Iterable[ResultRow]) -> str:
    """One JSON object a line; an infinite radius is the string "inf"."""
    return "".join(json.dumps(to_json(row), allow_nan=False) + "\n" for row in rows)


def read_jsonl(path: Path, text: str) -> list[ResultRow]:
    """The rows of a JSON lines file."""
    rows = []
    # Not by `splitlines`: some of the marks that it breaks at may stand in a text of JSON.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise DataError(f"{where}: expected a JSON object, got {type(fields).__name__}")
        rows.append(row_from_fields(fields, where))
    return rows


FORMAT = Format(
    "jsonl",
    ".jsonl",
    lambda content: first_line(content).startswith("{"),
    write=lambda rows: jsonl_text(rows).encode(),
    read=lambda path, content: read_jsonl(path, text_of(content, path)),
)

"""From a file of another program to rows with the intervals and radii that it holds."""

from __future__ import annotations

from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.registry import format_named, recognised
from dsrs.exchange.row import ResultRow
from dsrs.files import content_of_file


def import_rows(path: Path, form: str | None = None) -> list[ResultRow]:
    """The rows of a file, in one of the formats that `dsrs export` writes.

    Args:
        path: The file.
        form: Its format; recognised from the content when not given.
    """
    content = content_of_file(path)
    chosen = recognised(path, content) if form is None else format_named(form)
    if chosen.read is None:
        raise DataError(f"{path} is of the format {chosen.name}, which has no rows to read")
    rows = chosen.read(path, content)
    _check_once(rows, path)
    return rows


def _check_once(rows: list[ResultRow], path: Path) -> None:
    """Refuse a table that answers one input twice by one method."""
    seen: set[tuple[int, str | None]] = set()
    for row in rows:
        if (row.index, row.method) in seen:
            method = f" of the method {row.method}" if row.method else ""
            raise DataError(f"{path}: input {row.index}{method} comes twice")
        seen.add((row.index, row.method))

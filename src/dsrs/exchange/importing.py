"""From a file of another program to rows with the intervals and radii that it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import log_format
from dsrs.exchange.log_names import model_dimension
from dsrs.exchange.log_tables import logs_in, rows_of_logs
from dsrs.exchange.registry import format_named, recognised
from dsrs.exchange.row import ResultRow, checked_row
from dsrs.files.content import content_of_file

GIVE_DIMENSION = (
    "the logs do not say the dimension of the inputs: give --d D for all models, or --d WORD=D for "
    "those with a word such as svhn in their names"
)


@dataclass(frozen=True, slots=True)
class ImportedFolder:
    """The rows of each table of `ModelLogs`, by its name, and files as there."""

    tables: dict[str, list[ResultRow]]
    broken: list[tuple[Path, str]]
    left_out: list[tuple[Path, str]]


def import_rows(
    path: Path, form: str | None = None, *, d: int | None = None, q_log: Path | None = None
) -> list[ResultRow]:
    """The rows of a file, in one of the formats that `dsrs export` writes.

    Args:
        path: The file.
        form: Its format; recognised from the content when not given.
        d: The dimension of the inputs, which logs of the DSRS scripts do not say. Without it they
            have that of the data set in the name of their folder, where it is known.
        q_log: The log of the additional law that belongs to the sampling log `path` of P.
    """
    content = content_of_file(path)
    chosen = recognised(path, content) if form is None else format_named(form)
    if chosen.read is None:
        raise DataError(f"{path} is of the format {chosen.name}, which has no rows to read")
    of_logs = chosen is log_format.FORMAT
    if q_log is not None and not of_logs:
        raise InvalidInput(
            f"a log of Q belongs to a DSRS sampling log, and {path} is {chosen.name}"
        )
    if of_logs:
        rows = log_format.log_rows(path, content, q_log)
        d = model_dimension(path.resolve().parent.name, {}) if d is None else d
    else:
        rows = chosen.read(path, content)
    _check_once(rows, path)
    return _with_dimensions(rows, d, path)


def import_folder(
    folder: Path, *, d: int | None = None, dimensions: Mapping[str, int] | None = None
) -> ImportedFolder:
    """The rows of all DSRS logs in a folder, a table for each model and norm of the noise.

    Args:
        folder: The folder above `sampling`, or one of logs of one model.
        d: The dimension of the inputs of every model. Without it each model has that of the data
            set in its name, and one without a known data set is left out and named.
        dimensions: Those of further data sets, by their words in the names of models.
    """
    imported = ImportedFolder({}, [], [])
    for logs in logs_in(folder):
        imported.broken.extend(logs.broken)
        imported.left_out.extend(logs.left_out)
        empty = [log.path for log in logs.sampling if not log.intervals]
        empty += [log.path for log in logs.radii if not log.radii]
        imported.left_out.extend((path, "no line with an input") for path in empty)
        rows = rows_of_logs(logs)
        _check_once(rows, folder)
        if not rows:
            continue
        own = model_dimension(logs.model, dimensions or {}) if d is None else d
        if own is None:
            why = f"no data set in {logs.model!r} is known; {GIVE_DIMENSION}"
            imported.broken.append((folder, why))
            continue
        imported.tables[logs.table] = _with_dimensions(rows, own, folder)
    if not imported.tables:
        raise DataError(
            imported.broken[0][1] if imported.broken else f"the logs in {folder} are empty"
        )
    return imported


def _with_dimensions(rows: list[ResultRow], d: int | None, path: Path) -> list[ResultRow]:
    if d is None:
        return rows
    for row in rows:
        if row.d not in (None, d):
            raise DataError(f"{path}: input {row.index} has d = {row.d}, and --d says {d}")
    return [
        checked_row(dataclasses.asdict(row) | {"d": d}, f"{path}, input {row.index}")
        for row in rows
    ]


def _check_once(rows: list[ResultRow], path: Path) -> None:
    """Refuse a table that answers one input twice by one method."""
    seen: set[tuple[int, str | None]] = set()
    for row in rows:
        if (row.index, row.method) in seen:
            method = f" of the method {row.method}" if row.method else ""
            raise DataError(f"{path}: input {row.index}{method} comes twice")
        seen.add((row.index, row.method))

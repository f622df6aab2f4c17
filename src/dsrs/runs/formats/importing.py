"""From a file of another program to rows with the intervals and radii that it holds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.files.unpacking import GZIP_MAGIC, unpacked_gzip
from dsrs.runs.formats.dsrs_logs import read_sampling_log
from dsrs.runs.formats.joining import interval_rows, joined_rows, radius_rows
from dsrs.runs.formats.row import ResultRow, checked_row
from dsrs.runs.formats.table import read_csv, read_jsonl, read_parquet
from dsrs.runs.formats.tsv import HEADER, read_tsv
from dsrs.table import REQUIRED_COLUMNS

PARQUET_MAGIC = b"PAR1"


def import_rows(
    path: Path, form: str | None = None, *, d: int | None = None, q_log: Path | None = None
) -> list[ResultRow]:
    """The rows of a file, in one of the formats that `dsrs export` writes.

    `form` is recognised from the content when not given. A sampling log of the DSRS scripts does
    not say the dimension `d`, and holds one law: `q_log` is the log of the additional law.
    """
    content = content_of_file(path)
    form = form or recognised(path, content)
    if q_log is not None and form != "dsrs-logs":
        raise InvalidInput(f"a log of Q belongs to a DSRS sampling log, and {path} is {form}")
    if form == "parquet":
        rows = read_parquet(path, content)
    else:
        text = _text(path, content)
        if form == "dsrs-logs":
            rows = _log_rows(path, text, q_log)
        elif form in _READERS:
            rows = _READERS[form](path, text)
        else:
            known = ", ".join([*_READERS, "parquet", "dsrs-logs"])
            raise InvalidInput(f"`format` must be one of {known}, got {form!r}")
    _check_once(rows, path)
    return rows if d is None else [_with_dimension(row, d, path) for row in rows]


_READERS = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_jsonl}


def recognised(path: Path, content: bytes) -> str:
    """The format of this content; DataError when it is none of ours."""
    if content.startswith(PARQUET_MAGIC):
        return "parquet"
    start = _text(path, content).lstrip()
    line = start.splitlines()[0] if start else ""
    if line.split("\t") == list(HEADER):
        return "tsv"
    if line.startswith("{"):
        return "jsonl"
    if line.startswith("x ") or (line and all(map(_is_number, line.split()))):
        return "dsrs-logs"
    columns = set(line.split(","))
    if "index" in columns or columns.issuperset(REQUIRED_COLUMNS):
        return "csv"
    raise DataError(
        f"{path}: the format is not known; expected a TSV log (idx label predict ...), CSV with "
        f"an `index` column, JSON lines, Parquet or a DSRS log, got {line[:60]!r}"
    )


def _log_rows(path: Path, text: str, q_log: Path | None) -> list[ResultRow]:
    if not text.lstrip().startswith("x "):
        if q_log is not None:
            raise InvalidInput(f"{path} holds radii; give the sampling log of P with that of Q")
        return radius_rows(path, text)
    log, rows = interval_rows(path, text)
    if q_log is None:
        return rows
    of_q = read_sampling_log(q_log, _text(q_log, content_of_file(q_log)))
    return joined_rows(rows, log.header, of_q, path, q_log)


def _with_dimension(row: ResultRow, d: int, path: Path) -> ResultRow:
    if row.d not in (None, d):
        raise DataError(f"{path}: input {row.index} has d = {row.d}, and --d says {d}")
    return checked_row(dataclasses.asdict(row) | {"d": d}, f"{path}, input {row.index}")


def _check_once(rows: list[ResultRow], path: Path) -> None:
    """Refuse a table that answers one input twice by one method."""
    seen: set[tuple[int, str | None]] = set()
    for row in rows:
        if (row.index, row.method) in seen:
            method = f" of the method {row.method}" if row.method else ""
            raise DataError(f"{path}: input {row.index}{method} comes twice")
        seen.add((row.index, row.method))


def content_of_file(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is a .gz file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    return unpacked_gzip(content, str(path)) if content.startswith(GZIP_MAGIC) else content


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is neither text nor Parquet") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

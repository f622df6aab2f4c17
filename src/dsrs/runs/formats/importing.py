"""From a file of another program to rows with the intervals and radii that it holds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.files.unpacking import GZIP_MAGIC, unpacked_gzip
from dsrs.laws import heuristic_percentile
from dsrs.records import Interval
from dsrs.runs.formats.dsrs_logs import (
    FALLBACK_RULE,
    HEURISTIC_RULE,
    LogHeader,
    SamplingLog,
    read_radius_log,
    read_sampling_log,
)
from dsrs.runs.formats.row import ResultRow, parsed
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
    return rows if d is None else [dataclasses.replace(row, d=d) for row in rows]


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
        return [
            ResultRow(
                index,
                radius=row.radius,
                status="certified" if row.radius else "abstained",
            )
            for index, row in read_radius_log(path, text).items()
        ]
    log = read_sampling_log(path, text)
    header = log.header
    rows = [
        ResultRow(
            index,
            k=header.k,
            sigma=header.sigma,
            n=header.n,
            alpha=header.alpha,
            p_lower=interval.lower,
            p_upper=interval.upper,
        )
        for index, interval in log.intervals.items()
    ]
    if q_log is None:
        return rows
    return _joined(rows, log, read_sampling_log(q_log, _text(q_log, content_of_file(q_log))), q_log)


def _joined(
    rows: list[ResultRow], p_log: SamplingLog, q_log: SamplingLog, path: Path
) -> list[ResultRow]:
    """The rows that both logs hold, with the interval under Q where the log has one."""
    p, q = p_log.header, q_log.header
    if q.k != p.k:
        raise DataError(f"{path} has k = {q.k:g}, and the log of P has k = {p.k:g}")
    if q.sigma == p.sigma and q.rule is None:
        raise DataError(
            f"{path} has the sigma of P and no rule in its name, so its law is not known; "
            "expected a name like general-gaussian-380-0.5-50000-0.0005-0.75.txt"
        )
    joined = []
    for row in rows:
        interval = q_log.intervals.get(row.index)
        if interval is None:
            continue
        if _fell_back(row, interval, q):
            joined.append(row)
            continue
        if q.rule is None:
            q_law = f"rescaled:{q.sigma!r}"
        else:
            q_law = f"truncated:{_percentile(q.rule, row.p_lower or 0.0, path)!r}"
        joined.append(
            dataclasses.replace(
                row,
                n=p.n + q.n,
                alpha=p.alpha + q.alpha,
                q_law=q_law,
                q_lower=interval.lower,
                q_upper=interval.upper,
            )
        )
    return joined


def _fell_back(row: ResultRow, interval: Interval, q: LogHeader) -> bool:
    """Whether the Q log holds an interval of P, which must not be taken for one of Q."""
    if q.rule != FALLBACK_RULE:
        return False
    # The second test: q.n votes alone cannot prove such a lower bound.
    most = (q.alpha / 2) ** (1 / q.n)
    return row.p_upper == 1 or interval.lower > most * (1 + 1e-12)


def _percentile(rule: str, p_lower: float, path: Path) -> float:
    if rule in (HEURISTIC_RULE, FALLBACK_RULE):
        return heuristic_percentile(p_lower)
    value: float = parsed(rule, float, "the rule in the name", str(path))
    return value


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

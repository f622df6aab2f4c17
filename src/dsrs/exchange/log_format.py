"""The logs of the DSRS scripts as a format: a folder when written, a single log when read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dsrs.errors import InvalidInput
from dsrs.exchange.dsrs_logs import read_radius_log, read_sampling_log
from dsrs.exchange.export_logs import dsrs_log_texts
from dsrs.exchange.format import Format, first_line
from dsrs.exchange.joining import check_is_p, interval_rows, joined_rows, radius_rows
from dsrs.exchange.row import ResultRow
from dsrs.store.reader import Run


def log_rows(path: Path, content: bytes, q_log: Path | None = None) -> list[ResultRow]:
    """The rows of a sampling log of P, alone or with that of an additional law, or of radii."""
    if not first_line(content).startswith("x "):
        if q_log is not None:
            raise InvalidInput(f"{path} holds radii; give the sampling log of P with that of Q")
        return radius_rows(read_radius_log(path))
    log = read_sampling_log(path)
    check_is_p(log)
    if q_log is None:
        return interval_rows(log)
    return joined_rows(log, read_sampling_log(q_log))


def _export(run: Run, methods: tuple[str, ...]) -> Mapping[str, bytes]:
    return {name: text.encode() for name, text in dsrs_log_texts(run, methods).items()}


def _recognises(content: bytes) -> bool:
    line = first_line(content)
    return line.startswith("x ") or (bool(line) and all(map(_is_number, line.split())))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


FORMAT = Format("dsrs-logs", "", _recognises, read=log_rows, export=_export)

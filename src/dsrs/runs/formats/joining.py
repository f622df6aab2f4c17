"""Rows from the logs of the DSRS scripts: radii, intervals of P, or those of P and Q together."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.records import Interval
from dsrs.runs.formats.dsrs_logs import (
    FALLBACK_RULE,
    LogHeader,
    SamplingLog,
    read_radius_log,
    read_sampling_log,
    recorded_percentile,
)
from dsrs.runs.formats.row import ResultRow, checked_row

# The sigma that a model of the public logs was trained for ends the name of its folder.
_MODEL_SIGMA = re.compile(r".*-(\d+\.\d+)(?:-orig)?\.pth")


def radius_rows(path: Path, text: str) -> list[ResultRow]:
    """The rows of a log of radii, which are of the label's class."""
    header, radii = read_radius_log(path, text)
    alone = header.rule is None  # with a Q, N and ALPHA are not those of the whole method
    return [
        checked_row(
            {
                "index": index,
                "radius": row.radius,
                "status": "certified" if row.radius else "abstained",
                "k": header.k,
                "sigma": header.sigma,
                "n": header.n if alone else None,
                "alpha": header.alpha if alone else None,
            },
            str(path),
        )
        for index, row in radii.items()
    ]


def interval_rows(path: Path, text: str) -> tuple[SamplingLog, list[ResultRow]]:
    """A log of P and its rows; a log of Q is refused."""
    log = read_sampling_log(path, text)
    header = log.header
    if header.rule is not None:
        raise DataError(
            f"{path} is the log of a truncated law (rule {header.rule}), not of P; give the log "
            "of P, and this one with --q-log"
        )
    model = _MODEL_SIGMA.fullmatch(path.resolve().parent.name)
    if model and float(model[1]) != header.sigma:
        raise DataError(
            f"{path} has sigma = {header.sigma:g}, and its folder belongs to a model for sigma = "
            f"{float(model[1]):g}: by the layout of the logs it is that of a rescaled Q; give the "
            "log of P, and this one with --q-log"
        )
    rows = [
        checked_row(
            {
                "index": index,
                "k": header.k,
                "sigma": header.sigma,
                "n": header.n,
                "alpha": header.alpha,
                "p_lower": interval.lower,
                "p_upper": interval.upper,
            },
            str(path),
        )
        for index, interval in log.intervals.items()
    ]
    return log, rows


def joined_rows(
    rows: list[ResultRow], p: LogHeader, q_log: SamplingLog, p_path: Path, q_path: Path
) -> list[ResultRow]:
    """The rows that both logs hold, with the interval under Q where the log has one."""
    q = q_log.header
    _check_pair(p, q, p_path, q_path)
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
            q_law = f"truncated:{recorded_percentile(q.rule, row.p_lower or 0.0)!r}"
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
    if not joined:
        raise DataError(f"{p_path} and {q_path} have no input in common")
    return joined


def _check_pair(p: LogHeader, q: LogHeader, p_path: Path, q_path: Path) -> None:
    """Refuse a log of Q that does not belong to this P."""
    folders = [path.resolve().parent.name for path in (p_path, q_path)]
    if all(name.endswith(".pth") for name in folders) and folders[0] != folders[1]:
        raise DataError(f"{q_path} is of the model {folders[1]}, and the log of P of {folders[0]}")
    if q.k != p.k:
        raise DataError(f"{q_path} has k = {q.k:g}, and the log of P has k = {p.k:g}")
    if q.sigma == p.sigma and q.rule is None:
        raise DataError(
            f"{q_path} has the sigma of P and no rule in its name, so it is no log of a Q; "
            "expected another sigma, or a name like general-gaussian-380-0.5-50000-0.0005-0.75.txt"
        )
    if q.sigma != p.sigma and q.rule is not None:
        raise DataError(
            f"{q_path} is of P truncated at sigma = {q.sigma:g}, and the log of P has sigma = "
            f"{p.sigma:g}"
        )
    if p.alpha + q.alpha >= 1:
        raise InvalidInput(f"the alphas of both logs add up to {p.alpha + q.alpha:g}")


def _fell_back(row: ResultRow, interval: Interval, q: LogHeader) -> bool:
    """Whether the Q log holds an interval of P, which must not be taken for one of Q."""
    if q.rule != FALLBACK_RULE:
        return False
    # The second test: q.n votes alone cannot prove such a lower bound.
    most = (q.alpha / 2) ** (1 / q.n)
    return row.p_upper == 1 or interval.lower > most * (1 + 1e-12)

"""Rows from the logs of the DSRS scripts: radii, intervals of P, or those of P and Q together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog
from dsrs.exchange.log_names import (
    FALLBACK_RULE,
    MODEL_ENDING,
    LogHeader,
    model_sigma,
    recorded_percentile,
)
from dsrs.exchange.row import ResultRow, checked_row
from dsrs.proofs.interval import Interval


def radius_rows(log: RadiusLog, path: Path) -> list[ResultRow]:
    """The rows of a log of radii, which are of the label's class."""
    p = log.name.p
    alone = log.name.rule is None  # with a Q, N and ALPHA are not those of the whole method
    common = {
        "k": p.k,
        "sigma": p.sigma,
        "n": p.n if alone else None,
        "alpha": p.alpha if alone else None,
    }
    return [
        checked_row({"index": index, "radius": row.radius, "status": status, **common}, str(path))
        for index, row in log.radii.items()
        for status in ["certified" if row.radius else "abstained"]  # 0 stands for an abstention
    ]


def check_is_p(log: SamplingLog, path: Path) -> None:
    """Refuse a log of Q where that of P is meant."""
    header, folder = log.header, path.resolve().parent.name
    if header.rule is not None:
        raise DataError(
            f"{path} is the log of a truncated law (rule {header.rule}), not of P; give the log "
            "of P, and this one with --q-log"
        )
    own = model_sigma(folder) if folder.endswith(MODEL_ENDING) else None
    if own not in (None, header.sigma):
        raise DataError(
            f"{path} has sigma = {header.sigma:g}, and its folder belongs to a model for sigma = "
            f"{own:g}: by the layout of the logs it is that of a rescaled Q; give the "
            "log of P, and this one with --q-log"
        )


def interval_rows(log: SamplingLog, path: Path) -> list[ResultRow]:
    """The rows of a log of P."""
    header = log.header
    common = {"k": header.k, "sigma": header.sigma, "n": header.n, "alpha": header.alpha}
    return [
        checked_row(
            {"index": index, **common, "p_lower": interval.lower, "p_upper": interval.upper},
            str(path),
        )
        for index, interval in log.intervals.items()
    ]


def joined_rows(
    p_log: SamplingLog, q_log: SamplingLog, p_path: Path, q_path: Path
) -> list[ResultRow]:
    """The rows that both logs hold, with the interval under Q where the log has one."""
    p, q = p_log.header, q_log.header
    _check_pair(p, q, p_path, q_path)
    joined = []
    for row in interval_rows(p_log, p_path):
        interval = q_log.intervals.get(row.index)
        if interval is None:
            continue
        under_p = p_log.intervals[row.index]
        if fell_back(q, under_p, interval):
            joined.append(row)
            continue
        if q.rule is None:
            q_law = f"rescaled:{q.sigma!r}"
        else:
            q_law = f"truncated:{recorded_percentile(q.rule, under_p.lower)!r}"
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


def fell_back(q: LogHeader, under_p: Interval, logged: Interval) -> bool:
    """Whether a log of Q holds an interval of P, which must not be taken for one of Q."""
    if q.rule != FALLBACK_RULE:
        return False
    # Also when the log of P was overwritten later: n votes cannot prove such a lower bound.
    most = (q.alpha / 2) ** (1 / q.n)
    return under_p.upper == 1 or logged.lower > most * (1 + 1e-12)


def _check_pair(p: LogHeader, q: LogHeader, p_path: Path, q_path: Path) -> None:
    """Refuse a log of Q that does not belong to this P."""
    folders = [path.resolve().parent.name for path in (p_path, q_path)]
    if all(name.endswith(MODEL_ENDING) for name in folders) and folders[0] != folders[1]:
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

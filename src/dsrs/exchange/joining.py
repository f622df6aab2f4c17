"""Rows from the logs of the DSRS scripts: radii, intervals of P, or those of P and Q together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog
from dsrs.exchange.fallback import fallback_interval
from dsrs.exchange.log_names import MODEL_ENDING, model_sigma, recorded_percentile
from dsrs.exchange.row import ResultRow, checked_row
from dsrs.proofs.interval import Interval

REPEATED = "the log has other intervals of this input too; the first counts"
EITHER_TRUNCATION = (
    "the log of P has several intervals of this input, and which of them chose Q is not known; "
    "the interval of Q holds for each"
)


def radius_rows(log: RadiusLog) -> list[ResultRow]:
    """The rows of a log of radii, which are of the label's class."""
    p = log.name.p
    alone = log.name.rule is None  # with a Q, N and ALPHA are not those of the whole method
    return [
        checked_row(
            {
                "index": index,
                "radius": row.radius,
                "status": "certified" if row.radius else "abstained",  # 0 stands for an abstention
                "for_label": 1,
                "k": p.k,
                "sigma": p.sigma,
                "n": p.n if alone else None,
                "alpha": p.alpha if alone else None,
            },
            str(log.path),
        )
        for index, row in log.radii.items()
    ]


def check_is_p(log: SamplingLog) -> None:
    """Refuse a log of Q where that of P is meant."""
    header, path, folder = log.header, log.path, log.path.resolve().parent.name
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


def interval_rows(log: SamplingLog) -> list[ResultRow]:
    """The rows of a log of P."""
    notes = {index: REPEATED if len(log.lines(index)) > 1 else None for index in log.intervals}
    return [
        _row(index, JoinedInput(interval, note=notes[index]), log, log)
        for index, interval in log.intervals.items()
    ]


@dataclass(frozen=True, slots=True)
class JoinedInput:
    """What the logs of P and Q say together of one input: what its certificate may use.

    `p` is the interval of all votes where the scripts `fell_back` to P, and that of the first votes
    otherwise. `q_value` is the share of P inside a truncated Q, or the sigma of a rescaled one;
    both are None where P alone may be used.
    """

    p: Interval
    q: Interval | None = None
    q_value: float | None = None
    fell_back: bool = False
    note: str | None = None


def joined_input(p_log: SamplingLog, q_log: SamplingLog, index: int) -> JoinedInput:
    """The intervals of an input that both logs hold."""
    lines, q = p_log.lines(index), q_log.header
    logged = q_log.intervals[index]
    repeated = REPEATED if len(lines) > 1 or len(q_log.lines(index)) > 1 else None
    of_all_votes, note = fallback_interval(lines, logged, q)
    if of_all_votes is not None:
        return JoinedInput(of_all_votes, fell_back=True, note=note or repeated)
    if note is not None:
        return JoinedInput(lines[0], note=note)
    if q.rule is None:
        return JoinedInput(lines[0], logged, q.sigma, note=repeated)
    shares = {recorded_percentile(q.rule, line.lower) for line in lines}
    under_q = truncated_interval(logged, min(shares), max(shares))
    note = EITHER_TRUNCATION if len(shares) > 1 else repeated
    return JoinedInput(lines[0], under_q, min(shares), note=note)


def truncated_interval(logged: Interval, least: float, most: float) -> Interval:
    """Return an interval for the class under P truncated to the ball with the share `least` of P.

    It holds if `logged` is right for the ball of any one share from `least` to `most`. Let s be
    that share: the ball of s has at least `logged.lower` s and at most `logged.upper` s of the
    class, of which at most s - `least` lies outside of the smaller ball.
    """
    if least == most:
        return logged
    grown = most / least
    lower = max(1 - (1 - logged.lower) * grown, 0.0)
    return Interval(math.nextafter(lower, 0.0), min(math.nextafter(logged.upper * grown, 2), 1.0))


def joined_rows(p_log: SamplingLog, q_log: SamplingLog) -> list[ResultRow]:
    """The rows of the inputs that both logs hold."""
    _check_pair(p_log, q_log)
    both = [index for index in p_log.intervals if index in q_log.intervals]
    if not both:
        raise DataError(f"{p_log.path} and {q_log.path} have no input in common")
    return [_row(index, joined_input(p_log, q_log, index), p_log, q_log) for index in both]


def _row(index: int, joined: JoinedInput, p_log: SamplingLog, q_log: SamplingLog) -> ResultRow:
    p, q = p_log.header, q_log.header
    kind = "rescaled" if q.rule is None else "truncated"
    both = joined.fell_back or joined.q is not None
    return checked_row(
        {
            "index": index,
            "k": p.k,
            "norm": None if p.norm == "l2" else p.norm,
            "sigma": p.sigma,
            "n": p.n + q.n if both else p.n,
            "alpha": p.alpha + q.alpha if both else p.alpha,
            "p_lower": joined.p.lower,
            "p_upper": joined.p.upper,
            "q_law": None if joined.q is None else f"{kind}:{joined.q_value!r}",
            "q_lower": None if joined.q is None else joined.q.lower,
            "q_upper": None if joined.q is None else joined.q.upper,
            "note": joined.note,
            "for_label": 1,
        },
        str(p_log.path),
    )


def _check_pair(p_log: SamplingLog, q_log: SamplingLog) -> None:
    """Refuse a log of Q that does not belong to this P."""
    p, q, q_path = p_log.header, q_log.header, q_log.path
    folders = [log.path.resolve().parent.name for log in (p_log, q_log)]
    if all(name.endswith(MODEL_ENDING) for name in folders) and folders[0] != folders[1]:
        raise DataError(f"{q_path} is of the model {folders[1]}, and the log of P of {folders[0]}")
    if q.norm != p.norm:
        raise DataError(f"{q_path} has {q.norm} noise, and the log of P has {p.norm} noise")
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

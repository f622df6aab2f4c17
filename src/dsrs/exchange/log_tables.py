"""A table from all logs of one model: each method that they hold, with intervals and radii.

Nothing in the logs says which P and which Q belong together. A log of double-sampling radii names
its Q, and the votes and alpha of its P. Where there is none, P and Q have the same votes and alpha,
as in the original experiments, or there is but one P.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog
from dsrs.exchange.joining import interval_rows, joined_rows, radius_rows
from dsrs.exchange.log_folder import (
    RADIUS_KINDS,
    SAMPLING,
    ModelLogs,
    model_folders,
    read_model_logs,
)
from dsrs.exchange.log_names import HEURISTIC_RULE, MODEL_ENDING, PAPER_RULE, LogHeader, model_sigma
from dsrs.exchange.row import ResultRow
from dsrs.methods import NEYMAN_PEARSON
from dsrs.methods.plan import method_name

# How a plan writes the rules that it can have; other rules keep the logs' word.
RULE_TEXTS = {HEURISTIC_RULE: "heuristic", PAPER_RULE: "paper-heuristic"}


def logs_in(folder: Path) -> list[ModelLogs]:
    """The logs of each model in a folder, those of each norm apart.

    It is the folder above `sampling`, `orig-radius` and `new-radius`, that of one model in one of
    these, or any other folder with logs of one model.
    """
    kinds = (SAMPLING, *RADIUS_KINDS)
    place = folder.resolve()
    if place.name.endswith(MODEL_ENDING) and place.parent.name in kinds:
        model = place.name.removesuffix(MODEL_ENDING)
        models = {model: model_folders(place.parent.parent)[model]}
    else:
        models = model_folders(folder) or {place.name: [folder]}
    logs = [read_model_logs(model, folders) for model, folders in models.items()]
    if not any(one.sampling or one.radii or one.broken for one in logs):
        raise DataError(
            f"{folder} holds no logs that can be read; expected {SAMPLING}/MODEL{MODEL_ENDING}/"
            "LAW-K-SIGMA-N-ALPHA[-RULE].txt, or such files themselves"
        )
    return [part for one in logs for part in one.of_norms().values()]


def rows_of_logs(logs: ModelLogs) -> list[ResultRow]:
    """The rows of every method of a model, each method under a name of its own."""
    methods = list(_methods(logs))
    return [
        dataclasses.replace(row, method=name)
        for name, method in zip(_names(methods), methods, strict=True)
        for row in method.rows
    ]


@dataclass(frozen=True, slots=True)
class LoggedMethod:
    """A method of a log: `np` or a law as plans write it, votes and alpha of its P, its rows."""

    text: str
    p: LogHeader
    rows: list[ResultRow]


def _methods(logs: ModelLogs) -> Iterator[LoggedMethod]:
    own_sigma = _sigma_of_p(logs)
    under_p: dict[tuple[float, int, float], SamplingLog] = {}
    under_q: list[SamplingLog] = []
    for log in logs.sampling:
        if log.intervals and log.name.rule is None and log.name.sigma == own_sigma:
            under_p[_budget(log.name)] = log
        elif log.intervals:
            under_q.append(log)
    served: set[Path] = set()  # the sampling logs that belong to a method already
    for radii in logs.radii:
        p = under_p.get(_budget(radii.name.p))
        q = None if radii.name.rule is None else _q_of(radii, under_q)
        served |= {found.path for found in (p, q) if found}
        rows = _rows_with_radii(radii, p, q)
        if rows:
            yield LoggedMethod(_radius_text(radii), radii.name.p, rows)
    for q in under_q:
        if q.path not in served:
            p = _p_of(q, under_p)
            served.add(p.path)
            yield LoggedMethod(_q_text(q.name), p.name, joined_rows(p, q))
    for log in under_p.values():
        if log.path not in served:
            yield LoggedMethod(NEYMAN_PEARSON, log.name, interval_rows(log))


def _budget(name: LogHeader) -> tuple[float, int, float]:
    return name.k, name.n, name.alpha


def _sigma_of_p(logs: ModelLogs) -> float | None:
    """The sigma of P: that of the model's name, of the radii, of truncated laws, or the only one.

    None where no sampling log has it.
    """
    named = [log.name for log in logs.sampling]
    sources: Iterable[set[float | None]] = (
        {model_sigma(logs.model)} - {None},
        {log.name.p.sigma for log in logs.radii},
        {name.sigma for name in named if name.rule is not None},
        {name.sigma for name in named},
    )
    known = next((sigmas for sigmas in sources if sigmas), {None})
    if len(known) > 1:
        texts = ", ".join(f"{sigma:g}" for sigma in sorted(s for s in known if s is not None))
        raise DataError(
            f"the logs of {logs.model} have sigma = {texts}, and nothing says which is that of P; "
            "give the log of P itself, and that of Q with --q-log"
        )
    return known.pop()


def _q_of(log: RadiusLog, under_q: list[SamplingLog]) -> SamplingLog | None:
    """The log of the Q that these radii come from; None where it is not there."""
    name = log.name
    of_rule = [
        q
        for q in under_q
        if (q.name.rule == name.rule if name.truncated else q.name.rule is None)
        and (name.truncated or q.name.sigma == float(name.rule or "nan"))
        and q.name.k == name.p.k
    ]
    alike = [q for q in of_rule if _budget(q.name) == _budget(name.p)]
    if len(of_rule) > 1 and len(alike) != 1:
        files = ", ".join(q.path.name for q in of_rule)
        raise DataError(
            f"which of {files} belongs to the radii of {name.stem}.txt is not known; give the "
            "log of P itself, and that of Q with --q-log"
        )
    return next(iter(alike or of_rule), None)


def _p_of(q: SamplingLog, under_p: dict[tuple[float, int, float], SamplingLog]) -> SamplingLog:
    """The log of the P that a log of Q without radii belongs to."""
    name = q.name
    alike = [p for budget, p in under_p.items() if budget[0] == name.k]
    p = under_p.get(_budget(name)) or (alike[0] if len(alike) == 1 else None)
    if p is None:
        raise DataError(
            f"{q.path} is the log of a Q, and none of P is named for {name.n} votes and "
            f"alpha = {name.alpha:g}; give the log of P itself, and this one with --q-log"
        )
    return p


def _rows_with_radii(
    log: RadiusLog, p: SamplingLog | None, q: SamplingLog | None
) -> list[ResultRow]:
    """A row for each radius, with the intervals that the logs have of this input."""
    rows = {row.index: row for row in radius_rows(log)}
    if p and (q or log.name.rule is None):
        known = {row.index: row for row in interval_rows(p)}
        known |= {row.index: row for row in joined_rows(p, q)} if q else {}
        for index, row in rows.items():
            if index in known:
                rows[index] = dataclasses.replace(
                    known[index], radius=row.radius, status=row.status
                )
    return list(rows.values())


def _radius_text(log: RadiusLog) -> str:
    name = log.name
    if name.rule is None:
        return NEYMAN_PEARSON
    if name.truncated:
        return f"truncated:{RULE_TEXTS.get(name.rule, name.rule)}"
    return f"rescaled:{float(name.rule)!r}"


def _q_text(q: LogHeader) -> str:
    if q.rule is None:
        return f"rescaled:{q.sigma!r}"
    return f"truncated:{RULE_TEXTS.get(q.rule, q.rule)}"


def _names(methods: list[LoggedMethod]) -> list[str]:
    """Return a name for each method: that of a run, with the budget where several share a name."""
    texts = tuple(dict.fromkeys(method.text for method in methods))
    short = [method_name(method.text, texts) for method in methods]
    longer = [f"{name} n={method.p.n}" for name, method in zip(short, methods, strict=True)]
    longest = [
        f"{name} alpha={method.p.alpha!r} k={method.p.k!r}"
        for name, method in zip(longer, methods, strict=True)
    ]
    counts = Counter(short), Counter(longer)
    return [
        one if counts[0][one] == 1 else two if counts[1][two] == 1 else three
        for one, two, three in zip(short, longer, longest, strict=True)
    ]

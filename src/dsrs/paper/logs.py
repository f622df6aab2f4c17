"""The recorded runs of the original experiments, from the folder of their public logs.

The logs themselves are read by `dsrs.exchange`. Here every log of P is paired with each Q that
was sampled for it, and with the radii then recorded. A sampling log without a rule in its name is a
run under the law itself: P if its sigma is the model's own, a rescaled Q otherwise. Votes and alpha
are those in the names, which belong to Q: a log of P may say in its header that it has fewer, where
one log of P was copied to serve several Q.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog
from dsrs.exchange.joining import REPEATED, joined_input
from dsrs.exchange.log_folder import SAMPLING, model_folders, read_model_logs
from dsrs.exchange.log_names import LogHeader, model_sigma
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.recorded import (
    RECORDED_DIMENSIONS,
    Floats,
    Ints,
    RecordedRadii,
    RecordedRun,
    RunName,
    dataset_of,
)
from dsrs.proofs.interval import Interval

Radii = dict[RunName, RecordedRadii]


@dataclass(frozen=True, slots=True)
class LogFolder:
    """What a folder of logs holds.

    `radii` are the recorded radii without the intervals that they came from. `broken` are files
    that should have been read and could not be, `left_out` those of other norms and data sets.
    """

    runs: list[RecordedRun]
    radii: list[RecordedRadii]
    broken: list[tuple[Path, str]]
    left_out: list[tuple[Path, str]]


def read_logs(folder: Path) -> LogFolder:
    """All runs under `folder/sampling`, paired with the radii recorded for them."""
    models = model_folders(folder)
    if not any(path.parent.name == SAMPLING for paths in models.values() for path in paths):
        raise DataError(
            f"expected logs as {folder}/sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt, "
            "found no such folder; give the folder that holds `sampling`"
        )
    found = LogFolder([], [], [], [])
    for model, paths in models.items():
        try:
            d, own_sigma = RECORDED_DIMENSIONS[dataset_of(model)], sigma_of(model)
        except DataError as error:
            found.left_out.extend((path, str(error)) for path in paths)
            continue
        norms = read_model_logs(model, paths).of_norms()
        logs = norms.pop("l2")
        other_norms = [log.path for part in norms.values() for log in part.sampling]
        found.left_out.extend((path, "noise for another norm than l2") for path in other_norms)
        found.broken.extend(logs.broken)
        found.left_out.extend(one for one in logs.left_out if not one[0].name.startswith("time-"))
        radii = recorded_radii(model, d, logs.radii)
        runs = _pair(model, d, own_sigma, logs.sampling, radii)
        named = {run.name for run in runs}
        found.runs.extend(runs)
        found.radii.extend(one for name, one in radii.items() if name not in named)
    return found


def recorded_radii(model: str, d: int, logs: Iterable[RadiusLog]) -> Radii:
    """The radii that were recorded for each run of a model."""
    found: Radii = {}
    for log in logs:
        if log.radii:
            name = _radius_run(model, d, log)
            index = sorted(log.radii)
            found[name] = RecordedRadii(
                name,
                np.array(index, dtype=np.int64),
                np.array([log.radii[i].radius for i in index]),
            )
    return found


def sigma_of(model: str) -> float:
    """The sigma that a model was trained for."""
    sigma = model_sigma(model)
    if sigma is None:
        raise DataError(
            f"expected a sigma such as 0.50 at the end of the model name, got {model!r}"
        )
    return sigma


def _radius_run(model: str, d: int, log: RadiusLog) -> RunName:
    p, rule = log.name.p, log.name.rule
    alone = RunName(model, _law(p, d), p.n, p.alpha)
    if rule is None:
        return alone
    if log.name.truncated:
        return replace(alone, q_shape="truncated", rule=rule)
    return replace(alone, q_shape="rescaled", rule=str(float(rule)))


def _law(header: LogHeader, d: int) -> GeneralizedGaussian:
    return GeneralizedGaussian(d, header.sigma, header.k)


def _pair(
    model: str, d: int, own_sigma: float, logs: list[SamplingLog], radii: Radii
) -> list[RecordedRun]:
    """Runs of one model: every P alone, and every P with each Q sampled for it."""
    runs = []
    for log in logs:
        p = log.name
        if p.rule is not None or p.sigma != own_sigma or not log.intervals:
            continue
        alone = RunName(model, _law(p, d), p.n, p.alpha)
        if not log.copied:
            runs.append(_run(alone, log, None, radii))
        for other in logs:
            q = other.name
            if (q.k, q.n, q.alpha) != (p.k, p.n, p.alpha) or other is log:
                continue
            if q.rule is None:
                name = replace(alone, q_shape="rescaled", rule=str(q.sigma))
            elif q.sigma == p.sigma:
                name = replace(alone, q_shape="truncated", rule=q.rule)
            else:
                continue
            runs.append(_run(name, log, other, radii))
    return runs


def _run(name: RunName, p: SamplingLog, q: SamplingLog | None, radii: Radii) -> RecordedRun:
    index = sorted(p.intervals if q is None else p.intervals.keys() & q.intervals.keys())
    indices: Ints = np.array(index, dtype=np.int64)
    recorded = _radii_at(radii.get(name), index)
    if q is None:
        notes = {i: REPEATED for i in index if len(p.lines(i)) > 1}
        lower, upper = _ends([p.intervals[i] for i in index])
        return RecordedRun(name, indices, lower, upper, recorded, notes=notes)
    joined = [joined_input(p, q, i) for i in index]
    return RecordedRun(
        name,
        indices,
        *_ends([one.p for one in joined]),
        recorded,
        np.array([np.nan if one.q_value is None else one.q_value for one in joined]),
        *_ends([one.q for one in joined]),
        fallback=np.array([one.fell_back for one in joined], dtype=np.bool_),
        notes={i: one.note for i, one in zip(index, joined, strict=True) if one.note},
    )


def _ends(intervals: Sequence[Interval | None]) -> tuple[Floats, Floats]:
    """Lower and upper ends; NaN where there is no interval."""
    ends = [(np.nan, np.nan) if one is None else (one.lower, one.upper) for one in intervals]
    columns = np.array(ends, dtype=np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def _radii_at(recorded: RecordedRadii | None, index: list[int]) -> Floats:
    """Recorded radii of these inputs; NaN where there is none."""
    if recorded is None:
        return np.full(len(index), np.nan)
    known = dict(zip(recorded.index.tolist(), recorded.recorded_radius.tolist(), strict=True))
    return np.array([known.get(i, np.nan) for i in index])

"""Reader of the public recorded logs of the original experiments.

    DIR/sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt     intervals
    DIR/orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt           recorded radii, P alone
    DIR/new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-RULE-N-ALPHA.txt   recorded radii, P and Q

A sampling log has header lines `x key value` and one line `o index lower upper` an input; a run
that was resumed has its header again, and the later line of an input counts. LAW is `gaussian` or
`general-gaussian`. Without RULE it is a run under the law itself: P if SIGMA is the model's own, a
rescaled Q otherwise. With RULE it is a run under P truncated by that rule. N and ALPHA are those of
Q: a log of P may say in its header that it has fewer votes and a smaller alpha, where one log of P
was copied to serve several Q. Radius logs: `radius_logs`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError
from dsrs.laws import GeneralizedGaussian, heuristic_percentile
from dsrs.paper.radius_logs import NUMBER, RULE, RadiusLogs, k_of, read_radius_logs
from dsrs.paper.recorded import (
    DIMENSIONS,
    Floats,
    Ints,
    RecordedRadii,
    RecordedRun,
    RunName,
    dataset_of,
)

_LOG_NAME = re.compile(
    rf"(?P<law>gaussian|general-gaussian)-(?P<k>None|\d+)-(?P<sigma>{NUMBER})"
    rf"-(?P<n>\d+)-(?P<alpha>{NUMBER})(?:-(?P<rule>{RULE}))?\.txt"
)
_HEADER_KEYS = {"disttype": "law", "k": "k", "std": "sigma", "N": "n", "alpha": "alpha"}
_OTHER_NORMS = ("L1-", "infty-")  # noise for l1 and l-infinity certificates


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


@dataclass(frozen=True, slots=True)
class SamplingLog:
    """One sampling log: intervals of the true class under one law.

    `n` and `alpha` are those in its name; `copied` when its header has others (see above).
    """

    law: str
    k: str
    sigma: float
    n: int
    alpha: float
    rule: str | None
    copied: bool
    intervals: dict[int, tuple[float, float]]


def read_logs(folder: Path) -> LogFolder:
    """All runs under `folder/sampling`, paired with the radii recorded for them."""
    models = sorted(path for path in (folder / "sampling").glob("*.pth") if path.is_dir())
    if not models:
        raise DataError(
            f"expected logs as {folder}/sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt, "
            "found no such folder; give the folder that holds `sampling`"
        )
    radii = read_radius_logs(folder)
    runs: list[RecordedRun] = []
    broken = list(radii.broken)
    left_out = list(radii.left_out)
    for model_folder in models:
        model = model_folder.name.removesuffix(".pth")
        try:
            dataset, own_sigma = dataset_of(model), _sigma_of(model)
        except DataError as error:
            left_out.append((model_folder, str(error)))
            continue
        logs = []
        for path in sorted(model_folder.glob("*.txt")):
            if path.name.startswith(_OTHER_NORMS):
                left_out.append((path, "noise for another norm than l2"))
                continue
            try:
                logs.append(read_sampling_log(path))
            except DataError as error:
                broken.append((path, str(error)))
        runs += _pair(model, DIMENSIONS[dataset], own_sigma, logs, radii)
    named = {run.name for run in runs}
    alone = [recorded for name, recorded in radii.runs.items() if name not in named]
    return LogFolder(runs, alone, broken, left_out)


def read_sampling_log(path: Path) -> SamplingLog:
    """One sampling log; its header must agree with its name."""
    named = _LOG_NAME.fullmatch(path.name)
    if not named:
        raise DataError(
            f"{path.name}: expected a name LAW-K-SIGMA-N-ALPHA[-RULE].txt with LAW gaussian or "
            "general-gaussian"
        )
    copied = False
    intervals: dict[int, tuple[float, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        try:
            if not words:
                continue
            if words[0] == "x" and len(words) == 3:
                copied |= not _header_agrees(words[1], words[2], named)
            elif words[0] == "o" and len(words) == 4:
                intervals[int(words[1])] = _interval(words[2], words[3])
            else:
                raise ValueError(f"`x key value` or `o index lower upper`, got {line!r}")
        except ValueError as error:
            raise DataError(f"{path.name}, line {number}: expected {error}") from None
    return SamplingLog(
        named["law"],
        named["k"],
        float(named["sigma"]),
        int(named["n"]),
        float(named["alpha"]),
        named["rule"],
        copied,
        intervals,
    )


def recorded_percentile(rule: str, p_lower: float) -> float:
    """The share of P inside the truncation that a recorded rule chose."""
    if rule in ("x", "x+"):
        return heuristic_percentile(p_lower, "recorded")
    if rule == "x2":
        return max(p_lower - 0.1, 0.4) if p_lower >= 0.5 else 0.4
    return float(rule)


def _header_agrees(key: str, value: str, named: re.Match[str]) -> bool:
    """False where a copied log of P says less than its name; raises where the two contradict."""
    expected = named[_HEADER_KEYS[key]] if key in _HEADER_KEYS else value
    if value == expected:
        return True
    if "None" not in (value, expected) and key != "disttype":
        if float(value) == float(expected):
            return True
        if key in ("N", "alpha") and named["rule"] is None and 0 < float(value) < float(expected):
            return False
    raise ValueError(f"{key} = {expected} as in the file name, got {value}")


def _interval(lower: str, upper: str) -> tuple[float, float]:
    ends = float(lower), float(upper)
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise ValueError(f"an interval with 0 <= lower <= upper <= 1, got {lower} {upper}")
    return ends


def _pair(
    model: str, d: int, own_sigma: float, logs: list[SamplingLog], radii: RadiusLogs
) -> list[RecordedRun]:
    """Runs of one model: every P alone, and every P with each Q sampled for it."""
    runs = []
    for p in logs:
        if p.rule is not None or p.sigma != own_sigma or not p.intervals:
            continue
        law = GeneralizedGaussian(d, p.sigma, k_of(p.law, p.k))
        if not p.copied:
            runs.append(_run(RunName(model, law, p.n, p.alpha), p, None, radii))
        for q in logs:
            if (q.law, q.k, q.n, q.alpha) != (p.law, p.k, p.n, p.alpha) or q is p:
                continue
            shape = "rescaled" if q.rule is None else "truncated"
            if shape == "truncated" and q.sigma != p.sigma:
                continue
            name = RunName(model, law, p.n, p.alpha, shape, q.rule or str(q.sigma))
            runs.append(_run(name, p, q, radii))
    return runs


def _run(name: RunName, p: SamplingLog, q: SamplingLog | None, radii: RadiusLogs) -> RecordedRun:
    index = sorted(p.intervals if q is None else p.intervals.keys() & q.intervals.keys())
    p_lower, p_upper = _columns(p, index)
    recorded = radii.of(name, index)
    indices: Ints = np.array(index, dtype=np.int64)
    if q is None:
        return RecordedRun(name, indices, p_lower, p_upper, recorded)
    q_lower, q_upper = _columns(q, index)
    rule = name.rule or ""
    fallback = np.zeros(len(index), dtype=np.bool_)
    if rule == "x+":
        # Also when the log of P was overwritten later: n votes cannot prove such a lower bound.
        most = (q.alpha / 2) ** (1 / q.n)
        fallback = (p_upper == 1) | (q_lower > most * (1 + 1e-12))
    if name.q_shape == "rescaled":
        values = np.full(len(index), q.sigma)
    else:
        values = np.array([recorded_percentile(rule, lower) for lower in p_lower])
    return RecordedRun(
        name,
        indices,
        p_lower,
        p_upper,
        recorded,
        np.where(fallback, np.nan, values),
        q_lower,
        q_upper,
        fallback,
    )


def _columns(log: SamplingLog, index: list[int]) -> tuple[Floats, Floats]:
    pairs = np.array([log.intervals[i] for i in index], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _sigma_of(model: str) -> float:
    """The sigma that a model was trained for: the last decimal number in its name."""
    numbers = [word for word in model.split("-") if re.fullmatch(r"\d+\.\d+", word)]
    if not numbers:
        raise DataError(f"expected a sigma such as 0.50 in the model name, got {model!r}")
    return float(numbers[-1])

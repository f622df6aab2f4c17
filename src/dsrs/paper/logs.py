"""Reader of the public recorded logs of the original experiments.

    DIR/sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt     intervals
    DIR/orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt           recorded radii, P alone
    DIR/new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-RULE-N-ALPHA.txt   recorded radii, P and Q

A sampling log has header lines `x key value` and one line `o index lower upper` an input. LAW is
`gaussian` or `general-gaussian`. Without RULE it is a run under the law itself: P if SIGMA is the
model's own, a rescaled Q otherwise. With RULE it is a run under P truncated by that rule. Radius
logs start their lines with `index radius`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian, heuristic_percentile
from dsrs.paper.recorded import DIMENSIONS, Floats, Ints, RecordedRun, RunName, dataset_of

_NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
_LOG_NAME = re.compile(
    rf"(?P<law>gaussian|general-gaussian)-(?P<k>None|\d+)-(?P<sigma>{_NUMBER})"
    rf"-(?P<n>\d+)-(?P<alpha>{_NUMBER})(?:-(?P<rule>{_NUMBER}|x|x\+|x2))?\.txt"
)
_HEADER_KEYS = {"disttype": "law", "k": "k", "std": "sigma", "N": "n", "alpha": "alpha"}


@dataclass(frozen=True, slots=True)
class LogFolder:
    """What a folder of logs holds, and the files in it that could not be used."""

    runs: list[RecordedRun]
    skipped: list[tuple[Path, str]]


@dataclass(frozen=True, slots=True)
class SamplingLog:
    """One sampling log: intervals of the true class under one law."""

    law: str
    k: str
    sigma: float
    n: int
    alpha: float
    rule: str | None
    intervals: dict[int, tuple[float, float]]


def read_logs(folder: Path) -> LogFolder:
    """All runs under `folder/sampling`, paired with the radii recorded for them."""
    models = sorted(path for path in (folder / "sampling").glob("*.pth") if path.is_dir())
    if not models:
        raise DataError(
            f"expected logs as {folder}/sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt, "
            "found no such folder; give the folder that holds `sampling`"
        )
    runs: list[RecordedRun] = []
    skipped: list[tuple[Path, str]] = []
    for model_folder in models:
        logs = []
        for path in sorted(model_folder.glob("*.txt")):
            try:
                logs.append(read_sampling_log(path))
            except DataError as error:
                skipped.append((path, str(error)))
        try:
            runs += _pair(folder, model_folder.name, logs)
        except (DataError, InvalidInput) as error:
            skipped.append((model_folder, str(error)))
    return LogFolder(runs, skipped)


def read_sampling_log(path: Path) -> SamplingLog:
    """One sampling log; its header must agree with its name."""
    named = _LOG_NAME.fullmatch(path.name)
    if not named:
        raise DataError(
            f"{path.name}: expected a name LAW-K-SIGMA-N-ALPHA[-RULE].txt with LAW gaussian or "
            "general-gaussian"
        )
    intervals: dict[int, tuple[float, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        try:
            if not words:
                continue
            if words[0] == "x" and len(words) == 3:
                _check_header(words[1], words[2], named)
            elif words[0] == "o" and len(words) == 4:
                intervals[int(words[1])] = (float(words[2]), float(words[3]))
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
        intervals,
    )


def recorded_percentile(rule: str, p_lower: float) -> float:
    """The share of P inside the truncation that a recorded rule chose."""
    if rule in ("x", "x+"):
        return heuristic_percentile(p_lower, "recorded")
    if rule == "x2":
        return max(p_lower - 0.1, 0.4) if p_lower >= 0.5 else 0.4
    return float(rule)


def _check_header(key: str, value: str, named: re.Match[str]) -> None:
    expected = named[_HEADER_KEYS[key]] if key in _HEADER_KEYS else value
    agree = value == expected or (
        "None" not in (value, expected) and key != "disttype" and float(value) == float(expected)
    )
    if not agree:
        raise ValueError(f"{key} = {expected} as in the file name, got {value}")


def _pair(folder: Path, model_folder: str, logs: list[SamplingLog]) -> list[RecordedRun]:
    """Runs of one model: every P alone, and every P with each Q sampled for it."""
    model = model_folder.removesuffix(".pth")
    own_sigma = _sigma_of(model)
    runs = []
    for p in logs:
        if p.rule is not None or p.sigma != own_sigma or not p.intervals:
            continue
        k = 0.0 if p.k == "None" else float(p.k)
        law = GeneralizedGaussian(DIMENSIONS[dataset_of(model)], p.sigma, k)
        radii = folder / "orig-radius" / model_folder / f"orig-rad-{_log_stem(p)}.txt"
        runs.append(_run(RunName(model, law, p.n, p.alpha), p, None, _read_radii(radii)))
        for q in logs:
            if (q.law, q.k, q.n, q.alpha) != (p.law, p.k, p.n, p.alpha) or q is p:
                continue
            shape = "rescaled" if q.rule is None else "truncated"
            if shape == "truncated" and q.sigma != p.sigma:
                continue
            rule = q.rule or str(q.sigma)
            th = "-th" if shape == "truncated" else ""
            radii = (
                folder
                / "new-radius"
                / model_folder
                / f"new-rad-{p.law}{th}-{p.k}-{p.sigma}-{rule}-{p.n}-{p.alpha}.txt"
            )
            name = RunName(model, law, p.n, p.alpha, shape, rule)
            runs.append(_run(name, p, q, _read_radii(radii)))
    return runs


def _run(
    name: RunName, p: SamplingLog, q: SamplingLog | None, radii: dict[int, float]
) -> RecordedRun:
    index = sorted(p.intervals if q is None else p.intervals.keys() & q.intervals.keys())
    p_lower, p_upper = _columns(p, index)
    recorded = np.array([radii.get(i, np.nan) for i in index])
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


def _read_radii(path: Path) -> dict[int, float]:
    """`index radius ...` lines; empty when the log was not recorded."""
    if not path.exists():
        return {}
    radii = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        try:
            if words:
                radii[int(words[0])] = float(words[1])
        except (ValueError, IndexError):
            raise DataError(
                f"{path.name}, line {number}: expected `index radius`, got {line!r}"
            ) from None
    return radii


def _log_stem(log: SamplingLog) -> str:
    return f"{log.law}-{log.k}-{log.sigma}-{log.n}-{log.alpha}"


def _sigma_of(model: str) -> float:
    """The sigma that a model was trained for: the last decimal number in its name."""
    numbers = [word for word in model.split("-") if re.fullmatch(r"\d+\.\d+", word)]
    if not numbers:
        raise DataError(f"expected a sigma such as 0.50 in the model name, got {model!r}")
    return float(numbers[-1])

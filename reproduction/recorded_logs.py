"""The recorded runs of the original experiments, from the folder of their public logs.

Every log of P is paired with each Q that was sampled for it, and with the radii then recorded. A
sampling log without a rule in its name is a run under the law itself: P if its sigma is the model's
own, a rescaled Q otherwise. Votes and alpha are those in the names, which belong to Q: a log of P
may say in its header that it has fewer, where one log of P was copied to serve several Q.

The fall-back. With the rules `x+` and `x2+` the scripts took no votes under Q for an input whose
first N votes under P were (nearly) all right. They took N more under P, and logged the two-sided
interval of all 2 N votes at twice the alpha, in the place of the interval under Q. "Nearly" is that
the upper end of the first interval is at least 1 - 1e-8 (`x+`) or 1 - 1e-9 (`x2+`): at N = 50,000
and alpha = 0.0005 one miss is still below the first threshold. The scripts then counted N of N for
the first votes whatever they were, so a miss was forgotten. The number of forgotten misses follows
from the log of P, and the number of right votes from the logged interval, so the interval of the
votes that were taken can be computed.

Accuracy on spheres of noise. `landscape_sampling/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt` has one line
`o index norm accuracy` for each input and sphere: the share of SAMPLES noise vectors of this norm,
in uniform directions, whose answer was the label. Inputs that were wrong without noise were left
out.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import clopper_pearson
from dsrs.errors import DataError, NotRecorded
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval
from reproduction.logs import (
    SAMPLING,
    LogHeader,
    RadiusLog,
    SamplingLog,
    log_lines,
    model_folders,
    model_sigma,
    parsed,
    read_model_logs,
    recorded_percentile,
)
from reproduction.recorded import (
    RECORDED_DIMENSIONS,
    AccuracyByNorm,
    Floats,
    Ints,
    RecordedRadii,
    RecordedRun,
    RunName,
    dataset_of,
)

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
        logs = read_model_logs(paths)
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
                np.array([log.radii[i] for i in index]),
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


# How far below 1 the upper end of P's first interval may be for a rule to fall back.
THRESHOLDS = {"x+": 1e-8, "x2+": 1e-9}
# The logs have 16 digits, and SciPy's quantiles 12: two counts differ in the third digit of 1 - p.
SAME = 1e-6

FORGOTTEN = "fall-back: the record forgot a miss of the first votes, which is counted here"
PERHAPS_FORGOTTEN = "fall-back: the first votes were not kept, and a miss among them is assumed"
NEITHER = "the logged interval is neither of Q nor of a fall-back, so P alone is used"


def fallback_interval(
    first: Sequence[Interval], logged: Interval, q: LogHeader
) -> tuple[Interval | None, str | None]:
    """Return the interval of P_A from all votes of a row that fell back, and a note on it.

    (None, None) where `logged` is an interval under Q, and (None, why) where it is no interval of
    either kind.

    Args:
        first: The intervals of the first votes that the log of P has for the input, any of which
            may be the one that the scripts had before them.
        logged: What the log of Q has for the input.
        q: What the log of Q says of itself.
    """
    threshold = THRESHOLDS.get(q.rule or "")
    if threshold is None:
        return None, None
    if all(interval.upper == 1 for interval in first):
        return logged, None
    # More than n votes under Q could ever prove: the log of P was written anew after that of Q.
    beyond_q = logged.lower > math.pow(q.alpha / 2, 1 / q.n) * (1 + 1e-12)
    fires = [interval.upper >= 1 - threshold for interval in first]
    count = _successes(logged, 2 * q.n, 2 * q.alpha) if beyond_q or any(fires) else None
    if count is None:
        return None, NEITHER if beyond_q else None
    fewer = _interval(count - 1, 2 * q.n, 2 * q.alpha)
    if all(fires) and all(interval.upper < 1 for interval in first):
        return fewer, FORGOTTEN
    return Interval(fewer.lower, logged.upper), PERHAPS_FORGOTTEN


@lru_cache(maxsize=256)
def _successes(interval: Interval, n: int, alpha: float) -> int | None:
    """Return how many successes of n, at least half, give this interval; None if none do."""

    def reaches(successes: int) -> bool:
        lower = _interval(successes, n, alpha).lower
        return lower >= interval.lower or _resemble(lower, interval.lower)

    # The lower end grows with the successes.
    least = n // 2 + bisect_left(range(n // 2, n), True, key=reaches)
    known = _interval(least, n, alpha)
    same = _resemble(known.lower, interval.lower) and _resemble(known.upper, interval.upper)
    return least if same else None


@lru_cache(maxsize=256)
def _interval(successes: int, n: int, alpha: float) -> Interval:
    ends = clopper_pearson(successes, n, alpha)
    return Interval(float(ends.lower), float(ends.upper))


def _resemble(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * (1 - other)


REPEATED = "the log has other intervals of this input too; the first counts"
EITHER_TRUNCATION = (
    "the log of P has several intervals of this input, and which of them chose Q is not known; "
    "the interval of Q holds for each"
)


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


LANDSCAPES = "landscape_sampling"
EMPTY = "the log has no line yet"
_NAME = re.compile(r"[\d.]+-(?P<stop>[\d.]+)-\d+-(?P<samples>\d+)\.txt(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class LandscapeLog:
    """The lines of one log, as columns; `samples` votes stand behind each."""

    samples: int
    largest_norm: float
    index: NDArray[np.int64]
    norm: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def inputs(self) -> int:
        """How many inputs the log has."""
        return len(np.unique(self.index))


def is_landscape_name(path: Path) -> bool:
    """Whether a file of this name is such a log."""
    return _NAME.fullmatch(path.name) is not None


def read_landscape_log(path: Path) -> LandscapeLog:
    """A log; one without lines has no inputs."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise DataError(
            f"expected a name FROM-TO-STEPS-SAMPLES.txt, such as 0.0-80.0-50-1000.txt, got "
            f"{path.name!r}; the name alone tells how many votes a line stands for"
        )
    indices, norms, shares = [], [], []
    for where, words in log_lines(path):
        if words[0] == "x":
            continue
        if words[0] != "o" or len(words) != 4:
            raise DataError(f"{where}: expected `o index norm accuracy`, got {' '.join(words)!r}")
        norm = parsed(words[2], float, "norm", where)
        accuracy = parsed(words[3], float, "accuracy", where)
        if not (0 <= norm < math.inf and 0 <= accuracy <= 1):
            raise DataError(
                f"{where}: expected a norm >= 0 and an accuracy in [0, 1], got {norm!r}, "
                f"{accuracy!r}"
            )
        indices.append(parsed(words[1], int, "index", where))
        norms.append(norm)
        shares.append(accuracy)
    return LandscapeLog(
        int(match["samples"]),
        float(match["stop"]),
        np.array(indices, dtype=np.int64),
        np.array(norms),
        np.array(shares),
    )


def fullest_log(logs: Iterable[tuple[Path, LandscapeLog]]) -> LandscapeLog | None:
    """The log with the most inputs x votes, of equal ones that which reaches furthest."""
    ranked = [
        (log.inputs * log.samples, log.largest_norm, path.name, log)
        for path, log in logs
        if log.inputs
    ]
    return max(ranked, key=lambda one: one[:3])[3] if ranked else None


@dataclass(frozen=True, slots=True)
class NoiseNormLogs:
    """The curves of every model, and the files that gave none, each with the reason.

    The reason is `EMPTY` where there was nothing to read.
    """

    curves: list[AccuracyByNorm] = field(default_factory=list)
    unused: list[tuple[Path, str]] = field(default_factory=list)


def read_noise_norm_logs(folder: Path) -> NoiseNormLogs:
    """Every model under `folder/landscape_sampling`, from its log with the most inputs x votes."""
    found = NoiseNormLogs()
    for model_folder in sorted((folder / LANDSCAPES).glob("*.pth")):
        model = model_folder.name.removesuffix(".pth")
        logs = []
        for path in sorted(filter(is_landscape_name, model_folder.iterdir())):
            try:
                logs.append((path, read_landscape_log(path)))
            except DataError as error:
                found.unused.append((path, str(error)))
        found.unused.extend((path, EMPTY) for path, log in logs if not log.inputs)
        best = fullest_log(logs)
        if best is None:
            continue
        try:
            law = _law_of(model)
        except DataError as error:
            found.unused.append((model_folder, str(error)))
            continue
        found.curves.append(AccuracyByNorm(model, law, best.index, best.norm, best.accuracy))
    if not found.curves:
        place = f"{folder}/{LANDSCAPES}/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt"
        damaged = [why for _, why in found.unused if why != EMPTY]
        if damaged:
            raise DataError(f"no log as {place} can be read: {damaged[0]}")
        raise NotRecorded(f"expected logs as {place}, found none")
    return found


def _law_of(model: str) -> GeneralizedGaussian:
    """The law that a model was trained for: k if its name has one, and sigma."""
    exponents = [float(word) for word in model.split("-") if re.fullmatch(r"\d+", word)]
    return GeneralizedGaussian(
        RECORDED_DIMENSIONS[dataset_of(model)], sigma_of(model), exponents[-1] if exponents else 0.0
    )

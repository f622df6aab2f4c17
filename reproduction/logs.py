"""The text logs of the original DSRS scripts: their names, their lines, their folders.

    sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt              intervals under P, or under Q
    orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt         Neyman-Pearson radii
    new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt    double-sampling radii

LAW is `gaussian`, whose K is `None`, or `general-gaussian`; `-th` says that Q is truncated. RULE is
there for a truncated law: its percentile, or a word for a percentile chosen per input; a rescaled
law is known by its other SIGMA. N and ALPHA belong to the one interval, not to the whole run. A
model's name may end with the sigma that it was trained for.

A sampling log starts with `x key value` lines (disttype, k, std, N, alpha) and goes on with
`o index lower upper`: the two-sided interval of the label's probability. Radius logs hold
`index radius [l1 l2]`. What is not read by its name: `time-...` files, which hold seconds, radii in
other norms, and the votes under noise that is round in l1 (`L1-...`) or l-infinity (`infty-...`).

The scripts appended: a resumed log has its header again, and may have other intervals of inputs
that it has already. The first counts, as in the scripts' own solver: 215 recorded radii of such
inputs come from the first line, and none from a later one. A repeated radius log begins again with
its first index; there the last line counts, as in the scripts' tables. A log of P may have been
copied to serve several Q, under a name with more votes than its header says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsrs.errors import DataError, InvalidInput
from dsrs.files import text_of_file
from dsrs.laws import heuristic_percentile
from dsrs.proofs import Interval

# Recorded names of the percentile by `dsrs.laws.heuristic_percentile`. With the second one the
# scripts sampled P again where (nearly) all votes under P agreed: see `recorded_logs`.
HEURISTIC_RULES = ("x", "x+")
LOWERED_RULES = ("x2", "x2+")  # P- minus 0.1, and at least 0.4; the second with the fall-back
MODEL_ENDING = ".pth"
SAMPLING = "sampling"
RADIUS_KINDS = ("orig-radius", "new-radius")
OTHER_NORM = "noise for another norm than l2"
INNER_FOLDER = "a folder inside of the folder of a model"
LOG_LAWS = ("gaussian", "general-gaussian")
_OTHER_NORMS = ("L1-", "infty-")
_RADIUS_PREFIXES = ("orig-rad-", "new-rad-", "time-")
_HEADER_KEYS = ("disttype", "k", "std", "N", "alpha")
_NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_RULE = rf"(?P<rule>{_NUMBER}|x|x\+|x2|x2\+)"
_LAW = rf"(?P<disttype>{'|'.join(LOG_LAWS)})"
_NOISE = rf"(?P<k>None|{_NUMBER})-(?P<std>{_NUMBER})"
_BUDGET = rf"(?P<N>\d+)-(?P<alpha>{_NUMBER})"
_STEM = re.compile(rf"{_LAW}-{_NOISE}-{_BUDGET}(?:-{_RULE})?")
_RADIUS_STEM = re.compile(
    rf"(?P<kind>orig-rad|new-rad)-{_LAW}(?P<th>-th)?-{_NOISE}(?:-{_RULE})?-{_BUDGET}"
)
_MODEL_SIGMA = re.compile(r".*-(\d+\.\d+)(?:-orig)?(?:\.pth)?")


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What one sampling log says of itself; `rule` is in its file name only."""

    k: float
    sigma: float
    n: int
    alpha: float
    rule: str | None = None

    @property
    def law(self) -> str:
        return "general-gaussian" if self.k else "gaussian"

    @property
    def k_text(self) -> str:
        if not self.k:
            return "None"
        return str(int(self.k)) if self.k.is_integer() else repr(self.k)

    @property
    def stem(self) -> str:
        """The name of the log's file, without `.txt`."""
        name = f"{self.law}-{self.k_text}-{self.sigma!r}-{self.n}-{self.alpha!r}"
        return name if self.rule is None else f"{name}-{self.rule}"


@dataclass(frozen=True, slots=True)
class RadiusName:
    """What the name of a radius log says: its P, with votes and alpha of one interval, and its Q.

    `rule` is None for P alone, the rule of a truncated Q, or the sigma of a rescaled one.
    """

    p: LogHeader
    rule: str | None
    truncated: bool

    @property
    def stem(self) -> str:
        """The name of the log's file, without `.txt`."""
        p = self.p
        if self.rule is None:
            return f"orig-rad-{p.stem}"
        law = f"{p.law}-th" if self.truncated else p.law
        return f"new-rad-{law}-{p.k_text}-{p.sigma!r}-{self.rule}-{p.n}-{p.alpha!r}"


def sampling_name(path: Path) -> LogHeader:
    """The header that a sampling log's file name tells, RULE included."""
    match = _STEM.fullmatch(_stem(path))
    if not match:
        raise DataError(
            f"expected a name LAW-K-SIGMA-N-ALPHA[-RULE].txt with the law {' or '.join(LOG_LAWS)}, "
            f"such as general-gaussian-380-0.5-50000-0.0005.txt, got {path.name!r}; the name alone "
            "tells which law was sampled"
        )
    return header_of(match.groupdict(), match["rule"], f"the name {path.name}")


def radius_name(path: Path) -> RadiusName:
    """What the name of an `orig-rad-` or `new-rad-` file tells."""
    match = _RADIUS_STEM.fullmatch(_stem(path))
    if match is None or (match["kind"] == "new-rad") != (match["rule"] is not None):
        what = "seconds" if path.name.startswith("time-") else "no l2 radii of a known law"
        raise DataError(
            f"{path} holds {what} by its name; expected orig-rad-LAW-K-SIGMA-N-ALPHA.txt or "
            f"new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt with the law {' or '.join(LOG_LAWS)}"
        )
    p = header_of(match.groupdict(), None, str(path))
    return RadiusName(p, match["rule"], match["th"] is not None)


def header_of(keys: Mapping[str, str | None], rule: str | None, where: str) -> LogHeader:
    """The header of these texts: disttype, k, std, N, alpha."""
    law, k, std, n, alpha = (keys[key] or "" for key in ("disttype", "k", "std", "N", "alpha"))
    if law not in LOG_LAWS:
        raise DataError(f"{where}: expected the law {' or '.join(LOG_LAWS)}, got {law!r}")
    # Some names give a Gaussian an exponent, which it does not have.
    plain = law == "gaussian" or k == "None"
    header = LogHeader(
        k=0.0 if plain else parsed(k, float, "k", where),
        sigma=parsed(std, float, "std", where),
        n=parsed(n, int, "N", where),
        alpha=parsed(alpha, float, "alpha", where),
        rule=rule,
    )
    if not (math.isfinite(header.k) and 0 < header.sigma < math.inf and header.k >= 0):
        raise DataError(
            f"{where}: expected sigma > 0 and k >= 0, got {header.sigma:g}, {header.k:g}"
        )
    if header.n < 1 or not 0 < header.alpha < 1:
        raise DataError(
            f"{where}: expected N >= 1 and alpha in (0, 1), got {header.n}, {header.alpha:g}"
        )
    return header


def recorded_percentile(rule: str, p_lower: float) -> float:
    """The share of P inside the truncation that a rule chose."""
    if rule in HEURISTIC_RULES:
        return heuristic_percentile(p_lower, "recorded")
    if rule in LOWERED_RULES:
        return max(p_lower - 0.1, 0.4) if p_lower >= 0.5 else 0.4
    return float(rule)


def model_sigma(model: str) -> float | None:
    """The sigma that a model of this (folder) name was trained for, where it says one."""
    match = _MODEL_SIGMA.fullmatch(model)
    return float(match[1]) if match else None


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".txt")


@dataclass(frozen=True, slots=True)
class SamplingLog:
    """A sampling log: what its name and its header say, and the interval of each input.

    `later` are the other intervals of inputs that the log has more than once.
    """

    path: Path
    name: LogHeader
    header: LogHeader
    intervals: Mapping[int, Interval]
    later: Mapping[int, tuple[Interval, ...]] = field(default_factory=dict)

    @property
    def copied(self) -> bool:
        """Whether the log has fewer votes than its name says (see above)."""
        return self.name != self.header

    def lines(self, index: int) -> tuple[Interval, ...]:
        """Every interval that the log has for an input, the one that counts first."""
        return (self.intervals[index], *self.later.get(index, ()))


@dataclass(frozen=True, slots=True)
class RadiusLog:
    """A radius log: what its name says, and the l2 radius of each input."""

    path: Path
    name: RadiusName
    radii: Mapping[int, float]


def read_sampling_log(path: Path) -> SamplingLog:
    """A sampling log, if its header and its name tell the same law."""
    keys: dict[str, str] = {}
    intervals: dict[int, Interval] = {}
    later: dict[int, tuple[Interval, ...]] = {}
    since_header: set[int] = set()
    for where, words in log_lines(path):
        if words[0] == "x" and len(words) == 3:
            _, key, value = words
            if keys.setdefault(key, value) != value:
                raise DataError(
                    f"{where}: the file holds two logs of different settings: `{key}` is "
                    f"{keys[key]} and {value}"
                )
            since_header.clear()
        elif words[0] == "o" and len(words) == 4:
            index = parsed(words[1], int, "index", where)
            if index in since_header:
                raise DataError(f"{where}: input {index} comes twice without a new header between")
            since_header.add(index)
            interval = _interval(words[2:], where)
            if intervals.setdefault(index, interval) != interval:
                later[index] = (*later.get(index, ()), interval)
        else:
            raise DataError(
                f"{where}: expected `x key value` or `o index lower upper`, got {' '.join(words)!r}"
            )
    missing = [key for key in _HEADER_KEYS if key not in keys]
    if missing and intervals:
        raise DataError(f"{path}: the header lines `x {missing[0]} ...` are missing")
    name = sampling_name(path)
    header = name if missing else header_of(keys, name.rule, str(path))
    _check_header(header, name, path)
    return SamplingLog(path, name, header, intervals, later)


def read_radius_log(path: Path) -> RadiusLog:
    """The law and the l2 radii of an `orig-rad-` or `new-rad-` file."""
    name = radius_name(path)
    radii: dict[int, float] = {}
    first: int | None = None
    since_start: set[int] = set()
    for where, words in log_lines(path):
        if len(words) not in (2, 4):
            raise DataError(f"{where}: expected `index radius [l1 l2]`, got {' '.join(words)!r}")
        index = parsed(words[0], int, "index", where)
        radius, *_ = (parsed(word, float, "radius", where) for word in words[1:])
        if not (math.isfinite(radius) and radius >= 0):
            raise DataError(f"{where}: a radius must be finite and >= 0, got {radius!r}")
        first = index if first is None else first
        if index in since_start:
            if index != first:
                raise DataError(f"{where}: input {index} comes twice")
            since_start.clear()
        since_start.add(index)
        radii[index] = radius
    return RadiusLog(path, name, radii)


def log_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The words of each line that has some, with its place."""
    for number, line in enumerate(text_of_file(path).splitlines(), start=1):
        words = line.split()
        if words:
            yield f"{path}, line {number}", words


def _check_header(header: LogHeader, name: LogHeader, path: Path) -> None:
    """Raise where header and name contradict; a copied log of P says less than its name."""
    for key in ("k", "sigma", "n", "alpha"):
        told, logged = getattr(name, key), getattr(header, key)
        fewer = key in ("n", "alpha") and header.rule is None and 0 < logged < told
        if logged != told and not fewer:
            raise DataError(f"{path} is named for {key} = {told:g}, and its header says {logged:g}")


def _interval(ends: Iterable[str], where: str) -> Interval:
    lower, upper = (parsed(end, float, "bound", where) for end in ends)
    try:
        return Interval(lower, upper)
    except InvalidInput as error:
        raise DataError(f"{where}: {error}") from None


@dataclass(frozen=True, slots=True)
class ModelLogs:
    """The logs of one model.

    `broken` are files that should have been read and could not be, `left_out` those that are not
    read by their names or places; each with the reason.
    """

    sampling: list[SamplingLog] = field(default_factory=list)
    radii: list[RadiusLog] = field(default_factory=list)
    broken: list[tuple[Path, str]] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)


def model_folders(folder: Path) -> dict[str, list[Path]]:
    """The folders of each model below `folder`, which holds `sampling`, `orig-radius`, ..."""
    folders: dict[str, list[Path]] = {}
    for kind in (SAMPLING, *RADIUS_KINDS):
        for path in sorted((folder / kind).glob(f"*{MODEL_ENDING}")):
            if path.is_dir():
                folders.setdefault(path.name.removesuffix(MODEL_ENDING), []).append(path)
    return dict(sorted(folders.items()))


def read_model_logs(folders: Iterable[Path]) -> ModelLogs:
    """Every log in these folders of one model."""
    logs = ModelLogs()
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                logs.left_out.extend((file, INNER_FOLDER) for file in sorted(path.rglob("*.txt")))
            elif path.name.removesuffix(".gz").endswith(".txt"):
                _read(path, logs)
    return logs


def _read(path: Path, logs: ModelLogs) -> None:
    reason = _not_meant(path)
    if reason is not None:
        logs.left_out.append((path, reason))
        return
    try:
        if path.name.startswith(_RADIUS_PREFIXES):
            logs.radii.append(read_radius_log(path))
        else:
            logs.sampling.append(read_sampling_log(path))
    except DataError as error:
        logs.broken.append((path, str(error)))


def _not_meant(path: Path) -> str | None:
    """Why a file is not read, if its name says that it was never meant to be."""
    if path.name.startswith("time-"):
        return "seconds"
    if path.name.startswith(_OTHER_NORMS):
        return OTHER_NORM
    if path.name.startswith(_RADIUS_PREFIXES):
        try:
            radius_name(path)
        except DataError:
            return "radii of another norm, or of a rule that is not known here"
    return None


def parsed(text: str, kind: type, name: str, where: str) -> Any:
    """Read `text` as an int or a float that is not NaN."""
    try:
        value = kind(text)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise DataError(f"{where}: `{name}` must be {wanted}, got {text!r}") from None
    if kind is float and math.isnan(value):
        raise DataError(f"{where}: `{name}` is NaN")
    return value

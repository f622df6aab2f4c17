"""The text logs of the original DSRS scripts: one file a law, in a folder a model.

    sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt        header and intervals
    orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt   Neyman-Pearson radii
    new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt   double-sampling radii

A sampling log starts with `x key value` lines (disttype, k, std, N, alpha) and goes on with
`o index lower upper`: the two-sided interval of the label's probability. RULE is there for a
truncated law: its percentile, or a word for a percentile chosen per input; a rescaled law is
known by its other SIGMA. Radius logs hold `index radius [l1 l2]`. LAW is `gaussian`, whose K is
`None`, or `general-gaussian`. N and ALPHA belong to the one interval, not to the whole run. The
scripts appended, so a header may come again; the last row of an index counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.records import Interval
from dsrs.runs.formats.row import parsed

# Recorded names of the percentile by `dsrs.laws.heuristic_percentile`. With the second one the
# scripts sampled P again where all votes under P agreed, and logged that interval of P.
HEURISTIC_RULE = "x"
FALLBACK_RULE = "x+"
_NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
_STEM = re.compile(
    rf"(?:general-)?gaussian-(?P<k>None|{_NUMBER})-(?P<std>{_NUMBER})-(?P<N>\d+)"
    rf"-(?P<alpha>{_NUMBER})(?:-(?P<rule>.+))?"
)
_HEADER_KEYS = ("disttype", "k", "std", "N", "alpha")


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
        return f"{self.k:g}" if self.k else "None"

    @property
    def stem(self) -> str:
        """The name of the log's file, without `.txt`."""
        name = f"{self.law}-{self.k_text}-{self.sigma!r}-{self.n}-{self.alpha!r}"
        return name if self.rule is None else f"{name}-{self.rule}"


@dataclass(frozen=True, slots=True)
class SamplingLog:
    """A sampling log: its header and the interval of each input."""

    header: LogHeader
    intervals: Mapping[int, Interval]


@dataclass(frozen=True, slots=True)
class LoggedRadius:
    """One row of a radius log; `multipliers` are the l1 and l2 of double sampling."""

    radius: float
    multipliers: tuple[float, ...] = ()


def parse_stem(stem: str) -> LogHeader:
    """The header that a sampling log's file name tells, RULE included."""
    match = _STEM.fullmatch(stem)
    if not match:
        raise DataError(f"expected a name like general-gaussian-380-0.5-50000-0.0005, got {stem!r}")
    keys = match.groupdict()
    return _header(keys, keys["rule"], f"the name {stem}")


def sampling_log_text(log: SamplingLog) -> str:
    """The log as the scripts write it."""
    header = log.header
    values = (header.law, header.k_text, repr(header.sigma), header.n, repr(header.alpha))
    lines = ["", *(f"x {key} {value}" for key, value in zip(_HEADER_KEYS, values, strict=True)), ""]
    lines += [
        f"o {index} {interval.lower!r} {interval.upper!r}"
        for index, interval in log.intervals.items()
    ]
    return "\n".join(lines) + "\n"


def read_sampling_log(path: Path, text: str | None = None) -> SamplingLog:
    """A sampling log; RULE is taken from the file's name where that follows the layout."""
    content = path.read_text(encoding="utf-8") if text is None else text
    keys: dict[str, str] = {}
    intervals: dict[int, Interval] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        where = f"{path}, line {number}"
        parts = line.split()
        if not parts:
            continue
        if parts[0] == "x" and len(parts) == 3:
            _take_key(keys, parts[1], parts[2], where)
        elif parts[0] == "o" and len(parts) == 4:
            intervals[parsed(parts[1], int, "index", where)] = _interval(parts[2:], where)
        else:
            raise DataError(
                f"{where}: expected `x key value` or `o index lower upper`, got {line!r}"
            )
    missing = [key for key in _HEADER_KEYS if key not in keys]
    if missing:
        raise DataError(f"{path}: the header lines `x {missing[0]} ...` are missing")
    return SamplingLog(_header(keys, _rule_of(path), str(path)), intervals)


def radius_log_text(radii: Mapping[int, LoggedRadius]) -> str:
    """`index radius`, and the multipliers of double sampling behind it."""
    return "".join(
        " ".join([str(index), *map(repr, (row.radius, *row.multipliers))]) + "\n"
        for index, row in radii.items()
    )


def read_radius_log(path: Path, text: str | None = None) -> dict[int, LoggedRadius]:
    """The radii of an `orig-rad-` or `new-rad-` file."""
    content = path.read_text(encoding="utf-8") if text is None else text
    radii: dict[int, LoggedRadius] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        where = f"{path}, line {number}"
        parts = line.split()
        if not parts:
            continue
        if len(parts) not in (2, 4):
            raise DataError(f"{where}: expected `index radius [l1 l2]`, got {line!r}")
        radius, *multipliers = (parsed(part, float, "radius", where) for part in parts[1:])
        if radius < 0:
            raise DataError(f"{where}: a radius must be >= 0, got {radius!r}")
        radii[parsed(parts[0], int, "index", where)] = LoggedRadius(radius, tuple(multipliers))
    return radii


def _take_key(keys: dict[str, str], key: str, value: str, where: str) -> None:
    if keys.setdefault(key, value) != value:
        raise DataError(
            f"{where}: the file holds two logs of different settings: `{key}` is "
            f"{keys[key]} and {value}"
        )


def _header(keys: Mapping[str, str], rule: str | None, where: str) -> LogHeader:
    return LogHeader(
        k=0.0 if keys["k"] == "None" else parsed(keys["k"], float, "k", where),
        sigma=parsed(keys["std"], float, "std", where),
        n=parsed(keys["N"], int, "N", where),
        alpha=parsed(keys["alpha"], float, "alpha", where),
        rule=rule,
    )


def _rule_of(path: Path) -> str | None:
    try:
        return parse_stem(path.stem).rule
    except DataError:
        return None  # a renamed file still holds its header


def _interval(bounds: Iterable[str], where: str) -> Interval:
    lower, upper = (parsed(bound, float, "bound", where) for bound in bounds)
    try:
        return Interval(lower, upper)
    except InvalidInput as error:
        raise DataError(f"{where}: {error}") from None

"""The text logs of the original DSRS scripts: one file a law, in a folder a model.

    sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA[-RULE].txt        header and intervals
    orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt   Neyman-Pearson radii
    new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt   double-sampling radii

A sampling log starts with `x key value` lines (disttype, k, std, N, alpha) and goes on with
`o index lower upper`: the two-sided interval of the label's probability. RULE is there for a
truncated law: its percentile, or a word for a percentile chosen per input; a rescaled law is
known by its other SIGMA. Radius logs hold `index radius [l1 l2]`. LAW is `gaussian`, whose K is
`None`, or `general-gaussian`; other words are noise for l1 and l-infinity, and `time-...` files
hold seconds. N and ALPHA belong to the one interval, not to the whole run.

The scripts appended: a resumed log has its header again, a repeated radius log begins again with
its first index, and the last row of an index counts. A log of P may have been copied to serve
several Q, under a name with more votes than its header says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import heuristic_percentile
from dsrs.records import Interval
from dsrs.runs.formats.row import parsed

# Recorded names of the percentile by `dsrs.laws.heuristic_percentile`. With the second one the
# scripts sampled P again where all votes under P agreed, and logged that interval of P.
HEURISTIC_RULE = "x"
FALLBACK_RULE = "x+"
LOWERED_RULE = "x2"  # P- minus 0.1, and at least 0.4
NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
RULE = rf"{NUMBER}|x|x\+|x2"
LAWS = ("gaussian", "general-gaussian")
_LAW = rf"(?P<disttype>{'|'.join(LAWS)})"
_NOISE = rf"(?P<k>None|{NUMBER})-(?P<std>{NUMBER})"
_BUDGET = rf"(?P<N>\d+)-(?P<alpha>{NUMBER})"
_STEM = re.compile(rf"{_LAW}-{_NOISE}-{_BUDGET}(?:-(?P<rule>{RULE}))?")
_RADIUS_STEM = re.compile(
    rf"(?P<kind>orig-rad|new-rad)-{_LAW}(?:-th)?-{_NOISE}(?:-(?P<q>{RULE}))?-{_BUDGET}"
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
    """A sampling log: its header and the interval of each input.

    `copied` when the log has fewer votes than its name says (see above).
    """

    header: LogHeader
    intervals: Mapping[int, Interval]
    copied: bool = False


@dataclass(frozen=True, slots=True)
class LoggedRadius:
    """One row of a radius log; `multipliers` are the l1 and l2 of double sampling."""

    radius: float
    multipliers: tuple[float, ...] = ()


def parse_stem(stem: str) -> LogHeader:
    """The header that a sampling log's file name tells, RULE included."""
    match = _STEM.fullmatch(stem)
    if not match:
        raise DataError(
            f"expected a name LAW-K-SIGMA-N-ALPHA[-RULE].txt with the law {' or '.join(LAWS)}, "
            f"such as general-gaussian-380-0.5-50000-0.0005.txt, got {stem!r}; the name alone "
            "tells which law was sampled"
        )
    keys = match.groupdict()
    return _header(keys, keys["rule"], f"the name {stem}")


def recorded_percentile(rule: str, p_lower: float) -> float:
    """The share of P inside the truncation that a rule chose."""
    if rule in (HEURISTIC_RULE, FALLBACK_RULE):
        return heuristic_percentile(p_lower, "recorded")
    if rule == LOWERED_RULE:
        return max(p_lower - 0.1, 0.4) if p_lower >= 0.5 else 0.4
    return float(rule)


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
    """A sampling log, if its header and its name tell the same l2 law."""
    keys: dict[str, str] = {}
    intervals: dict[int, Interval] = {}
    since_header: set[int] = set()
    for where, parts in _lines(path, text):
        if parts[0] == "x" and len(parts) == 3:
            _take_key(keys, parts[1], parts[2], where)
            since_header.clear()
        elif parts[0] == "o" and len(parts) == 4:
            index = parsed(parts[1], int, "index", where)
            if index in since_header:
                raise DataError(f"{where}: input {index} comes twice without a new header between")
            since_header.add(index)
            intervals[index] = _interval(parts[2:], where)
        else:
            raise DataError(
                f"{where}: expected `x key value` or `o index lower upper`, got {' '.join(parts)!r}"
            )
    if keys.get("disttype", LAWS[0]) not in LAWS:
        raise DataError(
            f"{path} holds intervals under {keys['disttype']}, noise for another norm than l2"
        )
    missing = [key for key in _HEADER_KEYS if key not in keys]
    if missing and intervals:
        raise DataError(f"{path}: the header lines `x {missing[0]} ...` are missing")
    named = parse_stem(_stem(path))
    header = named if missing else _header(keys, named.rule, str(path))
    return SamplingLog(header, intervals, _is_copied(header, named, path))


def radius_log_text(radii: Mapping[int, LoggedRadius]) -> str:
    """`index radius`, and the multipliers of double sampling behind it."""
    return "".join(
        " ".join([str(index), *map(repr, (row.radius, *row.multipliers))]) + "\n"
        for index, row in radii.items()
    )


def read_radius_log(
    path: Path, text: str | None = None
) -> tuple[LogHeader, dict[int, LoggedRadius]]:
    """The law and the l2 radii of an `orig-rad-` or `new-rad-` file; `rule` is that of its Q."""
    named = _RADIUS_STEM.fullmatch(_stem(path))
    if named is None or (named["kind"] == "new-rad") != (named["q"] is not None):
        what = "seconds" if path.name.startswith("time-") else "no l2 radii of a known law"
        raise DataError(
            f"{path} holds {what} by its name; expected orig-rad-LAW-K-SIGMA-N-ALPHA.txt or "
            f"new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt with the law {' or '.join(LAWS)}"
        )
    radii: dict[int, LoggedRadius] = {}
    first: int | None = None
    since_start: set[int] = set()
    for where, parts in _lines(path, text):
        if len(parts) not in (2, 4):
            raise DataError(f"{where}: expected `index radius [l1 l2]`, got {' '.join(parts)!r}")
        index = parsed(parts[0], int, "index", where)
        radius, *multipliers = (parsed(part, float, "radius", where) for part in parts[1:])
        if not (math.isfinite(radius) and radius >= 0):
            raise DataError(f"{where}: a radius must be finite and >= 0, got {radius!r}")
        first = index if first is None else first
        if index in since_start:
            if index != first:
                raise DataError(f"{where}: input {index} comes twice")
            since_start.clear()
        since_start.add(index)
        radii[index] = LoggedRadius(radius, tuple(multipliers))
    return _header(named.groupdict(), named["q"], str(path)), radii


def _lines(path: Path, text: str | None) -> Iterable[tuple[str, list[str]]]:
    """The words of each line that has some, with its place."""
    content = path.read_text(encoding="utf-8") if text is None else text
    for number, line in enumerate(content.splitlines(), start=1):
        words = line.split()
        if words:
            yield f"{path}, line {number}", words


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".txt")


def _is_copied(header: LogHeader, named: LogHeader, path: Path) -> bool:
    """Whether a log of P has fewer votes than its name says; raises where the two contradict."""
    if header == named:
        return False
    for name in ("k", "sigma", "n", "alpha"):
        told, found = getattr(named, name), getattr(header, name)
        fewer = name in ("n", "alpha") and header.rule is None and 0 < found < told
        if found != told and not fewer:
            raise DataError(f"{path} is named for {name} = {told:g}, and its header says {found:g}")
    return True


def _take_key(keys: dict[str, str], key: str, value: str, where: str) -> None:
    if keys.setdefault(key, value) != value:
        raise DataError(
            f"{where}: the file holds two logs of different settings: `{key}` is "
            f"{keys[key]} and {value}"
        )


def _header(keys: Mapping[str, str], rule: str | None, where: str) -> LogHeader:
    # Some names give a Gaussian an exponent, which it does not have.
    plain = keys["disttype"] == "gaussian" or keys["k"] == "None"
    header = LogHeader(
        k=0.0 if plain else parsed(keys["k"], float, "k", where),
        sigma=parsed(keys["std"], float, "std", where),
        n=parsed(keys["N"], int, "N", where),
        alpha=parsed(keys["alpha"], float, "alpha", where),
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


def _interval(bounds: Iterable[str], where: str) -> Interval:
    lower, upper = (parsed(bound, float, "bound", where) for bound in bounds)
    try:
        return Interval(lower, upper)
    except InvalidInput as error:
        raise DataError(f"{where}: {error}") from None

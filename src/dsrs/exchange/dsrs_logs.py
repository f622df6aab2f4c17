"""The text logs of the original DSRS scripts: the one reader and the one writer of them.

    sampling/MODEL.pth/...       header and intervals
    orig-radius/MODEL.pth/...    Neyman-Pearson radii
    new-radius/MODEL.pth/...     double-sampling radii

A sampling log starts with `x key value` lines (disttype, k, std, N, alpha) and goes on with
`o index lower upper`: the two-sided interval of the label's probability. Radius logs hold
`index radius [l1 l2]`. N and ALPHA belong to the one interval, not to the whole run. What the names
say: `log_names`.

The scripts appended: a resumed log has its header again, and may have other intervals of inputs
that it has already. The first counts, as in the scripts' own solver: 215 recorded radii of such
inputs come from the first line, and none from a later one. A repeated radius log begins again with
its first index; there the last line counts, as in the scripts' tables. A log of P may have been
copied to serve several Q, under a name with more votes than its header says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.log_names import (
    LogHeader,
    RadiusName,
    header_of,
    radius_name,
    sampling_name,
)
from dsrs.exchange.row import parsed
from dsrs.files.content import text_of_file
from dsrs.proofs.interval import Interval

_HEADER_KEYS = ("disttype", "k", "std", "N", "alpha")


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
class LoggedRadius:
    """One row of a radius log; `multipliers` are the l1 and l2 of double sampling."""

    radius: float
    multipliers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class RadiusLog:
    """A radius log: what its name says, and the l2 radius of each input."""

    path: Path
    name: RadiusName
    radii: Mapping[int, LoggedRadius]


def sampling_log_text(header: LogHeader, intervals: Mapping[int, Interval]) -> str:
    """Return the text of the log as the DSRS scripts write it."""
    values = (header.law, header.k_text, repr(header.sigma), header.n, repr(header.alpha))
    lines = ["", *(f"x {key} {value}" for key, value in zip(_HEADER_KEYS, values, strict=True)), ""]
    lines += [
        f"o {index} {interval.lower!r} {interval.upper!r}" for index, interval in intervals.items()
    ]
    return "\n".join(lines) + "\n"


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


def radius_log_text(radii: Mapping[int, LoggedRadius]) -> str:
    """Return lines of `index radius`, with the multipliers of double sampling behind it."""
    return "".join(
        " ".join([str(index), *map(repr, (row.radius, *row.multipliers))]) + "\n"
        for index, row in radii.items()
    )


def read_radius_log(path: Path) -> RadiusLog:
    """The law and the l2 radii of an `orig-rad-` or `new-rad-` file."""
    name = radius_name(path)
    radii: dict[int, LoggedRadius] = {}
    first: int | None = None
    since_start: set[int] = set()
    for where, words in log_lines(path):
        if len(words) not in (2, 4):
            raise DataError(f"{where}: expected `index radius [l1 l2]`, got {' '.join(words)!r}")
        index = parsed(words[0], int, "index", where)
        radius, *multipliers = (parsed(word, float, "radius", where) for word in words[1:])
        if not (math.isfinite(radius) and radius >= 0):
            raise DataError(f"{where}: a radius must be finite and >= 0, got {radius!r}")
        first = index if first is None else first
        if index in since_start:
            if index != first:
                raise DataError(f"{where}: input {index} comes twice")
            since_start.clear()
        since_start.add(index)
        radii[index] = LoggedRadius(radius, tuple(multipliers))
    return RadiusLog(path, name, radii)


def log_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The words of each line that has some, with its place."""
    for number, line in enumerate(text_of_file(path).splitlines(), start=1):
        words = line.split()
        if words:
            yield f"{path}, line {number}", words


def _check_header(header: LogHeader, name: LogHeader, path: Path) -> None:
    """Raise where header and name contradict; a copied log of P says less than its name."""
    if header.norm != name.norm:
        raise DataError(f"{path} is named for {name.norm} noise, and its header says {header.norm}")
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

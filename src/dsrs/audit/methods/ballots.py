"""The votes of one input as a run keeps them, checked for what a bound needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsrs.audit.law_text import canonical
from dsrs.audit.limits import tick
from dsrs.audit.reading import Fields, field, number, only, optional, whole
from dsrs.audit.verdicts import NotACertificate, Refuted

ESTIMATION, SELECTION = "estimation", "selection"
PREDICTING = (SELECTION, ESTIMATION)
MISSED_NOISE = "missed-noise"  # a tally: the sum of the noise of votes that missed
MOST_VOTES = 2**53
VOTES_FIELDS = (*("purpose", "law", "start", "counts", "trials", "hits", "tallies"),)


@dataclass(frozen=True, slots=True)
class Slope:
    """Means of the noise of votes that missed, before vote `split` and from it on: the norm of the
    first and the product of both."""

    split: int
    first_norm: float
    product: float

    @classmethod
    def read(cls, fields: Any) -> Slope:
        """Read a slope from its JSON."""
        split = whole(fields, "split", 1, MOST_VOTES)
        slope = cls(split, number(fields, "first_norm"), number(fields, "product"))
        if slope.first_norm < 0 or (slope.first_norm == 0 and slope.product != 0):
            raise Refuted(f"there are no such means of noise: {slope}")
        return slope


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive votes of one stream, by class, and by bin of the noise's norm."""

    purpose: str
    law: Fields | None
    start: int
    counts: tuple[int, ...]
    trials: tuple[int, ...]
    hits: tuple[int, ...]
    slope: Slope | None

    @classmethod
    def read(cls, fields: Any) -> Unit:
        """Read the votes of a part of a stream from their JSON."""
        tallies = optional(fields, "tallies", dict) or {}
        slope = optional(tallies, MISSED_NOISE, dict)
        only(fields, VOTES_FIELDS, "votes")
        unit = cls(
            field(fields, "purpose", str),
            optional(fields, "law", dict),
            whole(fields, "start", 0, MOST_VOTES),
            _counts(fields, "counts"),
            _counts(fields, "trials"),
            _counts(fields, "hits"),
            None if slope is None else Slope.read(slope),
        )
        if sum(unit.counts) != sum(unit.trials) or not unit.counts:
            raise Refuted("the counts of votes do not add up")
        if len(unit.trials) != len(unit.hits) or any(
            hit > trial for hit, trial in zip(unit.hits, unit.trials, strict=True)
        ):
            raise Refuted("more hits than votes")
        return unit


def _counts(fields: Any, name: str) -> tuple[int, ...]:
    values = field(fields, name, list)
    if not all(type(value) is int and 0 <= value <= MOST_VOTES for value in values):
        raise NotACertificate(f"`{name}` of votes must be whole numbers that are not negative")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Count:
    """What the first votes of a stream came to; `rivals` are those of the most frequent other
    class."""

    total: int
    hits: int
    rivals: int
    trials_by_bin: tuple[int, ...]
    hits_by_bin: tuple[int, ...]
    slope: Slope | None
    counts: tuple[int, ...]


class Ballots:
    """All votes of one input: streams by purpose and law, each numbered from 0 without a gap."""

    def __init__(self, fields: Any) -> None:
        self.index = whole(fields, "index", -MOST_VOTES, 2**64)
        self.label = optional(fields, "label", int)
        self.predicted = optional(fields, "predicted", int)
        self.target = whole(fields, "target", 0, MOST_VOTES)
        self.choices: Mapping[str, Any] = field(fields, "choices", dict)
        self._streams: dict[tuple[str, Any], list[Unit]] = {}
        taken: dict[tuple[str, Any], int] = {}
        for unit in map(Unit.read, field(fields, "votes", list)):
            tick()
            name = (unit.purpose, canonical(unit.law))
            stream, before = self._streams.setdefault(name, []), taken.get(name, 0)
            taken[name] = before + sum(unit.counts)
            if unit.start != before:
                raise Refuted("votes of a stream are missing, or are counted twice")
            own = unit.counts[self.target] if self.target < len(unit.counts) else 0
            if own != sum(unit.hits):
                raise Refuted("the hits are not the votes for the certified class")
            stream.append(unit)

    def choice(self, text: str) -> Fields | None:
        """The law that votes chose for the method `text`, as JSON; None where none is recorded."""
        return optional(self.choices, text, dict)

    def ends(self, purpose: str, law: Fields | None) -> list[int]:
        """After how many votes of a stream counts are known."""
        total, ends = 0, []
        for unit in self._streams.get((purpose, canonical(law)), []):
            total += sum(unit.counts)
            ends.append(total)
        return ends

    def taken(self, purpose: str, law: Fields | None) -> int:
        """How many votes a stream has."""
        return (self.ends(purpose, law) or [0])[-1]

    def first(self, purpose: str, law: Fields | None, count: int) -> Count:
        """The first `count` votes of a stream."""
        if count not in self.ends(purpose, law):
            raise Refuted(f"there are no counts after the first {count} {purpose} votes")
        units, total = [], 0
        for unit in self._streams[purpose, canonical(law)]:
            units.append(unit)
            total += sum(unit.counts)
            if total == count:
                break
        counts = _added([unit.counts for unit in units])
        hits = _added([unit.hits for unit in units])
        others = [n for place, n in enumerate(counts) if place != self.target]
        return Count(
            total,
            sum(hits),
            max(others, default=0),
            _added([unit.trials for unit in units]),
            hits,
            units[-1].slope,
            counts,
        )

    def check_prediction(self) -> None:
        """Raise unless a prediction is the class that most votes are for, the first of equals: of
        the votes that select, or else of those under P."""
        taken = {purpose: self.taken(purpose, None) for purpose in PREDICTING}
        purpose = next((purpose for purpose, count in taken.items() if count), None)
        due = None
        if purpose is not None:
            counts = self.first(purpose, None, taken[purpose]).counts
            due = counts.index(max(counts))
        if self.predicted is not None and self.predicted != due:
            raise Refuted(f"the prediction is {self.predicted}, and the votes make it {due}")

    def check_class(self, rule: str, votes: int) -> None:
        """Raise unless the certified class is the label, or was chosen by the first `votes`
        selection votes."""
        if rule == "label" and self.label is not None:
            if self.target != self.label:
                raise Refuted("the certified class is not the label")
            return
        units = self._streams.get((SELECTION, None), [])
        if not units:
            raise Refuted("no selection votes chose the class")
        counts = units[0].counts
        if sum(counts) != votes:
            raise Refuted(f"{sum(counts)} selection votes chose the class, not {votes}")
        if self.target >= len(counts) or counts[self.target] != max(counts):
            raise Refuted("the certified class is not the one that the selection votes chose")


def _added(columns: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The sums of columns, which must be equally many in every unit of a stream."""
    if len(set(map(len, columns))) > 1:
        raise Refuted("the units of a stream have different numbers of classes or bins")
    return tuple(map(sum, zip(*columns, strict=True)))

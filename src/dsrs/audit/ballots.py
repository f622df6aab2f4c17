"""The votes of one input as a run keeps them, checked for what a bound needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsrs.audit.findings import Refuted
from dsrs.audit.law_text import canonical

ESTIMATION, SELECTION = "estimation", "selection"
MISSED_NOISE = "missed-noise"  # what the version before called `slope`


@dataclass(frozen=True, slots=True)
class Count:
    """What the first votes of a stream came to."""

    total: int
    hits: int
    rivals: int  # votes of the most frequent other class
    trials_by_bin: tuple[int, ...]
    hits_by_bin: tuple[int, ...]
    slope: Mapping[str, Any] | None = None  # of the gradient, where noise was added up


class Ballots:
    """All votes of one input: streams by purpose and law, each numbered from 0 without a gap."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.index: int = fields["index"]
        self.label: int | None = fields["label"]
        self.target: int = fields["target"]
        self.choices: Mapping[str, Mapping[str, Any]] = fields["choices"]
        self._streams: dict[tuple[str, Any], list[Mapping[str, Any]]] = {}
        for unit in fields["votes"]:
            key = (unit["purpose"], canonical(unit["law"]))
            stream = self._streams.setdefault(key, [])
            if unit["start"] != sum(sum(other["counts"]) for other in stream):
                raise Refuted("votes of a stream are missing, or are counted twice")
            self._check(unit)
            stream.append(unit)

    def _check(self, unit: Mapping[str, Any]) -> None:
        counts, trials, hits = unit["counts"], unit["trials"], unit["hits"]
        if min([*counts, *trials, *hits]) < 0 or sum(counts) != sum(trials):
            raise Refuted("the counts of votes do not add up")
        if len(trials) != len(hits) or any(h > t for h, t in zip(hits, trials, strict=True)):
            raise Refuted("more hits than votes")
        own = counts[self.target] if 0 <= self.target < len(counts) else 0
        if own != sum(hits):
            raise Refuted("the hits are not the votes for the certified class")

    def ends(self, purpose: str, law: Mapping[str, Any] | None) -> list[int]:
        """After how many votes of a stream counts are known."""
        total, found = 0, []
        for unit in self._streams.get((purpose, canonical(law)), []):
            total += sum(unit["counts"])
            found.append(total)
        return found

    def taken(self, purpose: str, law: Mapping[str, Any] | None) -> int:
        return (self.ends(purpose, law) or [0])[-1]

    def first(self, purpose: str, law: Mapping[str, Any] | None, count: int) -> Count:
        """The first `count` votes of a stream."""
        if count not in self.ends(purpose, law):
            raise Refuted(f"there are no counts after the first {count} {purpose} votes")
        units, total = [], 0
        for unit in self._streams[purpose, canonical(law)]:
            units.append(unit)
            total += sum(unit["counts"])
            if total == count:
                break
        columns = {
            name: tuple(map(sum, zip(*(unit[name] for unit in units), strict=True)))
            for name in ("counts", "trials", "hits")
        }
        others = [n for place, n in enumerate(columns["counts"]) if place != self.target]
        return Count(
            total,
            sum(columns["hits"]),
            max(others, default=0),
            columns["trials"],
            columns["hits"],
            units[-1].get("tallies", {}).get(MISSED_NOISE, units[-1].get("slope")),
        )

    def check_class(self, rule: str) -> None:
        """The certified class is the label, or was chosen by selection votes."""
        if rule == "label" and self.label is not None:
            if self.target != self.label:
                raise Refuted("the certified class is not the label")
            return
        units = self._streams.get(("selection", None), [])
        if not units:
            raise Refuted("no selection votes chose the class")
        counts = units[0]["counts"]
        if counts[self.target] != max(counts):
            raise Refuted("the certified class is not the one that the selection votes chose")

"""Bounds from votes: planned before the votes with their shares of alpha, and taken from them.

A method lists all of its bounds, used or not, in `Method.bounds`. Their shares add up to alpha at
most, so all of them hold together except with probability alpha, and whatever follows from any of
them is a certificate. No other place divides alpha.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dsrs.confidence import AlphaBudget, clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods.intervals import staged_lower
from dsrs.methods.looks import Look
from dsrs.noise import Stream
from dsrs.votes import SampledInput, Votes

# `class`: the vote is for the certified class. `others`: for each rival, the vote is not for it.
Event = Literal["class", "others"]
Side = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True)
class PlannedBound:
    """A bound of an event's probability, fixed before the votes that it is taken from.

    `others` bounds the event "not this rival" for every rival, at the price of one: a wrong
    certificate needs a miss of the one rival that truly limits the class, which is fixed by
    classifier and input (docs/math.md 11).

    Args:
        stream: the votes; None where the law is chosen later, and no votes were needed.
        event: what is bounded.
        side: from where.
        looks: after how many votes it may be taken, and with which share of alpha.
        then: where all votes of the only look hit, the stream goes on to so many in all
            (`staged_lower`).
    """

    stream: Stream | None
    event: Event
    side: Side
    looks: tuple[Look, ...]
    then: int | None = None

    def take(self, seen: SampledInput) -> TakenBound | None:
        """The best bound at the looks that the votes have reached; None before the first."""
        if self.stream is None:
            return None
        ends = set(seen.ends(self.stream))
        taken = [
            self._at(place, seen, ends) for place, n in enumerate(self.looks) if n.votes in ends
        ]
        best = max if self.side == "lower" else min
        return best(taken, key=lambda bound: bound.value) if taken else None

    def _at(self, place: int, seen: SampledInput, ends: set[int]) -> TakenBound:
        look, stream = self.looks[place], self.stream
        assert stream is not None
        votes = seen.first(stream, look.votes)
        hits = self.hits(votes, seen)
        if self.then is not None and hits == votes.total and self.then in ends:
            both = seen.first(stream, self.then)
            later = self.hits(both, seen) - hits
            value = staged_lower(hits, later, self.then - votes.total, look.alpha)
            return TakenBound(value, place, (look.votes, self.then))
        if self.side == "lower":
            value = float(clopper_pearson_lower(hits, votes.total, look.alpha))
        else:
            value = float(clopper_pearson_upper(hits, votes.total, look.alpha))
        return TakenBound(value, place, (look.votes,))

    def hits(self, votes: Votes, seen: SampledInput) -> int:
        """Return how many votes are in the event, with the worst of the rivals."""
        if self.event == "class":
            return votes.successes
        return votes.total - most_of_others(votes, seen)


@dataclass(frozen=True, slots=True)
class TakenBound:
    """What a bound is, at which look, and after how many votes counts are needed to see it."""

    value: float
    look: int
    ends: tuple[int, ...]


def most_of_others(votes: Votes, seen: SampledInput) -> int:
    """Votes for the most frequent class but the certified one; 0 also for classes never seen."""
    return max((n for place, n in enumerate(votes.counts) if place != seen.target), default=0)


@functools.lru_cache(maxsize=256)
def shared(
    looks: tuple[Look, ...], alpha: float, purposes: tuple[str, ...]
) -> list[tuple[Look, ...]]:
    """The looks of several bounds that share those of one: equal parts of the alpha of each look.

    Args:
        looks: those of one bound, whose alphas add up to `alpha` at most.
        alpha: what all of it may spend.
        purposes: what each part is for.
    """
    budget, parts = AlphaBudget(alpha), []
    for purpose in purposes:
        share = [
            Look(look.votes, budget.spend(look.alpha / len(purposes), f"{purpose}, {look.votes}"))
            for look in looks
        ]
        parts.append(tuple(share))
    return parts


def planned(
    stream: Stream | None,
    looks: Iterable[Look],
    alpha: float,
    *sides: tuple[Event, Side],
    then: int | None = None,
) -> tuple[PlannedBound, ...]:
    """Bounds of one stream at the same looks, with equal parts of `alpha`.

    `then` is for the lower bound of the class.
    """
    looks = tuple(looks)
    purposes = tuple(f"{side} bound of {event}" for event, side in sides)
    parts = shared(looks, alpha, purposes)
    return tuple(
        PlannedBound(
            stream, event, side, part, then if (event, side) == ("class", "lower") else None
        )
        for (event, side), part in zip(sides, parts, strict=True)
    )

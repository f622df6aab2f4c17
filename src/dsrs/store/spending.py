"""What a run cost in model queries, and what stopping in time saved."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from dsrs.methods import Plan
from dsrs.store.result import RunResult


@dataclass(frozen=True, slots=True)
class VotesSpent:
    """Model queries of a run, input by input, and the most that its plan allowed an input.

    A query is a row that the model ran: votes, with the rows that fill a batch. Where nobody
    counted rows the votes stand for them. `most` is None for plans that
    take the same votes for every input.
    """

    by_input: tuple[int, ...]
    most: int | None

    @property
    def total(self) -> int:
        return sum(self.by_input)

    @property
    def times_fewer(self) -> float | None:
        """How many times fewer queries than the most."""
        if self.most is None or not self.total:
            return None
        return self.most * len(self.by_input) / self.total

    def text(self) -> str:
        """Return the queries in a line, and how many fewer they are than the most."""
        if not self.by_input:
            return "no votes yet"
        said = f"{self.total:,} model queries"
        if self.most is None or self.times_fewer is None:
            return said
        middle = statistics.median_low(self.by_input)
        times = f"{self.times_fewer:,.0f}" if self.times_fewer >= 100 else f"{self.times_fewer:.1f}"
        return (
            f"{said}, {times} times fewer than {self.most:,} an input "
            f"(median {middle:,}, most {max(self.by_input):,})"
        )


def votes_spent(results: Iterable[RunResult], plan: Plan) -> VotesSpent:
    """What these inputs cost under the plan that sampled them."""
    by_input = tuple(
        sum(votes.total for votes in result.votes) if result.queries is None else result.queries
        for result in results
    )
    most = plan.n * len(plan.methods)
    return VotesSpent(by_input, None if plan.goal.is_open else most)

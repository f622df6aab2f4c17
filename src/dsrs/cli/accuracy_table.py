"""Certified accuracy as a table in the terminal, rounded down."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dsrs.cli.tables import table
from dsrs.measures import floor_text, percent

if TYPE_CHECKING:
    from dsrs.measures import MethodAccuracy
    from dsrs.store import Run, RunResult, VotesSpent


def accuracy_table(accuracies: Sequence[MethodAccuracy], labelled: bool) -> str:
    """One line a method: the share of inputs certified at each radius, in percent."""
    from dsrs.laws import short_law_text

    if not accuracies:
        return "no inputs are finished yet"
    first = accuracies[0]
    short = any(accuracy.short for accuracy in accuracies)
    headers = [
        "method",
        *(f"r={radius:g}" for radius in first.radii),
        "mean r",
        "abstained",
        "undecided",
        *(["short"] if short else []),
    ]
    rows = [
        [
            short_law_text(accuracy.method),
            *(percent(Fraction(count, accuracy.total)) for count in accuracy.correct),
            floor_text(accuracy.average_radius, 4),
            f"{accuracy.abstained}/{accuracy.total}",
            f"{accuracy.undecided}/{accuracy.total}",
            *([f"{accuracy.short}/{accuracy.total}"] if short else []),
        ]
        for accuracy in accuracies
    ]
    what = "certified accuracy (%)" if labelled else "inputs with a certificate (%), no labels,"
    return f"{what} at l2 radius r, {first.total} inputs\n{table(rows, headers)}"


def measured(
    opened: Run, radii: Sequence[float] | None
) -> tuple[list[RunResult], list[MethodAccuracy], VotesSpent]:
    """The results of a run, its certified accuracy at these radii, and the votes it took."""
    from dsrs.measures import certified_accuracy
    from dsrs.store import votes_spent

    results = list(opened.results())
    accuracies = certified_accuracy(results, radii or opened.plan.goal.asked)
    return results, accuracies, votes_spent(results, opened.sampled_plan)


def print_measured(
    opened: Run,
    results: Sequence[RunResult],
    accuracies: Sequence[MethodAccuracy],
    spent: VotesSpent,
) -> None:
    """Print the table, the votes, and why hardly anything is certified, where that is so."""
    from dsrs.measures import diagnose

    plan = opened.plan
    print(accuracy_table(accuracies, opened.config["data"]["labels"]))
    print("votes: " + spent.text())
    for sentence in diagnose(results, plan):
        print(f"why so little: {sentence}")

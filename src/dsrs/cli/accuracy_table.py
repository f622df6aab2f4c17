"""Certified accuracy as a table in the terminal, rounded down."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dsrs.cli.tables import table
from dsrs.measures.rounding import floor_text, percent

if TYPE_CHECKING:
    from dsrs.measures.certified_accuracy import MethodAccuracy


def accuracy_table(accuracies: Sequence[MethodAccuracy], labelled: bool, norm: str = "l2") -> str:
    """One line a method: the share of inputs certified at each radius, in percent."""
    from dsrs.laws import short_law_text

    if not accuracies:
        return "no inputs are finished yet"
    first = accuracies[0]
    short = any(found.short for found in accuracies)
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
            short_law_text(found.method),
            *(percent(Fraction(count, found.total)) for count in found.correct),
            floor_text(found.average_radius, 4),
            f"{found.abstained}/{found.total}",
            f"{found.undecided}/{found.total}",
            *([f"{found.short}/{found.total}"] if short else []),
        ]
        for found in accuracies
    ]
    what = "certified accuracy (%)" if labelled else "inputs with a certificate (%), no labels,"
    return f"{what} at {norm} radius r, {first.total} inputs\n{table(rows, headers)}"

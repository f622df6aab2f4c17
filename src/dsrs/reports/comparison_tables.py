"""A comparison of two runs as rows, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dsrs.confidence import Estimate
from dsrs.files import markdown_name
from dsrs.measures import nearest_number, nearest_text
from dsrs.reports.comparing import Changed, Comparison
from dsrs.reports.headers import different_settings, header_lines
from dsrs.reports.summary import method_name
from dsrs.reports.tables import (
    CSV_DIGITS,
    Quantity,
    Row,
    interval_note,
    markdown_rows,
    printer,
    quantities_of,
    row_of,
)

LISTED = 12  # indices that people see; JSON has all


def comparison_rows(comparison: Comparison) -> list[Row]:
    """Three lines a method: the old run, the new one, and the gain."""
    old, new = comparison.old, comparison.new
    rows = []
    for gain in comparison.methods:
        name = method_name(gain.method)
        for measured in (old, new):
            (line,) = (line for line in measured.methods if line.method == gain.method)
            rows.append(row_of(measured.run.name, name, line, measured.clean_accuracy))
        title = f"gain of {new.run.name}"
        rows.append(row_of(title, name, gain.gain, comparison.clean, gain=True))
    return rows


def comparison_notes(comparison: Comparison) -> list[str]:
    """What must be known of two runs before their numbers are compared, a sentence each."""
    old, new = comparison.runs
    sizes = " and ".join(f"{size:,}" for size in comparison.sizes)
    notes = [f"{new.name} against {old.name}, over {comparison.size:,} inputs in common"]
    if set(comparison.sizes) != {comparison.size}:
        notes[0] += f" (of {sizes})"
    notes += header_lines(comparison.runs)
    different = different_settings(comparison.runs)
    if different:
        notes.append(f"the runs differ in {', '.join(different)}: a gain may come from that")
    return notes


def changes_text(changed: Changed) -> str | None:
    """`r=0.5: gained 3 (4, 9, 12), lost 1 (7)`; None where nothing changed."""
    parts = [
        f"{word} {len(indices)} ({_indices(indices)})"
        for word, indices in (("gained", changed.gained), ("lost", changed.lost))
        if indices
    ]
    return f"r={changed.radius:g}: {', '.join(parts)}" if parts else None


def ratio_lines(comparison: Comparison) -> list[str]:
    """For each method how many times the old average radius the new one is, where that is known."""
    old, new = comparison.runs
    return [
        f"average radius of {new.name}, {method_name(gain.method)}: "
        f"{_ratio_text(gain.ratio)} that of {old.name}"
        for gain in comparison.methods
        if gain.ratio
    ]


def _ratio_text(ratio: Estimate) -> str:
    value, low, high = (nearest_text(part, 2) for part in (ratio.value, ratio.low, ratio.high))
    return f"{value} times ({low} to {high})"


def changes_lines(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """For each method its name, and at which radii which inputs changed."""
    for gain in comparison.methods:
        texts = [text for changes in gain.changes if (text := changes_text(changes))]
        yield method_name(gain.method), texts or ["no input changed"]


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown, for a pull request or the summary of a CI job."""
    note = interval_note(comparison.resampling)
    lines = [
        *(f"{markdown_name(text)}.  " for text in comparison_notes(comparison)),
        f"Certified accuracy in percent at l2 radius r, {note}.",
        "",
        *markdown_rows(comparison_rows(comparison), comparison.radii),
    ]
    for text in ratio_lines(comparison):
        lines += ["", f"{markdown_name(text)}."]
    for name, texts in changes_lines(comparison):
        lines += ["", f"Inputs that changed, {markdown_name(name)}:", ""]
        lines += [f"- {text}" for text in texts]
    return "\n".join(lines) + "\n"


def comparison_fields(comparison: Comparison) -> dict[str, Any]:
    """The comparison for JSON: accuracies are shares, gains have an interval."""
    old, new = comparison.old, comparison.new
    return {
        "old": old.run.name,
        "new": new.run.name,
        "inputs": comparison.size,
        "old_inputs": comparison.sizes[0],
        "new_inputs": comparison.sizes[1],
        "different": different_settings(comparison.runs),
        "gains": list(_gains(comparison)),
        "ratios": [
            {
                "method": gain.method,
                "ratio": nearest_number(gain.ratio.value, CSV_DIGITS),
                "low": nearest_number(gain.ratio.low, CSV_DIGITS),
                "high": nearest_number(gain.ratio.high, CSV_DIGITS),
            }
            for gain in comparison.methods
            if gain.ratio
        ],
        "changes": [
            {
                "method": gain.method,
                "radius": changes.radius,
                "gained": list(changes.gained),
                "lost": list(changes.lost),
            }
            for gain in comparison.methods
            for changes in gain.changes
        ],
    }


def _gains(comparison: Comparison) -> Iterator[dict[str, Any]]:
    old, new = comparison.old, comparison.new
    if comparison.clean and old.clean_accuracy and new.clean_accuracy:
        parts = (old.clean_accuracy, new.clean_accuracy, comparison.clean)
        yield {"method": "", **_gain_fields("clean accuracy", None, *parts)}
    for found in comparison.methods:
        lines = [
            line
            for measured in (old, new)
            for line in measured.methods
            if line.method == found.method
        ]
        quantities = [quantities_of(line, comparison.radii) for line in (*lines, found.gain)]
        for (name, radius, was), (_, _, now), (_, _, gain) in zip(*quantities, strict=True):
            yield {"method": found.method, **_gain_fields(name, radius, was, now, gain)}


def _gain_fields(
    quantity: Quantity, radius: float | None, old: Estimate, new: Estimate, gain: Estimate
) -> dict[str, Any]:
    text = printer(False, quantity)
    return {
        "quantity": quantity,
        "radius": radius,
        "old": float(text(old.value, CSV_DIGITS)),
        "new": float(text(new.value, CSV_DIGITS)),
        "gain": nearest_number(gain.value, CSV_DIGITS),
        "low": nearest_number(gain.low, CSV_DIGITS),
        "high": nearest_number(gain.high, CSV_DIGITS),
        "shown": gain.sign != 0,
    }


def _indices(indices: Sequence[int]) -> str:
    listed = ", ".join(map(str, indices[:LISTED]))
    rest = len(indices) - LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed

"""One input of a run for people: classes, votes, certificates and its attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsrs.cli.tables import table
from dsrs.files import one_line

if TYPE_CHECKING:
    from dsrs.proofs import AttackedInput
    from dsrs.store import RunResult

MOST_CLASSES = 3  # with the most votes of a stream


def input_text(result: RunResult, names: Sequence[str], attacked: AttackedInput | None) -> str:
    """What is known of one input.

    Args:
        result: its votes and certificates.
        names: of the classes, as far as they have any.
        attacked: what the attack on it came to, if there was one.
    """
    known = {
        "label": result.label,
        "prediction": result.predicted,
        "certified class": result.target,
    }
    lines = [f"input {result.index}"]
    lines += [
        f"  {text}: {_class(value, names)}" for text, value in known.items() if value is not None
    ]
    lines += ["", _votes(result, names), "", _certificates(result)]
    if attacked is not None:
        lines += ["", _attack(attacked, names)]
    return "\n".join(lines)


def _class(label: int, names: Sequence[str]) -> str:
    return f"{label} {one_line(names[label])}" if label < len(names) else str(label)


def _votes(result: RunResult, names: Sequence[str]) -> str:
    """The classes with the most votes, of each purpose and law."""
    rows = []
    for votes in result.votes:
        counts = votes.counts
        most = sorted(range(len(counts)), key=lambda label: -counts[label])[:MOST_CLASSES]
        shares = [
            f"class {_class(label, names)}: {counts[label]:,}" for label in most if counts[label]
        ]
        law = votes.stream.additional
        noise = "P" if law is None else law.short_text
        rows.append([votes.stream.purpose, noise, f"{votes.total:,}", ", ".join(shares)])
    return table(rows, ["purpose", "noise", "votes", "of these"])


def _certificates(result: RunResult) -> str:
    from dsrs.laws import short_law_text
    from dsrs.measures import ceil_text, floor_text

    rows = []
    for name, found in result.certificates.items():
        known = found.known_of_p
        bounds = f"{floor_text(known.lower, 4)} to {ceil_text(known.upper, 4)}" if known else ""
        alpha = "" if found.subject is None else f"{found.subject.alpha:g}"
        radius = floor_text(found.radius, 6)
        rows.append([short_law_text(name), found.status, radius, bounds, alpha])
    return table(rows, ["method", "status", "l2 radius", "P_A", "alpha"])


def _attack(attacked: AttackedInput, names: Sequence[str]) -> str:
    from dsrs.measures import ceil_text

    found = attacked.counterexample
    if found is None or attacked.attacked is None:
        return "attack: no counterexample was proved"
    rival = "" if found.rival is None else f", rival class {_class(found.rival, names)}"
    return f"attack: {found.shown} at distance {ceil_text(attacked.attacked, 6)}{rival}"

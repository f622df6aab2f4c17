"""Which inputs a session was asked for, as text: 0-39,50."""

from __future__ import annotations

from collections.abc import Iterable

ASKED = "asked"  # its key beside the versions of a session


def ranges_text(indices: Iterable[int]) -> str:
    """0-39,50 for these numbers, in order."""
    runs: list[list[int]] = []
    for index in sorted(set(indices)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in runs)


def ranges_of(text: str) -> set[int]:
    """The numbers that `ranges_text` wrote."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found

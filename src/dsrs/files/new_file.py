"""Whether a file may be written here: checked before the work whose result it is to hold."""

from __future__ import annotations

import os
from pathlib import Path

from dsrs.errors import InvalidInput

# How files of these endings begin.
BEGINNINGS = {
    ".png": (b"\x89PNG",),
    ".pdf": (b"%PDF",),
    ".svg": (b"<?xml", b"<svg"),
}
FIGURE_SUFFIXES = tuple(BEGINNINGS)


def check_new_file(path: Path, overwrite: bool) -> None:
    """Refuse a path that cannot be written, or where something would be lost.

    With `overwrite` a file is replaced if it is of the kind that the name's ending says; without a
    known ending, if it is text.
    """
    above = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not above.is_dir():
        raise InvalidInput(f"{path} cannot be written: {above} is not a folder")
    if not os.path.lexists(path):
        return
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file")
    if not overwrite:
        raise InvalidInput(f"{path} exists; give --overwrite to replace it, or another name")
    if path.is_file() and not _is_kind(path):
        raise InvalidInput(
            f"{path} is a file of another kind, which is never overwritten; choose another name"
        )


def check_figure(path: Path, overwrite: bool) -> None:
    """As `check_new_file`, for a figure whose format its name must say."""
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise InvalidInput(f"a figure must end in {', '.join(FIGURE_SUFFIXES)}, got {path}")
    check_new_file(path, overwrite)


def _is_kind(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(4096)
    expected = BEGINNINGS.get(path.suffix.lower())
    return not start or (b"\0" not in start if expected is None else start.startswith(expected))

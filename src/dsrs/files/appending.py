"""Appending text to a file that others write to as well, such as the summary of a CI job."""

from __future__ import annotations

from pathlib import Path

from dsrs.errors import DataError, InvalidInput


def check_appendable(path: Path) -> None:
    """Raise InvalidInput if no text can be appended to a file of this name."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; expected the name of a file to append to")
    if not path.parent.is_dir():
        raise InvalidInput(f"the folder {path.parent} does not exist; make it, or choose another")


def append_text(path: Path, text: str) -> None:
    """Write `text` behind what the file holds; it need not exist."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise DataError(f"cannot write to {path}: {error.strerror or error}") from error

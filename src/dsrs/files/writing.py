"""Writing files: whole or not at all, and never over something that would be missed.

The content goes into a new file of a random name in the same folder, which is renamed when all of
it is on disk. Nobody can foresee the name, and it is opened only if it did not exist, so that no
file of the user and nothing behind a link is ever written to. A link under the final name is
replaced by the file; what it pointed to stays as it is.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dsrs.errors import DataError, InvalidInput

UNFINISHED = ".unfinished"
SHOWN_LETTERS = 40  # of the final name, so that the random one fits where names are short


def unfinished_path(path: Path) -> Path:
    """Create an empty file beside `path` under an unpredictable name. Raises OSError."""
    draft = path.with_name(f".{path.name[:SHOWN_LETTERS]}.{secrets.token_hex(8)}{UNFINISHED}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(draft, flags, 0o666))
    return draft


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes are found under `path` when the block ends without an error."""
    draft: Path | None = None
    try:
        if path.is_dir():
            raise DataError(f"{path} cannot be written: it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = unfinished_path(path)
        with draft.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        draft = None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write these bytes under `path`."""
    with whole_file(path) as stream:
        stream.write(content)


# ---- Whether a file may be written: checked before the work whose result it is to hold

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


# ---- Appending text to a file that others write to as well, such as the summary of a CI job


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


# ---- Folders, made and removed with what is written into them


def make_folders(folder: Path) -> list[Path]:
    """Make `folder` and what is missing above it; return what was made, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def remove_empty(folders: list[Path]) -> None:
    """Remove these folders, innermost first, as far as they are empty."""
    for folder in folders:
        if not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()

"""What a format of files consists of. Each lies in a file of its own; `registry` lists them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.row import ResultRow
from dsrs.files import text_of
from dsrs.store import Run

# The rows of one file: its path, for messages, and its content.
Reader = Callable[[Path, bytes], list[ResultRow]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that results are written in, read from, or both.

    Args:
        name: As `--format` takes it.
        ending: Of its files, such as `.csv`.
        recognises: Whether some content is of this format, and of no other.
        write: The content of a file with these rows; None for a format that is not made of rows.
        read: The rows of a file; None for a format that is only written.
        export: The content of the file that these methods of a run are exported as, where rows
            would not do.
        one_method: Whether a file holds the rows of a single method.
    """

    name: str
    ending: str
    recognises: Callable[[bytes], bool]
    write: Callable[[Iterable[ResultRow]], bytes] | None = None
    read: Reader | None = None
    export: Callable[[Run, tuple[str, ...]], bytes] | None = None
    one_method: bool = False


def first_line(content: bytes) -> str:
    """The first line of a text that is not blank; empty where the content is no text."""
    try:
        lines = text_of(content, "").lstrip().splitlines()
    except DataError:
        return ""
    return lines[0] if lines else ""

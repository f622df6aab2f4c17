"""What the commands print, without control characters from names and messages of others."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from dsrs.certifying import ERASE_LINE
from dsrs.files import printable


class PrintableStream:
    """A text stream that writes out control characters, but for those of the progress bar, and
    what its encoding does not have."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        own = ERASE_LINE if text.startswith(ERASE_LINE) else ""
        shown, encoding = printable(text.removeprefix(own)), self._stream.encoding or "utf-8"
        return self._stream.write(own + shown.encode(encoding, "backslashreplace").decode(encoding))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_output() -> Iterator[None]:
    """Inside, everything that is printed is printable."""
    out, err = (cast(TextIO, PrintableStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


@contextmanager
def notes_on_stderr(quiet: bool) -> Iterator[None]:
    """Inside, what the package notes on the way (that it compiles, say) is shown, a line each."""
    log, handler = logging.getLogger("dsrs"), logging.StreamHandler(sys.stderr)
    before = log.level
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)

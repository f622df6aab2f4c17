"""The one way in which this package writes a file: whole, or not at all.

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

from dsrs.errors import DataError

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

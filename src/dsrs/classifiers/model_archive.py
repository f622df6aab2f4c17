"""The zip files that PyTorch writes, read whole and written again with the wanted entries only.

PyTorch reads zips with a reader of its own, so what was checked must also be what it is given:
a file can hold one entry twice, or two archives in one.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from dsrs.errors import ClassifierError

LARGEST_UNFOLDED = 1 << 24  # bytes of one compressed entry: more source than any model has


def entries_of(path: Path, what: str) -> dict[str, bytes]:
    """The entries of an archive by their names inside its folder; `what` it should be, for errors.

    PyTorch compresses source only, so a small file must not unfold to a large one here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.file_size > max(entry.compress_size, LARGEST_UNFOLDED):
                    raise ClassifierError(
                        f"{path.name} is not {what}: {entry.filename!r} in it unfolds from "
                        f"{entry.compress_size:,} to {entry.file_size:,} bytes"
                    )
            return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ClassifierError(f"{path.name} is not {what}: {error}") from error


def archive_of(entries: dict[str, bytes], kept: re.Pattern[str]) -> io.BytesIO:
    """An archive of the entries whose whole name fits `kept`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            if kept.fullmatch(name):
                archive.writestr(f"model/{name}", content)
    stream.seek(0)
    return stream

"""The content of a file from outside: unpacked, as text without a byte order mark."""

from __future__ import annotations

from pathlib import Path

from dsrs.errors import DataError
from dsrs.files.unpacking import GZIP_MAGIC, unpacked_gzip


def content_of_file(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is a .gz file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    return unpacked_gzip(content, str(path)) if content.startswith(GZIP_MAGIC) else content


def text_of(content: bytes, where: object) -> str:
    """UTF-8 as text, without the mark that some programs put first."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{where} is not text in UTF-8") from None


def text_of_file(path: Path) -> str:
    """The text of a file, unpacked if it is a .gz file."""
    return text_of(content_of_file(path), path)

"""A limit on what a compressed file may unfold to: a small file must not fill the memory."""

from __future__ import annotations

import gzip
import io
import os
import zlib

from dsrs.errors import DataError, InvalidInput

LIMIT_VARIABLE = "DSRS_UNPACK_LIMIT_GB"
DEFAULT_GIGABYTES = 1.0
GZIP_MAGIC = b"\x1f\x8b"


def check_unpacked(packed: int, unpacked: int, where: str) -> None:
    """Refuse content that takes more than the limit beyond what it takes on disk."""
    if unpacked - packed > _limit():
        raise DataError(
            f"{where} would unfold from {packed:,} to at least {unpacked:,} bytes, more than "
            f"{_limit() / 1e9:g} GB beyond its size; set {LIMIT_VARIABLE} to a larger number if "
            "you trust it"
        )


def unpacked_gzip(content: bytes, where: str) -> bytes:
    """The content of a .gz file, if it does not unfold beyond the limit."""
    most = len(content) + _limit()
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            unpacked = stream.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{where} is a damaged .gz file: {error}") from None
    check_unpacked(len(content), len(unpacked), where)
    return unpacked


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        gigabytes = float(text) if text else DEFAULT_GIGABYTES
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes <= 1e9:
        raise InvalidInput(f"{LIMIT_VARIABLE} must be a number of gigabytes, got {text!r}")
    return int(gigabytes * 1e9)

"""Reading files from outside: unpacked within a limit, as text in UTF-8, or as a CSV table.

A compressed file may unfold only to a limit, since a small file must not fill the memory.

CSV tables are read row by row in constant memory, each row with the line that it ends on. A row
that cannot be read (wrong number of cells, bytes that are not UTF-8, a cell without end) is given
with the reason, and the rows behind it are read all the same. Bytes that are not UTF-8 are kept as
Python's surrogates, so that `cells` can be written again without loss.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

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


# ---- Content and text of a file


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


# ---- CSV tables

CUT_SHORT_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
ENCODING, KEPT_BYTES = "utf-8", "surrogateescape"


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row; `error` says why its cells cannot be used."""

    line: int
    cells: dict[str, str]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The names of the columns, each once, and the rows as they are read."""

    header: list[str]
    rows: Iterator[CsvRow]

    def good_rows(self, where: str) -> Iterator[CsvRow]:
        """The rows of a table that must be sound as a whole; DataError at the first that is not."""
        for row in self.rows:
            if row.error is not None:
                raise DataError(f"{where}, line {row.line}: {row.error}")
            yield row


@contextmanager
def open_csv(path: Path) -> Iterator[CsvTable]:
    """The table in a file, compressed or not."""
    with ExitStack() as stack:
        try:
            stream: BinaryIO = stack.enter_context(path.open("rb"))
            compressed = stream.read(2) == GZIP_MAGIC
            stream.seek(0)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        lines: Iterable[bytes] = stack.enter_context(gzip.open(stream)) if compressed else stream
        yield csv_table((line.decode(ENCODING, KEPT_BYTES) for line in lines), str(path))


def csv_table(lines: Iterable[str], where: str) -> CsvTable:
    """The table in these lines. Raises DataError where there is no header, or not one for each."""
    reader = csv.reader(_without_mark(lines), strict=True)
    try:
        header = next(reader, [])
    except (csv.Error, OSError, *CUT_SHORT_ERRORS) as error:
        raise DataError(f"{where} cannot be read as CSV: {error}") from None
    if not header or not all(map(_is_text, header)):
        raise DataError(f"{where} has no header of columns in UTF-8")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(
            f"{where} has the column {', '.join(map(repr, twice))} more than once; "
            "which one is meant is not known, so rename or remove one"
        )
    return CsvTable(header, _rows(reader, header))


def _rows(reader: csv._reader, header: list[str]) -> Iterator[CsvRow]:  # type: ignore[name-defined]
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield CsvRow(reader.line_num, {}, f"cannot be read as CSV: {error}")
            continue
        except (OSError, *CUT_SHORT_ERRORS) as error:
            yield CsvRow(reader.line_num + 1, {}, f"the file is cut or damaged here: {error}")
            return
        if not values:
            continue  # an empty line
        cells = dict(zip(header, values, strict=False))
        error_text = None
        if len(values) != len(header):
            error_text = f"expected {len(header)} cells, as in the header, got {len(values)}"
        elif not all(map(_is_text, values)):
            error_text = "some bytes are not UTF-8"
        yield CsvRow(reader.line_num, cells, error_text)


def _without_mark(lines: Iterable[str]) -> Iterator[str]:
    """The lines without a byte order mark, which some programs write first."""
    rest = iter(lines)
    first = next(rest, "")
    return chain([first.removeprefix("\ufeff")], rest)


def _is_text(cell: str) -> bool:
    try:
        cell.encode(ENCODING)
    except UnicodeEncodeError:
        return False
    return True

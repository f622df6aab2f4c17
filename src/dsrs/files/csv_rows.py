"""The one reader of CSV tables: row by row in constant memory, each with the line it ends on.

A row that cannot be read (wrong number of cells, bytes that are not UTF-8, a cell without end) is
given with the reason, and the rows behind it are read all the same. Bytes that are not UTF-8 are
kept as Python's surrogates, so that `cells` can be written again without loss.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from dsrs.errors import DataError
from dsrs.files.unpacking import GZIP_MAGIC

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

"""A format as a user would add it: the columns of a row as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from dsrs.exchange import TABLE_COLUMNS, Format, ResultRow, first_line, row_from_text
from dsrs.files import text_of

HEAD = f"| {' | '.join(TABLE_COLUMNS)} |"


def write(rows: Iterable[ResultRow]) -> bytes:
    lines = [HEAD, "|" + "---|" * len(TABLE_COLUMNS)]
    for row in rows:
        # A proof may hold any text, a bar too.
        cells = ["" if value is None else str(value) for value in asdict(row).values()]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines).encode()


def read(path: Path, content: bytes) -> list[ResultRow]:
    _, _, *lines = text_of(content, path).splitlines()
    rows = []
    for number, line in enumerate(lines, start=3):
        cells = [cell.strip().replace("&#124;", "|") for cell in line.split("|")[1:-1]]
        named = dict(zip(TABLE_COLUMNS, cells, strict=True))
        rows.append(row_from_text(named, f"{path}, line {number}"))
    return rows


MARKDOWN = Format(
    "markdown", ".md", lambda content: first_line(content) == HEAD, write=write, read=read
)

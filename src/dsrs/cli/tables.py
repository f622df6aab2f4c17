"""Tables of plain text with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

from dsrs.files import one_line


def table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    """Aligned columns: text to the left, numbers (and what looks like them) to the right."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    columns = range(len(headers))
    widths = [max([len(headers[c]), *(len(row[c]) for row in cells)]) for c in columns]
    numeric = [all(_looks_numeric(row[c]) for row in cells) for c in columns]

    def line(row: Sequence[str]) -> str:
        parts = [
            row[c].rjust(widths[c]) if numeric[c] else row[c].ljust(widths[c]) for c in columns
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(headers), "  ".join("-" * width for width in widths), *map(line, cells)])


def _looks_numeric(text: str) -> bool:
    return not text or text[0] in "+-.0123456789" or text in ("inf", "nan", "-")

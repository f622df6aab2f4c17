"""Names that come from outside (files, runs, models) as text that cannot act where it is shown.

A file may be called `<script>`, `=cmd|...` or hold bytes that move a terminal's cursor.
"""

from __future__ import annotations

import re

# Control characters but tab and newline, marks that turn the direction of writing, and bytes of
# file names that are not UTF-8.
ACTIVE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# What a spreadsheet takes for a formula, at the start; after apostrophes `csv_cell` has been there.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
MARKDOWN = str.maketrans({"<": "&lt;", ">": "&gt;", **{mark: "\\" + mark for mark in "\\`*[]|"}})
ENTITY = re.compile(r"&(?=[#\w])")


def printable(text: str) -> str:
    """Return `text` with its control characters written out: \\x1b for an escape."""
    return ACTIVE.sub(lambda match: repr(match[0])[1:-1], text)


def one_line(text: str) -> str:
    """Printable, and without newlines and tabs."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def csv_cell(text: str) -> str:
    """Return a text as a cell that spreadsheets do not compute: with an apostrophe before it."""
    return f"'{text}" if FORMULA.match(text) else text


def text_of_cell(cell: str) -> str:
    """Return the text that `csv_cell` was given."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def markdown_name(text: str) -> str:
    """A name that Markdown shows as it is."""
    return ENTITY.sub("&amp;", one_line(text)).translate(MARKDOWN)

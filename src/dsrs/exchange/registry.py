"""The formats by name. A new one is a file like `tsv.py` and a line in FORMATS."""

from __future__ import annotations

from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import attack_archive, csv_table, json_lines, parquet, tsv
from dsrs.exchange.format import Format, first_line

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        csv_table.FORMAT,
        json_lines.FORMAT,
        parquet.FORMAT,
        tsv.FORMAT,
        attack_archive.FORMAT,
    )
}


def register(form: Format) -> None:
    """Make a format known to every command.

    Args:
        form: The format; its name must be new.
    """
    if FORMATS.setdefault(form.name, form) is not form:
        raise InvalidInput(f"there is a format {form.name!r} already")


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def format_of(path: Path, *, tables: bool = True) -> str | None:
    """The format of a file with this name, or None; .gz behind it means compressed.

    Args:
        path: The file.
        tables: Whether only tables of rows are meant, or every format.
    """
    name = path.name.removesuffix(".gz")
    files = (form for form in FORMATS.values() if form.write or not tables)
    return next((form.name for form in files if name.endswith(form.ending)), None)


def recognised(path: Path, content: bytes) -> Format:
    """The format of this content; DataError when it is none of ours."""
    for form in FORMATS.values():
        if form.recognises(content):
            return form
    line = first_line(content)
    got = repr(line[:60]) if line else "bytes that are no text" if content.strip() else "nothing"
    raise DataError(
        f"{path}: the format is not known; expected one of {', '.join(FORMATS)} (a table has a "
        f"column `index`, a TSV log the header idx label predict ...), got {got}"
    )

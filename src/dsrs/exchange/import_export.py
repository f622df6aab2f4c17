"""Rows from files of other programs, and files that other programs read.

A file that is written appears whole, or not at all, and replaces nothing unless asked: never a file
of another kind, never a run.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.formats import FORMATS, format_named, recognised
from dsrs.exchange.row import ResultRow, rows_of
from dsrs.files import content_of_file, write_whole
from dsrs.laws import short_law_text
from dsrs.store import STORE_NAME, Run, attacked_inputs


def import_rows(path: Path, form: str | None = None) -> list[ResultRow]:
    """The rows of a file, in one of the formats that `dsrs export` writes.

    Args:
        path: The file.
        form: Its format; recognised from the content when not given.
    """
    content = content_of_file(path)
    chosen = recognised(path, content) if form is None else format_named(form)
    if chosen.read is None:
        raise DataError(f"{path} is of the format {chosen.name}, which has no rows to read")
    rows = chosen.read(path, content)
    _check_once(rows, path)
    return rows


def _check_once(rows: list[ResultRow], path: Path) -> None:
    """Refuse a table that answers one input twice by one method."""
    seen: set[tuple[int, str | None]] = set()
    for row in rows:
        if (row.index, row.method) in seen:
            method = f" of the method {row.method}" if row.method else ""
            raise DataError(f"{path}: input {row.index}{method} comes twice")
        seen.add((row.index, row.method))


# ---- What an output may replace


def refuse_run_folder(folder: Path) -> None:
    """Refuse a folder that is a run, or lies in one."""
    for parent in (folder.resolve(), *folder.resolve().parents):
        if (parent / STORE_NAME).exists():
            raise InvalidInput(
                f"{folder} lies in the run folder {parent}, which holds only the run; "
                "write beside it"
            )


def check_output(path: Path, form: str, overwrite: bool) -> None:
    """Refuse to write a table or log of this format under `path` where that would lose something.

    An existing file is replaced with `overwrite` only, and only if it is empty or of the format.
    """
    refuse_run_folder(path.parent)
    if not os.path.lexists(path):
        return
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is not a file; choose another --output")
    if not overwrite:
        raise InvalidInput(f"{path} exists; give --overwrite to replace it, or another --output")
    if not path.exists():
        return  # a link to nothing
    content = content_of_file(path)
    try:
        present = recognised(path, content).name if content else form
    except DataError:
        present = None
    if present != form:
        kind = f"is {present}" if present else "is no table of this program"
        raise InvalidInput(
            f"{path} {kind}, and {form} would replace it; a file of another kind is never "
            "overwritten, so choose another --output"
        )


# ---- From a run to a file


def export_run(
    run: Run, output: Path, form: str, method: str | None = None, *, overwrite: bool = False
) -> None:
    """Write the results of a run.

    Args:
        run: The run.
        output: The file.
        form: The name of the format.
        method: The method to write, by its whole name or by the one that tables show. A format
            that holds one method needs it where the run has several.
        overwrite: Whether files of the same format may be replaced.
    """
    chosen = format_named(form)
    methods = run.plan.names
    method = next((name for name in methods if short_law_text(name) == method), method)
    if method is not None and method not in methods:
        raise InvalidInput(f"`method` must be one of {', '.join(methods)}, got {method!r}")
    if chosen.one_method and method is None:
        if len(methods) > 1:
            raise InvalidInput(
                f"{form} holds one method; choose it with --method {' or '.join(methods)}"
            )
        method = methods[0]
    if chosen.export is None:
        check_output(output, form, overwrite)
        rows = rows_of(run.results(), run.config["plan"], method, attacked_inputs(run))
        write_rows(rows, output, form)
        return
    content = chosen.export(run, (method,) if method else methods)
    check_output(output, form, overwrite)
    write_whole(output, content)


def write_rows(rows: Iterable[ResultRow], output: Path, form: str) -> None:
    """Write rows as one file, compressed if its name ends in .gz."""
    write = format_named(form).write
    if write is None:
        tables = ", ".join(name for name, other in FORMATS.items() if other.write is not None)
        raise InvalidInput(f"{form} is no table of rows; choose one of {tables}")
    content = write(rows)
    # Without a time inside, the same rows give the same bytes.
    write_whole(output, gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)

"""From a run to a file that other programs read. Each file appears whole, or not at all."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from dsrs.errors import InvalidInput
from dsrs.exchange.outputs import check_output
from dsrs.exchange.registry import FORMATS, format_named
from dsrs.exchange.row import ResultRow, rows_of
from dsrs.files import write_whole
from dsrs.laws import short_law_text
from dsrs.store import Run, attacked_inputs


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

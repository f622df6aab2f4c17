"""From a run to a file that other programs read. Each file appears whole, or not at all."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from dsrs.errors import InvalidInput
from dsrs.exchange.attack_archive import attacks_archive
from dsrs.exchange.export_logs import dsrs_log_texts
from dsrs.exchange.outputs import check_output
from dsrs.exchange.row import ResultRow, rows_of
from dsrs.exchange.table import csv_text, jsonl_text, parquet_bytes
from dsrs.exchange.tsv import tsv_text
from dsrs.files.whole import write_whole
from dsrs.laws import short_law_text
from dsrs.store.attacks import attacked_inputs
from dsrs.store.reader import Run

# Name -> the usual ending of such a file; the logs of the DSRS scripts are a folder.
FORMATS = {
    "tsv": ".tsv",
    "csv": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "dsrs-logs": "",
}
# What can be written, but not read again.
EXPORTS = FORMATS | {"attacks": ".npz"}


def export_run(
    run: Run, output: Path, form: str, method: str | None = None, *, overwrite: bool = False
) -> list[Path]:
    """Write the results of a run; return the files written.

    A TSV log holds one method, which must be named when the run has several, by its whole name or
    by the one that tables show. `overwrite` lets
    files of the same kind be replaced.
    """
    methods = run.plan.names
    method = next((name for name in methods if short_law_text(name) == method), method)
    if method is not None and method not in methods:
        raise InvalidInput(f"`method` must be one of {', '.join(methods)}, got {method!r}")
    if form == "dsrs-logs":
        texts = dsrs_log_texts(run, (method,) if method else methods)
        for name in texts:
            check_output(output / name, form, overwrite)
        for name, text in texts.items():
            write_whole(output / name, text.encode())
        return [output / name for name in texts]
    check_output(output, form, overwrite)
    if form == "tsv" and method is None:
        if len(methods) > 1:
            raise InvalidInput(
                f"a TSV log holds one method; choose it with --method {' or '.join(methods)}"
            )
        method = methods[0]
    attacks = attacked_inputs(run)
    if form == "attacks":
        write_whole(output, attacks_archive(attacks))
    else:
        write_rows(rows_of(run.results(), run.config["plan"], method, attacks), output, form)
    return [output]


def format_of(path: Path) -> str | None:
    """The format of a table with this name, or None; .gz behind it means compressed."""
    name = path.name.removesuffix(".gz")
    return next((form for form, end in FORMATS.items() if end and name.endswith(end)), None)


def write_rows(rows: Iterable[ResultRow], output: Path, form: str) -> None:
    """Write rows as one file, compressed if its name ends in .gz."""
    if form == "parquet":
        content = parquet_bytes(rows)
    elif form in ("tsv", "csv", "jsonl"):
        writers = {"tsv": tsv_text, "csv": csv_text, "jsonl": jsonl_text}
        content = writers[form](rows).encode()
    else:
        raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {form!r}")
    # Without a time inside, the same rows give the same bytes.
    write_whole(output, gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)

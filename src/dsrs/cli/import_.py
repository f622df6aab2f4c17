"""`dsrs import`: tables of other programs as a table that this package works with."""

from __future__ import annotations

import argparse
from pathlib import Path

from dsrs.cli.options import Commands
from dsrs.cli.values import one_of
from dsrs.errors import InvalidInput

EPILOG = """\
examples:
  dsrs import cohen.tsv --output cohen.csv
      Then `dsrs report cohen.csv` shows what was certified.

the format is recognised from the content. A TSV log holds radii and no intervals.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "import",
        run=run,
        help="read tables of other programs",
        description="Read a log or a table of another program, check it, and write it as a table.",
        epilog=EPILOG,
    )
    parser.add_argument("file", help="TSV log, CSV, JSONL or Parquet")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.exchange", "FORMATS"),
        help="csv, jsonl, parquet or tsv (default: recognised from the content)",
    )
    parser.add_argument("--output", help="table to write: .csv, .jsonl, .parquet or .tsv, also .gz")
    parser.add_argument("--overwrite", action="store_true", help="replace a table of that name")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.exchange import check_output, format_of, import_rows, write_rows

    source = Path(arguments.file)
    output = Path(arguments.output or source.with_suffix(".csv"))
    if output.exists() and source.exists() and output.samefile(source):
        raise InvalidInput(f"{output} is the file to read; name the table to write with --output")
    form = format_of(output)
    if form is None:
        raise InvalidInput(f"--output must end in .csv, .jsonl, .parquet or .tsv, got {output}")
    check_output(output, form, arguments.overwrite)
    rows = import_rows(source, arguments.format)
    write_rows(rows, output, form)
    with_radius = sum(row.radius is not None for row in rows)
    with_interval = sum(row.p_lower is not None for row in rows)
    print(f"{len(rows)} rows, {with_interval} with intervals, {with_radius} with radii: {output}")
    return 0

"""`dsrs import`: logs and tables of other programs as a table that this package works with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dsrs.cli.choices import one_of
from dsrs.errors import InvalidInput

EPILOG = """\
examples:
  dsrs import cohen.tsv --output cohen.csv
  dsrs import general-gaussian-380-0.5-50000-0.0005.txt --d 784 \\
      --q-log general-gaussian-380-0.5-50000-0.0005-x.txt --output mnist.csv
      Joins the sampling logs of P and Q of the original DSRS scripts; then
      `dsrs recertify mnist.csv` certifies every row.

the format is recognised from the content. A TSV log holds radii and no intervals; a DSRS sampling
log holds intervals and no radii.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "import",
        help="read logs and tables of other programs",
        description="Read a log or table of another program, check it, and write it as a table.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="TSV log, DSRS log, CSV, JSON lines or Parquet")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.runs.formats", "FORMATS"),
        help="csv, jsonl, parquet, tsv or dsrs-logs (default: recognised)",
    )
    parser.add_argument("--d", type=int, help="dimension of the input, which DSRS logs do not say")
    parser.add_argument("--q-log", help="DSRS sampling log of the additional law")
    parser.add_argument("--output", help="table to write: .csv, .jsonl, .parquet or .tsv, also .gz")
    parser.add_argument("--overwrite", action="store_true", help="replace a table of that name")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.runs.formats import format_of, import_rows, write_rows
    from dsrs.runs.formats.outputs import check_output

    source = Path(arguments.file)
    if source.is_dir():
        raise InvalidInput(f"{source} is a folder; name a log or a table in it")
    output = Path(arguments.output or source.with_suffix(".csv"))
    form = format_of(output)
    if form is None:
        raise InvalidInput(f"--output must end in .csv, .jsonl, .parquet or .tsv, got {output}")
    if output.exists() and source.exists() and output.samefile(source):
        raise InvalidInput(f"{output} is the file to read; name the table to write with --output")
    check_output(output, form, arguments.overwrite)
    q_log = None if arguments.q_log is None else Path(arguments.q_log)
    rows = import_rows(source, arguments.format, d=arguments.d, q_log=q_log)
    write_rows(rows, output, form)
    with_radius = sum(row.radius is not None for row in rows)
    with_interval = sum(row.p_lower is not None for row in rows)
    print(f"{len(rows)} rows, {with_interval} with intervals, {with_radius} with radii: {output}")
    return 0

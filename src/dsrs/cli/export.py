"""`dsrs export`: the results of a run in a format that other programs read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dsrs.cli.options import Commands
from dsrs.cli.values import one_of
from dsrs.errors import InvalidInput

EPILOG = """\
examples:
  dsrs export runs/mine                                   writes runs/mine.csv
  dsrs export runs/mine --output mine.parquet             the ending names the format
  dsrs export runs/mine --format tsv --method truncated   the log of randomized-smoothing scripts
  dsrs export runs/mine --format attacks                  runs/mine.npz: proved counterexamples

formats:
  csv, jsonl, parquet   one row for each input and method, with intervals, radius and proof, without
                        loss; `dsrs check`, `recertify` and `report` read them
  tsv                   radii of one method, with all digits; the class of an abstention is -1
  attacks               NumPy arrays, for inputs with a proved counterexample
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        run=run,
        help="write the results of a run for other programs",
        description="Write the results of a run in a format that other programs read.",
        epilog=EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="run folder of `dsrs certify`")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.exchange", "FORMATS"),
        help="csv, jsonl, parquet, tsv or attacks (default: by the ending of --output; csv without "
        "one)",
    )
    parser.add_argument("--method", help="only this method, such as np or truncated")
    parser.add_argument(
        "--output",
        help="file, or - for standard output; default: beside the run",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files of the same kind")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.exchange import FORMATS, export_run
    from dsrs.store import open_run

    folder = Path(arguments.run_folder)
    arguments.format = arguments.format or _format_by_ending(arguments.output)
    ending = FORMATS[arguments.format].ending
    if arguments.output == "-":
        return _to_standard_output(arguments, ending)
    output = Path(arguments.output or folder.parent / f"{folder.resolve().name}{ending}")
    with open_run(folder) as opened:
        export_run(
            opened, output, arguments.format, arguments.method, overwrite=arguments.overwrite
        )
    print(f"wrote {output}")
    return 0


def _format_by_ending(output: str | None) -> str:
    """The format that the name of the file to write asks for."""
    from dsrs.exchange import FORMATS, format_of

    if output is None or output == "-":
        return "csv"
    found = format_of(Path(output), tables=False)
    if found is None:
        endings = ", ".join(form.ending for form in FORMATS.values())
        raise InvalidInput(
            f"the ending of {output} names no format; end it with one of {endings}, or give "
            "--format"
        )
    return found


def _to_standard_output(arguments: argparse.Namespace, ending: str) -> int:
    """Write the one file of a format to standard output."""
    from tempfile import TemporaryDirectory

    from dsrs.exchange import export_run
    from dsrs.store import open_run

    with TemporaryDirectory() as place, open_run(arguments.run_folder) as opened:
        file = Path(place) / f"run{ending}"
        export_run(opened, file, arguments.format, arguments.method)
        content = file.read_bytes()
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return 0

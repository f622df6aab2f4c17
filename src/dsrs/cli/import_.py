"""`dsrs import`: logs and tables of other programs as a table that this package works with."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands
from dsrs.cli.values import one_of
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.exchange import ImportedFolder, ResultRow

EPILOG = """\
examples:
  dsrs import cohen.tsv --output cohen.csv
  dsrs import logs --output tables
      All logs of the original DSRS scripts in a folder: that above sampling, orig-radius and
      new-radius, or logs/sampling/MODEL.pth for one model of several. With several models, --output
      is a folder, and each has its table there.
  dsrs import logs/landscape_sampling/cohen-mnist-380-1.00.pth/0.0-220.0-62-1000.txt --output a.csv
      Accuracy on spheres of noise, which `dsrs tune --landscape` reads as it is. Logs of
      benign-sampling are read as well.
  dsrs import general-gaussian-380-0.5-50000-0.0005.txt --d 784 \\
      --q-log general-gaussian-380-0.5-50000-0.0005-x.txt --output mnist.csv
      Joins two sampling logs, of P and of Q; then `dsrs recertify mnist.csv` certifies every row,
      and `dsrs report mnist.csv` shows what was certified.

the format is recognised from the content. A TSV log holds radii and no intervals; a DSRS sampling
log holds intervals and no radii.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "import",
        run=run,
        help="read logs and tables of other programs",
        description="Read a log, a folder of logs or a table of another program, check it, and "
        "write it as a table.",
        epilog=EPILOG,
    )
    parser.add_argument("file", help="TSV log, DSRS log or folder of them, CSV, JSONL or Parquet")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.exchange", "FORMATS"),
        help="csv, jsonl, parquet, tsv or dsrs-logs (default: recognised from the content)",
    )
    parser.add_argument(
        "--d",
        action="append",
        default=[],
        metavar="[WORD=]D",
        help="dimension of the input, which DSRS logs do not say; with WORD= that of models with "
        "this word in their names (may be repeated; known: mnist, cifar, tinyimagenet, imagenet)",
    )
    parser.add_argument("--q-log", help="DSRS sampling log of the additional law")
    parser.add_argument("--output", help="table to write: .csv, .jsonl, .parquet or .tsv, also .gz")
    parser.add_argument("--overwrite", action="store_true", help="replace a table of that name")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.exchange import import_rows
    from dsrs.exchange.benign_logs import is_benign_log
    from dsrs.exchange.importing import GIVE_DIMENSION
    from dsrs.exchange.landscape_logs import is_landscape_name
    from dsrs.exchange.log_names import model_dimension

    source = Path(arguments.file)
    if source.is_dir():
        return _import_folder(source, arguments)
    output = Path(arguments.output or source.with_suffix(".csv"))
    if output.exists() and source.exists() and output.samefile(source):
        raise InvalidInput(f"{output} is the file to read; name the table to write with --output")
    _check(output, arguments.overwrite)
    if is_landscape_name(source) or is_benign_log(source):
        return _import_observations(source, output)
    q_log = None if arguments.q_log is None else Path(arguments.q_log)
    d, words = _dimensions(arguments.d)
    d = model_dimension(source.resolve().parent.name, words) if words and d is None else d
    rows = import_rows(source, arguments.format, d=d, q_log=q_log)
    if any(row.d is None and row.for_label and row.p_lower is not None for row in rows):
        raise InvalidInput(f"{source}: {GIVE_DIMENSION}")
    _write(rows, output)
    return 0


def _import_observations(source: Path, output: Path) -> int:
    """Write a log that has no certificates: accuracy on spheres, or answers without an attack."""
    from dsrs.exchange.benign_logs import read_benign_log
    from dsrs.exchange.landscape_logs import is_landscape_name, read_landscape_log
    from dsrs.files.whole import write_whole

    if ".csv" not in output.suffixes:
        raise InvalidInput(f"the table of such a log is a .csv, got {output}")
    if is_landscape_name(source):
        log = read_landscape_log(source)
        columns = zip(log.index.tolist(), log.norm.tolist(), log.accuracy.tolist(), strict=True)
        lines = [f"{index},{norm!r},{share!r},{log.samples}" for index, norm, share in columns]
        head, told = "index,norm,accuracy,votes", f"accuracy on spheres of {log.inputs} inputs"
    else:
        answers = read_benign_log(source)
        lines = [f"{index},{int(right)}" for index, right in answers.items()]
        head = "index,right"
        told = f"{sum(answers.values())} of {len(answers)} answers right"
    write_whole(output, "\n".join([head, *lines, ""]).encode())
    print(f"{len(lines)} rows, {told}: {output}")
    return 0


def _dimensions(given: list[str]) -> tuple[int | None, dict[str, int]]:
    """The dimension of all models, and those of words in the names of models."""
    from dsrs.cli.values import whole_number

    pairs = [text.rpartition("=") for text in given]
    words = {word: whole_number(number) for word, _, number in pairs if word}
    of_all = [whole_number(number) for word, _, number in pairs if not word]
    if len(of_all) > 1:
        raise InvalidInput(f"--d gives two dimensions for all models, {of_all[0]} and {of_all[1]}")
    return (of_all[0] if of_all else None), words


def _import_folder(folder: Path, arguments: argparse.Namespace) -> int:
    from dsrs.exchange import import_folder

    if arguments.q_log is not None or arguments.format not in (None, "dsrs-logs"):
        raise InvalidInput(
            f"{folder} is a folder of DSRS logs; --format and --q-log are for a file"
        )
    if arguments.output:
        output = Path(arguments.output)
    else:
        output = folder.parent / f"{folder.resolve().name}.csv"
    d, words = _dimensions(arguments.d)
    imported = import_folder(folder, d=d, dimensions=words)
    tables = _places(imported, output)
    for path in tables:
        _check(path, arguments.overwrite)
    for path, rows in tables.items():
        _write(rows, path)
    for what, count in sorted(Counter(why for _, why in imported.left_out).items()):
        print(f"left out {count} files: {what}", file=sys.stderr)
        for path in sorted(path for path, why in imported.left_out if why == what):
            print(f"  {os.path.relpath(path, folder)}", file=sys.stderr)
    for path, why in imported.broken:
        print(f"cannot use {path}: {why}", file=sys.stderr)
    return 1 if imported.broken else 0


def _places(imported: ImportedFolder, output: Path) -> dict[Path, list[ResultRow]]:
    """Where the table of each model goes."""
    from dsrs.exchange import format_of

    if format_of(output):
        if len(imported.tables) == 1:
            (rows,) = imported.tables.values()
            return {output: rows}
        models = ", ".join(list(imported.tables)[:3])
        raise InvalidInput(
            f"the folder has logs of {len(imported.tables)} models ({models}, ...); name a folder "
            "for their tables with --output, or read one of them: sampling/MODEL.pth"
        )
    return {output / f"{model}.csv": rows for model, rows in imported.tables.items()}


def _check(output: Path, overwrite: bool) -> None:
    from dsrs.exchange import format_of
    from dsrs.exchange.outputs import check_output

    form = format_of(output)
    if form is None:
        raise InvalidInput(f"--output must end in .csv, .jsonl, .parquet or .tsv, got {output}")
    check_output(output, form, overwrite)


def _write(rows: list[ResultRow], output: Path) -> None:
    from dsrs.exchange import format_of, write_rows

    write_rows(rows, output, format_of(output) or "")
    with_radius = sum(row.radius is not None for row in rows)
    with_interval = sum(row.p_lower is not None for row in rows)
    print(f"{len(rows)} rows, {with_interval} with intervals, {with_radius} with radii: {output}")
    for note, count in Counter(row.note for row in rows if row.note).items():
        print(f"{count} rows: {note}", file=sys.stderr)

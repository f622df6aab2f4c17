"""`dsrs show`, `dsrs export` and `dsrs import`: what a run holds, and tables of other programs."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.options import Commands, one_of
from dsrs.cli.output import input_text, measured, print_json, print_measured
from dsrs.cli.vote_options import add_radii, radii_from
from dsrs.errors import InvalidInput
from dsrs.files import one_line

if TYPE_CHECKING:
    from dsrs.store import Run

# ---- `dsrs show`: what a run folder holds

MOST_NAMES = 12  # classes whose names are shown

SHOW_EPILOG = """\
examples:
  dsrs show runs/mine              settings, progress and certified accuracy
  dsrs show runs/mine --watch 10   the same again whenever an input was finished
  dsrs show runs/mine --index 7    votes and certificates of one input; with --json also proofs
"""


def add_show(commands: Commands) -> None:
    parser = commands.add_parser(
        "show",
        run=run_show,
        help="show what a run folder holds",
        description="Show the settings and results of a run folder; also while it is written.",
        epilog=SHOW_EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="run folder of `dsrs certify`")
    parser.add_argument(
        "--watch",
        type=float,
        metavar="SECONDS",
        help="look again so often, and show the table when it has grown; Ctrl-C ends it",
    )
    add_radii(parser)
    parser.add_argument("--index", type=int, help="one input: its votes and certificates")
    parser.add_argument(
        "--json", action="store_true", help="settings and accuracy, or all of the --index, as JSON"
    )


def run_show(arguments: argparse.Namespace) -> int:
    if arguments.watch is None:
        return _show_once(arguments)
    if not 0 < arguments.watch < math.inf:
        raise InvalidInput(f"`watch` must be a positive number of seconds, got {arguments.watch}")
    if arguments.index is not None or arguments.json:
        raise InvalidInput("--watch shows the table; --index and --json cannot be used with it")
    return _watch(arguments)


def _watch(arguments: argparse.Namespace) -> int:
    from dsrs.store import open_run

    shown = None
    try:
        while True:
            with open_run(arguments.run_folder) as opened:
                finished = len(opened)
            if finished != shown:
                print(time.strftime("%H:%M:%S"))
                _show_once(arguments)
                print(flush=True)
                shown = finished
            time.sleep(arguments.watch)
    except KeyboardInterrupt:
        return 0  # the way to end it


def _show_once(arguments: argparse.Namespace) -> int:
    from dsrs.store import open_run

    with open_run(arguments.run_folder) as opened:
        if arguments.index is not None:
            _show_input(opened, arguments.index, arguments.json)
            return 0
        results, accuracies, spent = measured(opened, radii_from(arguments))
        if arguments.json:
            known = {"config": opened.config, "votes": spent.total, "methods": accuracies}
            print_json("show", known)
        else:
            print(_settings_text(opened) + "\n")
            print_measured(opened, results, accuracies, spent)
    return 0


def _settings_text(opened: Run) -> str:
    from dsrs.laws import WITHOUT_GRID, short_law_text
    from dsrs.measures import expected_false_text

    plan, config, grid = opened.plan, opened.config, opened.sampled_plan.known_grid
    seed = "seed" if plan.seed_public else "seed (drawn for this run)"
    false = expected_false_text(
        plan.alpha, len(opened) * len(plan.methods), plan.family_alpha, plan.family_size
    )
    return "\n".join(
        [
            f"model    {one_line(config['model']['description'])}",
            *_units(config["model"]),
            f"data     {one_line(config['data']['name'])}",
            f"inputs   {_progress(opened)}",
            *_classes(config["data"].get("class_names") or ()),
            f"noise    {plan.law.describe()}" + (f", grid {grid.text}" if grid else ""),
            *([] if grid else [f"         {WITHOUT_GRID}"]),
            f"votes    n = {plan.n:,}, alpha = {plan.alpha:.3g}, {seed} = {plan.seed}",
            f"false    {false}",
            f"methods  {', '.join(map(short_law_text, plan.names))}",
            f"started  {', '.join(session['started'] for session in opened.sessions)}",
        ]
    )


def _progress(opened: Run) -> str:
    """How many inputs are finished, of how many the run was asked for, where it says that."""
    finished, asked = set(opened.indices()), opened.asked
    if asked is None or asked <= finished:
        return f"{len(finished)}, all finished" if asked is not None else f"{len(finished)}"
    return f"{len(finished)} of {len(finished | asked)} finished"


def _units(model: Mapping[str, Any]) -> list[str]:
    """What a radius is measured in, where each feature has a unit of its own."""
    if not model.get("scaling"):
        return []
    return [
        "units    sigma, grid and radii are in scaled units: feature j changes by r unit_j at most "
        "if it changes alone"
    ]


def _classes(names: Sequence[str]) -> list[str]:
    """The names of the classes, the first ones if they are many."""
    if not names:
        return []
    few = [f"{number} {one_line(name)}" for number, name in enumerate(names[:MOST_NAMES])]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return [f"classes  {', '.join(few)}{more}"]


def _show_input(opened: Run, index: int, as_json: bool) -> None:
    from dsrs.store import attacked_inputs

    result = opened.result(index)
    attacked = attacked_inputs(opened).get(index)
    if not as_json:
        names = opened.config["data"].get("class_names") or ()
        print(input_text(result, names, attacked))
        return
    fields = result.sampled.to_dict() | {"certificates": result.certificates}
    fields |= {} if attacked is None else {"attack": attacked}
    print_json("show-index", fields)


# ---- `dsrs export`: the results of a run in a format that other programs read

EXPORT_EPILOG = """\
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


def add_export(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        run=run_export,
        help="write the results of a run for other programs",
        description="Write the results of a run in a format that other programs read.",
        epilog=EXPORT_EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="run folder of `dsrs certify`")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.exchange", "FORMATS"),
        help="csv, jsonl, parquet, tsv, attacks or proof (default: by the ending of --output; csv "
        "without one)",
    )
    parser.add_argument("--method", help="only this method, such as np or truncated")
    parser.add_argument(
        "--output",
        help="file, or - for standard output; default: beside the run",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files of the same kind")


def run_export(arguments: argparse.Namespace) -> int:
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


# ---- `dsrs import`: tables of other programs as a table that this package works with

IMPORT_EPILOG = """\
examples:
  dsrs import cohen.tsv --output cohen.csv
      Then `dsrs report cohen.csv` shows what was certified.

the format is recognised from the content. A TSV log holds radii and no intervals.
"""


def add_import(commands: Commands) -> None:
    parser = commands.add_parser(
        "import",
        run=run_import,
        help="read tables of other programs",
        description="Read a log or a table of another program, check it, and write it as a table.",
        epilog=IMPORT_EPILOG,
    )
    parser.add_argument("file", help="TSV log, CSV, JSONL or Parquet")
    parser.add_argument(
        "--format",
        type=one_of("dsrs.exchange", "FORMATS"),
        help="csv, jsonl, parquet or tsv (default: recognised from the content)",
    )
    parser.add_argument("--output", help="table to write: .csv, .jsonl, .parquet or .tsv, also .gz")
    parser.add_argument("--overwrite", action="store_true", help="replace a table of that name")


def run_import(arguments: argparse.Namespace) -> int:
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


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_show(commands)
    add_export(commands)
    add_import(commands)

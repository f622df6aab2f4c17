"""`dsrs paper tables`, `figures`, `time` and `opt`: the paper's numbers, computed again."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying.progress import Progress
from dsrs.cli.options import Command, Commands
from dsrs.cli.tables import table
from dsrs.cli.values import one_of
from dsrs.errors import DataError, InvalidInput, NotRecorded
from dsrs.files.new_file import check_figure, check_new_file
from dsrs.files.whole import write_whole

if TYPE_CHECKING:
    from dsrs.paper.logs import LogFolder
    from dsrs.paper.recorded import RecordedRun
    from dsrs.paper.recorded_accuracy import RadiiOf
    from dsrs.paper.source import RecordedSource


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser("paper", help="the paper's tables and figures, computed again")
    verbs = parser.add_subparsers()
    _add_tables(verbs)
    _add_figures(verbs)
    _add_time(verbs)
    _add_opt(verbs)


def _add_tables(verbs: Commands) -> None:
    tables = verbs.add_parser(
        "tables",
        run=run_tables,
        help="the paper's tables beside ours, from the recorded intervals",
        description="Recertify every recorded input and print the paper's tables: its figure, "
        "ours, and the gain. Exit code 1 if a cell falls short of the paper's figure by more than "
        "one input of a thousand, or a log is damaged or has not all of the paper's inputs.",
    )
    _add_source(tables)
    tables.add_argument(
        "--table",
        type=one_of("dsrs.paper.published", "TITLES"),
        action="append",
        help="best-over-sigma, per-sigma, variants, truncation-choice or acr (may be repeated)",
    )
    tables.add_argument(
        "--radii",
        choices=("recertified", "recorded"),
        default="recertified",
        help="recertified (default): solve again; recorded: take the radii of the record",
    )
    tables.add_argument(
        "--format",
        type=one_of("dsrs.paper.table_formats", "PAPER_TABLE_FORMATS"),
        default="text",
        help="text (default), markdown, latex, csv or json",
    )
    tables.add_argument("--output", type=Path, metavar="FILE", help="write to a file")
    tables.add_argument("--overwrite", action="store_true", help="replace a text of that name")


def _add_figures(verbs: Commands) -> None:
    figures = verbs.add_parser(
        "figures",
        run=run_figures,
        help="the paper's figures, redrawn",
        description="Redraw the paper's figures that show data: dimension, relaxed, theorem-1, "
        "multiclass, probability-plane, densities and ideal-bound from nothing; votes, curves, "
        "class-probability, noise-norm and heuristic from recorded data. What cannot be drawn is "
        "left out and said, a damaged log costs what rests on it alone; exit code 1 if a figure "
        "was asked for by name, or a file is damaged.",
    )
    _add_source(figures)
    figures.add_argument(
        "--figure",
        metavar="NAME",
        type=one_of("dsrs.paper.figures.catalogue", "PAPER_FIGURES"),
        action="append",
        help="one figure (may be repeated)",
    )
    figures.add_argument(
        "--output",
        type=Path,
        default=Path("figures"),
        metavar="DIR",
        help="folder to draw into (default: figures)",
    )
    figures.add_argument("--overwrite", action="store_true", help="replace figures of that name")
    figures.add_argument(
        "--format", choices=("png", "pdf", "svg"), default="png", help="kind of the files"
    )


def _add_time(verbs: Commands) -> None:
    times = verbs.add_parser(
        "time",
        run=run_time,
        help="seconds a certificate takes, beside the paper's",
        description="Certify recorded inputs one after another on one thread, from P alone and "
        "from P and truncated Q, and print the mean seconds beside the paper's.",
    )
    _add_source(times)
    times.add_argument("--inputs", default=200, metavar="N", help="inputs of each data set")


def _add_opt(verbs: Commands) -> None:
    opt = verbs.add_parser(
        "opt",
        run=run_opt,
        help="truncation by heuristic against truncation by optimisation, on a trained model",
        description="Choose T for each input by the heuristic and by the appendix's optimisation "
        "(Opt), certify both from fresh votes, and print the radii.",
    )
    opt.add_argument("--model", type=Path, required=True, metavar="DIR", help="from `dsrs train`")
    opt.add_argument("--data", type=Path, required=True, metavar="PATH", help="labelled test data")
    opt.add_argument("--inputs", default=30, metavar="N", help="inputs, spread over the data")
    opt.add_argument("--votes", default=10_000, help="votes under P, and under each Q")
    opt.add_argument("--alpha", default=0.001, help="failure probability of a certificate")
    opt.add_argument("--seed", default=0, help="same seed, same votes")
    opt.add_argument("--weight", type=float, help="weight lambda of Opt (default: the paper's)")
    opt.add_argument("--steps", type=int, help="steps of Opt (default: the paper's)")
    opt.add_argument("--samples", type=int, help="samples of a step of Opt (default: the paper's)")
    opt.add_argument("--quiet", action="store_true", help="no progress")


def run_tables(arguments: argparse.Namespace) -> int:
    from dsrs.duality.kernel import prepare
    from dsrs.paper.published import TITLES
    from dsrs.paper.recorded_accuracy import TEST_INPUTS, RecordedAccuracy
    from dsrs.paper.table_formats import PAPER_TABLE_FORMATS
    from dsrs.paper.table_runs import runs_needed
    from dsrs.paper.tables import compare_tables

    if arguments.output is not None:
        check_new_file(arguments.output, arguments.overwrite)
    source = _needed_source(arguments, "the tables")
    recorded = source.recorded
    wanted = arguments.table or list(TITLES)
    needed = runs_needed(recorded.runs, wanted)
    _report_files(recorded, needed, arguments.quiet)
    alone = runs_needed(recorded.radii, wanted)
    if arguments.radii == "recorded":
        accuracy = RecordedAccuracy(needed, alone=alone)
        cells = compare_tables(accuracy, wanted)
    else:
        total = sum(len(run) for run in needed)
        prepare(total)
        with Progress(total, "recertifying", quiet=arguments.quiet) as progress:
            accuracy = RecordedAccuracy(needed, _solver(progress), alone)
            cells = compare_tables(accuracy, wanted)
    for name, inputs in accuracy.cut:
        print(f"left out {name.text}: {inputs} of {TEST_INPUTS:,} inputs", file=sys.stderr)
    text = PAPER_TABLE_FORMATS[arguments.format](cells)
    if arguments.output is None:
        print(text, end="")
    else:
        write_whole(arguments.output, text.encode("utf-8"))
    sound = not (recorded.broken or accuracy.cut or any(cell.short for cell in cells))
    return 0 if sound else 1


def run_figures(arguments: argparse.Namespace) -> int:
    from dsrs.paper.figures.catalogue import PAPER_FIGURES, FigureWithoutData
    from dsrs.paper.noise_norm_logs import EMPTY

    paths = {
        name: arguments.output / f"{name}.{arguments.format}"
        for name in arguments.figure or PAPER_FIGURES
    }
    for path in paths.values():
        check_figure(path, arguments.overwrite)
    source = _source(arguments)
    code = 0
    unused: dict[Path, str] = {}
    for name, path in paths.items():
        figure = PAPER_FIGURES[name]
        try:
            if isinstance(figure, FigureWithoutData):
                figure.draw(path)
            elif source is None:
                raise NotRecorded("it needs --logs DIR or --reference DIR")
            else:
                with Progress(None, f"recertifying for {name}", arguments.quiet) as progress:
                    unused |= figure.draw(path, source, _solver(progress))
        except DataError as error:
            # The others are drawn; data that was never there is no failure, unless asked for.
            missing = isinstance(error, NotRecorded) and not arguments.figure
            print(f"left out {name}: {error}", file=sys.stderr)
            code = code if missing else 1
        else:
            print(path)
    for log, why in unused.items():
        print(f"cannot use {log}: {why}", file=sys.stderr)
    return 1 if any(why != EMPTY for why in unused.values()) else code


def run_time(arguments: argparse.Namespace) -> int:
    from dsrs.duality.kernel import compile_kernels, switch
    from dsrs.paper.certification_time import TIME_HEADS, certification_time, runs_to_time

    source = _needed_source(arguments, "the times")
    if arguments.inputs < 1:
        raise InvalidInput(f"`--inputs` must be at least 1, got {arguments.inputs}")
    if switch() != "interpreted":
        compile_kernels()  # before the clock starts
    runs = runs_to_time(source.recorded.runs)
    with Progress(None, "certifying", quiet=arguments.quiet) as progress:
        times = [
            certification_time(run, arguments.inputs, source.logs, progress.advance) for run in runs
        ]
    print(table([timed.cells() for timed in times], TIME_HEADS))
    return 0


def run_opt(arguments: argparse.Namespace) -> int:
    from dsrs.datasets import load_dataset
    from dsrs.paper.opt_comparison import COMPARED_HEADS, Votes, compare_on, mean_radii_text
    from dsrs.paper.opt_truncation import OptSettings

    given = {name: getattr(arguments, name) for name in ("weight", "steps", "samples")}
    settings = OptSettings(**{name: value for name, value in given.items() if value is not None})
    compared = compare_on(
        arguments.model,
        load_dataset(arguments.data),
        arguments.inputs,
        Votes(arguments.votes, arguments.alpha, arguments.seed),
        settings,
    )
    rows = []
    with Progress(arguments.inputs, "certifying", quiet=arguments.quiet) as progress:
        for row in compared:
            rows.append(row)
            progress.advance()
    print(table([row.cells() for row in rows], COMPARED_HEADS))
    print(mean_radii_text(rows))
    return 0


def _add_source(parser: Command) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--logs", type=Path, metavar="DIR", help="the public logs: the folder that holds `sampling`"
    )
    source.add_argument(
        "--reference", type=Path, metavar="DIR", help="the same runs as compact .csv.gz tables"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _source(arguments: argparse.Namespace) -> RecordedSource | None:
    from dsrs.paper.source import CompactTables, PublicLogs

    if arguments.reference is not None:
        return CompactTables(arguments.reference)
    return None if arguments.logs is None else PublicLogs(arguments.logs)


def _needed_source(arguments: argparse.Namespace, what: str) -> RecordedSource:
    source = _source(arguments)
    if source is None:
        raise InvalidInput(f"{what} need recorded intervals: give --logs DIR or --reference DIR")
    return source


def _report_files(recorded: LogFolder, needed: Sequence[RecordedRun], quiet: bool) -> None:
    """Name the files that could not be read; count those left out and the rows with a note."""
    for path, reason in recorded.broken:
        print(f"cannot use {path}: {reason}", file=sys.stderr)
    if recorded.left_out and not quiet:
        count = len(recorded.left_out)
        print(f"left out {count} logs of other norms, rules or data sets", file=sys.stderr)
    notes = Counter(note for run in needed for note in run.notes.values())
    for note, count in notes.items():
        print(f"{count} rows: {note}", file=sys.stderr)


def _solver(progress: Progress) -> RadiiOf:
    from dsrs.paper.recertify import recertified_radii

    return lambda run: recertified_radii(run, progress.advance)

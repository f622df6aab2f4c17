"""The commands of `python -m reproduction`: the paper's numbers, computed again."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsrs.certifying import Progress
from dsrs.cli import table
from dsrs.duality import compile_kernels, prepare, switch
from dsrs.errors import DataError, DsrsError, InvalidInput, NotRecorded
from dsrs.files import check_figure, check_new_file, write_whole
from reproduction.recorded import RecordedRun, recertified_radii
from reproduction.recorded_logs import EMPTY, LogFolder
from reproduction.sources import CompactTables, PublicLogs, RecordedSource
from reproduction.table_formats import PAPER_TABLE_FORMATS
from reproduction.tables import (
    TEST_INPUTS,
    TITLES,
    RadiiOf,
    RecordedAccuracy,
    compare_tables,
    runs_needed,
)
from reproduction.theory import CHECKS, Checked

THEORY = """\
Checks of the paper's theorems, computed here and not taken from it:
  1  in the plane, Q on the decision region certifies the true radius, corners or not
  multiclass  its corollary: with C classes, C - 1 additional laws do
  2  under concentration the radius grows at least like 0.02 sigma sqrt(d), for every m
  gamma  the table of GammaCDF_m(0.98 m) in the proof of Theorem 2
  6  for constant k no method can certify c sqrt(d)
  norms  noise that is round in l1 or l-infinity (appendix F.3), beside l2 noise
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    arguments = parser().parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except DsrsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    verbs = top.add_subparsers(required=True, metavar="COMMAND")
    _add_tables(verbs)
    _add_figures(verbs)
    _add_theory(verbs)
    _add_opt(verbs)
    _add_time(verbs)
    return top


def _add_tables(verbs: Any) -> None:
    tables = verbs.add_parser(
        "tables",
        help="the paper's tables beside ours, from the recorded intervals",
        description="Recertify every recorded input and print the paper's tables: its figure, "
        "ours, and the gain. Exit code 1 if a cell falls short of the paper's figure by more than "
        "one input of a thousand, or a log is damaged or has not all of the paper's inputs.",
    )
    tables.set_defaults(run=run_tables)
    _add_source(tables)
    tables.add_argument("--table", choices=TITLES, action="append", help="may be repeated")
    tables.add_argument(
        "--radii",
        choices=("recertified", "recorded"),
        default="recertified",
        help="recertified (default): solve again; recorded: take the radii of the record",
    )
    tables.add_argument("--format", choices=PAPER_TABLE_FORMATS, default="text")
    tables.add_argument("--output", type=Path, metavar="FILE", help="write to a file")
    tables.add_argument("--overwrite", action="store_true", help="replace a text of that name")


def _add_figures(verbs: Any) -> None:
    figures = verbs.add_parser(
        "figures",
        help="the paper's figures, redrawn",
        description="Redraw the paper's figures that show data: dimension, relaxed, theorem-1, "
        "multiclass, probability-plane, densities and ideal-bound from nothing; votes, curves, "
        "class-probability, noise-norm and heuristic from recorded data. What cannot be drawn is "
        "left out and said, a damaged log costs what rests on it alone; exit code 1 if a figure "
        "was asked for by name, or a file is damaged.",
    )
    figures.set_defaults(run=run_figures)
    _add_source(figures)
    figures.add_argument(
        "--figure", metavar="NAME", action="append", help="one figure (may be repeated)"
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


def _add_theory(verbs: Any) -> None:
    theory = verbs.add_parser(
        "theory",
        help="check the paper's theorems numerically",
        description=THEORY,
        epilog="exit code 1 if a check fails",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    theory.set_defaults(run=run_theory)
    theory.add_argument("--only", choices=CHECKS, action="append", help="may be repeated")
    theory.add_argument("--json", action="store_true", help="numbers for programs")


def _add_time(verbs: Any) -> None:
    times = verbs.add_parser(
        "time",
        help="seconds a certificate takes, beside the paper's",
        description="Certify recorded inputs one after another on one thread, from P alone and "
        "from P and truncated Q, and print the mean seconds beside the paper's.",
    )
    times.set_defaults(run=run_time)
    _add_source(times)
    times.add_argument(
        "--inputs", type=int, default=200, metavar="N", help="inputs of each data set"
    )


def _add_opt(verbs: Any) -> None:
    opt = verbs.add_parser(
        "opt",
        help="truncation by heuristic against truncation by optimisation, on a trained model",
        description="Choose T for each input by the heuristic and by the appendix's optimisation "
        "(Opt), certify both from fresh votes, and print the radii.",
    )
    opt.set_defaults(run=run_opt)
    opt.add_argument("--model", type=Path, required=True, metavar="DIR", help="from `dsrs train`")
    opt.add_argument("--data", type=Path, required=True, metavar="PATH", help="labelled test data")
    opt.add_argument("--inputs", type=int, default=30, metavar="N", help="spread over the data")
    opt.add_argument("--votes", type=int, default=10_000, help="votes under P, and under each Q")
    opt.add_argument("--alpha", type=float, default=0.001, help="of a certificate")
    opt.add_argument("--seed", type=int, default=0, help="same seed, same votes")
    opt.add_argument("--weight", type=float, help="weight lambda of Opt (default: the paper's)")
    opt.add_argument("--steps", type=int, help="steps of Opt (default: the paper's)")
    opt.add_argument("--samples", type=int, help="samples of a step of Opt (default: the paper's)")
    opt.add_argument("--quiet", action="store_true", help="no progress")


def run_tables(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_new_file(arguments.output, arguments.overwrite)
    recorded = _needed_source(arguments, "the tables").recorded
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
    from reproduction.figures import PAPER_FIGURES, FigureWithoutData

    names = arguments.figure or list(PAPER_FIGURES)
    unknown = [name for name in names if name not in PAPER_FIGURES]
    if unknown:
        known = ", ".join(PAPER_FIGURES)
        raise InvalidInput(f"`--figure` must be one of {known}, got {unknown[0]!r}")
    paths = {name: arguments.output / f"{name}.{arguments.format}" for name in names}
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


def run_theory(arguments: argparse.Namespace) -> int:
    document: dict[str, Any] = {}
    for name in dict.fromkeys(arguments.only or CHECKS):
        checked = CHECKS[name]()
        document[name] = {"holds": checked.holds, "numbers": checked.numbers}
        if not arguments.json:
            print(_text(checked))
    if arguments.json:
        print(json.dumps(document, indent=2, allow_nan=False))
    return 0 if all(entry["holds"] for entry in document.values()) else 1


def run_time(arguments: argparse.Namespace) -> int:
    from reproduction.times import TIME_HEADS, certification_time, runs_to_time

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
    from reproduction.opt import COMPARED_HEADS, OptSettings, Votes, compare_on, mean_radii_text

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


def _add_source(verb: argparse.ArgumentParser) -> None:
    source = verb.add_mutually_exclusive_group()
    source.add_argument(
        "--logs", type=Path, metavar="DIR", help="the public logs: the folder that holds `sampling`"
    )
    source.add_argument(
        "--reference", type=Path, metavar="DIR", help="the same runs as compact .csv.gz tables"
    )
    verb.add_argument("--quiet", action="store_true", help="no progress")


def _source(arguments: argparse.Namespace) -> RecordedSource | None:
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
    return lambda run: recertified_radii(run, progress.advance)


def _text(checked: Checked) -> str:
    tables = [f"{shown.title}\n{table(shown.rows, shown.heads)}" for shown in checked.tables]
    return "\n\n".join(tables) + f"\n=> {'holds' if checked.holds else 'FAILS'}\n"


if __name__ == "__main__":
    sys.exit(main())

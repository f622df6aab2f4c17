"""`dsrs recertify` and `dsrs merge`: runs from votes that others have taken."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_workers
from dsrs.cli.options import Commands
from dsrs.cli.output import accuracy_table, print_json, table
from dsrs.errors import DataError, InvalidInput
from dsrs.files import ENCODING, KEPT_BYTES, CsvRow, open_csv, whole_file
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.proofs import RowOutcome

# ---- `dsrs recertify`: certificates for a table of intervals, or again for a run's saved votes

MOST_ERRORS_SHOWN = 20

RECERTIFY_DESCRIPTION = """\
Certify every row of a table of intervals (CSV, also .gz), or certify a run again from its saved
votes.

A table needs the columns d, k, sigma, p_lower, p_upper and, for double sampling, q_law (such as
truncated:0.8 or rescaled:0.4), q_lower, q_upper; eta is optional (2). Instead of q_law there may
be q_shape (truncated or rescaled) and q_value (share of the mass, or sigma of Q). All other
columns are kept; np_radius, certified_radius, lambda_p, lambda_q, dual_bound, status and proof
(every step, for `dsrs check`) are appended. Rows are read and written one after another: memory
does not grow with the table, and Ctrl-C keeps the finished rows. A bad row is reported with its
line number and does not stop the others.
"""


def add_recertify(commands: Commands) -> None:
    parser = commands.add_parser(
        "recertify",
        run=run_recertify,
        help="certify a table of intervals, or a run again from its saved votes",
        description=RECERTIFY_DESCRIPTION,
        epilog="examples:\n  dsrs recertify intervals.csv.gz --output radii.csv\n"
        "  dsrs recertify runs/mine --alpha 0.01 --output runs/mine-alpha-0.01",
    )
    parser.add_argument("source", help="a table (.csv, .csv.gz) or a run folder")
    parser.add_argument("--output", help="a .csv or .csv.gz file; for a run also a new run folder")
    parser.add_argument("--overwrite", action="store_true", help="replace a table of that name")
    add_workers(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    again = parser.add_argument_group("for a run folder")
    again.add_argument("--alpha", type=float, help="another failure probability")
    again.add_argument("--method", help="one method of the run alone, such as np or tailored")
    again.add_argument(
        "--q",
        action="append",
        metavar="LAW",
        help="another additional law, such as truncated:0.8; give it again for several",
    )


def run_recertify(arguments: argparse.Namespace) -> int:
    from dsrs.exchange import check_output, format_of

    source = Path(arguments.source)
    if source.is_dir():
        return _recertify_run(arguments)
    if arguments.alpha is not None or arguments.method or arguments.q:
        raise InvalidInput("--alpha, --method and --q need a run folder, which has the votes")
    if not arguments.output:
        raise InvalidInput("--output is needed for a table: where shall the rows go?")
    target = Path(arguments.output)
    if target.exists() and source.exists() and target.samefile(source):
        raise InvalidInput("--output must not be the table itself")
    if format_of(target) != "csv":
        raise InvalidInput(f"--output of a table must end in .csv or .csv.gz, got {target}")
    check_output(target, "csv", arguments.overwrite)
    return _recertify_table(source, target, arguments)


def _recertify_run(arguments: argparse.Namespace) -> int:
    from dsrs.certifying import recertify_run
    from dsrs.store import open_run

    methods = recertify_run(
        arguments.source,
        alpha=arguments.alpha,
        method=arguments.method,
        q=arguments.q,
        output=arguments.output,
        overwrite=arguments.overwrite,
        progress=lambda total: Progress(total, "certifying again", quiet=arguments.quiet),
    )
    if arguments.json:
        print_json("recertify-run", methods)
        return 0
    with open_run(arguments.source) as saved:
        labelled = bool(saved.config["data"]["labels"])
    print(accuracy_table(methods, labelled))
    return 0


@dataclass
class Tally:
    """What a table's rows came to.

    `compared` rows know something of P_A: only they have a Neyman-Pearson radius to compare with.
    """

    rows: int = 0
    certified: int = 0
    errors: int = 0
    total: float = 0.0
    compared: int = 0
    improved: int = 0
    np_total: float = 0.0
    compared_total: float = 0.0


def _recertify_table(source: Path, target: Path, arguments: argparse.Namespace) -> int:
    from dsrs.duality import prepare
    from dsrs.proofs import REQUIRED_COLUMNS, RESULT_COLUMNS

    with open_csv(source) as rows:
        count = sum(1 for _ in rows.rows)
    tally = Tally()
    began = time.monotonic()
    interrupted = False
    with ExitStack() as stack:
        table_file = stack.enter_context(open_csv(source))
        missing = [name for name in REQUIRED_COLUMNS if name not in table_file.header]
        if missing:
            raise DataError(f"{source} lacks the column(s) {', '.join(missing)}")
        kept = [name for name in table_file.header if name not in RESULT_COLUMNS]
        writer = csv.writer(stack.enter_context(_writing(target)), lineterminator="\n")
        writer.writerow([*kept, *RESULT_COLUMNS])
        prepare(count)
        bar = stack.enter_context(Progress(count, "certifying", quiet=arguments.quiet))
        try:
            for row, outcome in _outcomes(table_file.rows, arguments.workers):
                fields = outcome.fields()
                _count(tally, fields, row.line)
                values = [row.cells.get(name, "") for name in kept]
                writer.writerow([*values, *(fields[name] for name in RESULT_COLUMNS)])
                bar.advance()
        except KeyboardInterrupt:
            interrupted = True
    _report(tally, target, time.monotonic() - began, arguments.json)
    if interrupted:
        raise KeyboardInterrupt
    return 1 if tally.errors else 0


def _outcomes(rows: Iterator[CsvRow], workers: int | None) -> Iterator[tuple[CsvRow, RowOutcome]]:
    """Each row with its outcome, in order; a row that could not be read has its reason already."""
    from dsrs.proofs import RowOutcome, certify_rows

    waiting: deque[CsvRow] = deque()

    def readable() -> Iterator[dict[str, str]]:
        for row in rows:
            waiting.append(row)
            if row.error is None:
                yield row.cells

    for outcome in certify_rows(readable(), workers):
        while waiting[0].error is not None:
            yield (bad := waiting.popleft()), RowOutcome(None, bad.error)
        yield waiting.popleft(), outcome
    for bad in waiting:
        yield bad, RowOutcome(None, bad.error)


def _count(tally: Tally, fields: dict[str, Any], line: int) -> None:
    tally.rows += 1
    if str(fields["status"]).startswith("error"):
        tally.errors += 1
        if tally.errors <= MOST_ERRORS_SHOWN:
            print(f"line {line}: {fields['status']}", file=sys.stderr)
        elif tally.errors == MOST_ERRORS_SHOWN + 1:
            print("more bad rows follow; see the column `status`", file=sys.stderr)
        return
    radius, np_radius = fields["certified_radius"], fields["np_radius"]
    tally.total += radius
    tally.certified += radius > 0
    if np_radius != "":
        tally.compared += 1
        tally.np_total += np_radius
        tally.compared_total += radius
        tally.improved += radius > np_radius


def _report(tally: Tally, target: Path, seconds: float, as_json: bool) -> None:
    good, compared = max(tally.rows - tally.errors, 1), max(tally.compared, 1)
    if as_json:
        summary = {
            "rows": tally.rows,
            "errors": tally.errors,
            "certified": tally.certified,
            "mean_certified_radius": tally.total / good,
            "compared": tally.compared,
            "improved": tally.improved,
            "mean_np_radius": tally.np_total / compared,
            "mean_compared_radius": tally.compared_total / compared,
            "seconds": seconds,
            "output": str(target),
        }
        print_json("recertify-table", summary)
        return
    rows = [
        ["Neyman-Pearson", floor_text(tally.np_total / compared, 6), "-"],
        ["double sampling", floor_text(tally.compared_total / compared, 6), f"{tally.improved:,}"],
    ]
    if tally.compared:
        print(table(rows, ["certificate", "mean radius", "rows improved"]))
    others = tally.rows - tally.errors - tally.compared
    if others:
        mean = floor_text((tally.total - tally.compared_total) / others, 6)
        print(
            f"{others:,} rows know nothing of P_A, so that Neyman-Pearson has no radius to compare "
            f"with: mean radius {mean}"
        )
    print(
        f"\n{tally.rows:,} rows, {tally.certified:,} certified, {tally.errors:,} bad, "
        f"in {seconds:.1f} s; written to {target}"
    )


@contextmanager
def _writing(path: Path) -> Iterator[IO[str]]:
    """A table that appears whole at the end, compressed if its name ends in .gz."""
    with whole_file(path) as stream, ExitStack() as stack:
        raw: IO[bytes] | gzip.GzipFile = stream
        if path.suffix == ".gz":
            # Without a name and a time inside, the same rows give the same bytes.
            raw = stack.enter_context(gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
        text = io.TextIOWrapper(raw, ENCODING, KEPT_BYTES, newline="")
        yield text
        text.detach()


# ---- `dsrs merge`: the parts of a run as one run

MERGE_EPILOG = """\
examples:
  dsrs certify ... --shard 3/16 --output runs/part-3    one job of an array of 16
  dsrs merge runs/part-* --output runs/all              when they have ended; again for more

The merged run is, bit for bit, what one `dsrs certify` over all inputs gives, but for the seconds.
Runs of different settings, models or data are refused, and so are inputs that differ between two
parts; nothing is written then. The parts are not changed.
"""


def add_merge(commands: Commands) -> None:
    parser = commands.add_parser(
        "merge",
        run=run_merge,
        help="put the parts of a run together",
        description="Copy the inputs of several runs of the same settings into one run folder.",
        epilog=MERGE_EPILOG,
    )
    parser.add_argument("parts", nargs="+", metavar="RUN", help="run folders of the same settings")
    parser.add_argument(
        "--output", required=True, help="new run folder, or one of these settings to add to"
    )


def run_merge(arguments: argparse.Namespace) -> int:
    from dsrs.store import merge_runs

    done = merge_runs(arguments.parts, arguments.output)
    twice = f", {done.repeated:,} of them in several parts" if done.repeated else ""
    print(f"{done.inputs:,} inputs, {done.added:,} added{twice}: {arguments.output}")
    return 0


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_recertify(commands)
    add_merge(commands)

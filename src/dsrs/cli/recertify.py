"""`dsrs recertify`: certificates for a table of intervals, or again for a run's saved votes."""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from dsrs.cli.accuracy_table import accuracy_table
from dsrs.cli.progress import Progress
from dsrs.cli.tables import floor_digits, table
from dsrs.errors import DataError, InvalidInput
from dsrs.table import REQUIRED_COLUMNS, RESULT_COLUMNS, RowOutcome, certify_rows

MOST_ERRORS_SHOWN = 20

DESCRIPTION = """\
Certify every row of a table of intervals (CSV, also .gz), or certify a run again from its saved
votes.

A table needs the columns d, k, sigma, p_lower, p_upper and, for double sampling, q_law (such as
truncated:0.8 or rescaled:0.4), q_lower, q_upper; eta is optional (2). Instead of q_law there may
be q_shape (truncated or rescaled) and q_value (share of the mass, or sigma of Q). All other
columns are kept; np_radius, certified_radius, lambda_p, lambda_q, dual_bound and status are
appended. Rows are read and written one after another: memory does not grow with the table, and
Ctrl-C keeps the finished rows. A bad row is reported with its line number and does not stop the
others.
"""


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser(
        "recertify",
        help="certify a table of intervals, or a run again from its saved votes",
        description=DESCRIPTION,
        epilog="examples:\n  dsrs recertify intervals.csv.gz --output radii.csv\n"
        "  dsrs recertify runs/mine --alpha 0.01 --output runs/mine-alpha-0.01",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", help="a table (.csv, .csv.gz) or a run folder")
    parser.add_argument("--output", help="a .csv or .csv.gz file; for a run also a new run folder")
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    again = parser.add_argument_group("for a run folder")
    again.add_argument("--alpha", type=float, help="another failure probability")
    again.add_argument("--method", help="one method alone: np, truncated or rescaled")
    again.add_argument("--q", action="append", metavar="LAW", help="other additional laws")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    source = Path(arguments.source)
    if arguments.workers is not None and arguments.workers < 1:
        raise InvalidInput(f"--workers must be at least 1, got {arguments.workers}")
    if source.is_dir():
        return _recertify_run(arguments)
    if arguments.alpha is not None or arguments.method or arguments.q:
        raise InvalidInput("--alpha, --method and --q need a run folder, which has the votes")
    if not arguments.output:
        raise InvalidInput("--output is needed for a table: where shall the rows go?")
    target = Path(arguments.output)
    if target.exists() and target.samefile(source):
        raise InvalidInput("--output must not be the table itself")
    return _recertify_table(source, target, arguments)


def _recertify_run(arguments: argparse.Namespace) -> int:
    from dsrs.runs import open_run
    from dsrs.runs.recertify import recertify_run

    methods = recertify_run(
        arguments.source,
        alpha=arguments.alpha,
        method=arguments.method,
        q=arguments.q,
        output=arguments.output,
        progress=lambda total: Progress(total, "certifying again", quiet=arguments.quiet),
    )
    if arguments.json:
        print(json.dumps([method.to_dict() for method in methods]))
        return 0
    with open_run(arguments.source) as saved:
        labelled = bool(saved.config["data"]["labels"])
    print(accuracy_table(methods, labelled))
    return 0


@dataclass
class Tally:
    """What a table's rows came to."""

    rows: int = 0
    certified: int = 0
    improved: int = 0
    np_total: float = 0.0
    total: float = 0.0
    errors: int = 0


def _recertify_table(source: Path, target: Path, arguments: argparse.Namespace) -> int:
    count = _count_rows(source)
    tally = Tally()
    began = time.monotonic()
    interrupted = False
    with ExitStack() as stack:
        reader = csv.DictReader(stack.enter_context(_open(source, "rt")))
        header = list(reader.fieldnames or [])
        missing = [name for name in REQUIRED_COLUMNS if name not in header]
        if missing:
            raise DataError(f"{source} lacks the column(s) {', '.join(missing)}")
        kept = [name for name in header if name not in RESULT_COLUMNS]
        writer = csv.writer(stack.enter_context(_open(target, "wt")), lineterminator="\n")
        writer.writerow([*kept, *RESULT_COLUMNS])
        bar = stack.enter_context(Progress(count, "certifying", quiet=arguments.quiet))
        waiting: list[tuple[int, dict[str, Any]]] = []

        def rows() -> Iterator[dict[str, Any]]:
            for row in reader:
                waiting.append((reader.line_num, row))
                yield row

        try:
            for outcome in certify_rows(rows(), arguments.workers):
                line, row = waiting.pop(0)
                if None in row or None in row.values():
                    outcome = RowOutcome(None, f"expected {len(header)} fields, as in the header")
                fields = outcome.fields()
                _count(tally, fields, line)
                values = [row.get(name) for name in kept]
                writer.writerow([*values, *(_text(fields[name]) for name in RESULT_COLUMNS)])
                bar.advance()
        except KeyboardInterrupt:
            interrupted = True
    _report(tally, target, time.monotonic() - began, arguments.json)
    if interrupted:
        raise KeyboardInterrupt
    return 1 if tally.errors else 0


def _count(tally: Tally, fields: dict[str, Any], line: int) -> None:
    tally.rows += 1
    if str(fields["status"]).startswith("error"):
        tally.errors += 1
        if tally.errors <= MOST_ERRORS_SHOWN:
            print(f"line {line}: {fields['status']}", file=sys.stderr)
        elif tally.errors == MOST_ERRORS_SHOWN + 1:
            print("more bad rows follow; see the column `status`", file=sys.stderr)
        return
    tally.np_total += fields["np_radius"]
    tally.total += fields["certified_radius"]
    tally.certified += fields["certified_radius"] > 0
    tally.improved += fields["certified_radius"] > fields["np_radius"]


def _report(tally: Tally, target: Path, seconds: float, as_json: bool) -> None:
    good = max(tally.rows - tally.errors, 1)
    if as_json:
        summary = {
            "rows": tally.rows,
            "errors": tally.errors,
            "certified": tally.certified,
            "improved": tally.improved,
            "mean_np_radius": tally.np_total / good,
            "mean_certified_radius": tally.total / good,
            "seconds": seconds,
            "output": str(target),
        }
        print(json.dumps(summary))
        return
    rows = [
        ["Neyman-Pearson", floor_digits(tally.np_total / good, 6), "-"],
        ["double sampling", floor_digits(tally.total / good, 6), f"{tally.improved:,}"],
    ]
    print(table(rows, ["certificate", "mean radius", "rows improved"]))
    print(
        f"\n{tally.rows:,} rows, {tally.certified:,} certified, {tally.errors:,} bad, "
        f"in {seconds:.1f} s; written to {target}"
    )


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else repr(value)


def _count_rows(path: Path) -> int:
    with _open(path, "rt") as file:
        return max(sum(1 for _ in file) - 1, 0)


def _open(path: Path, mode: str) -> IO[str]:
    try:
        if path.suffix == ".gz":
            return cast(IO[str], gzip.open(path, mode, newline=""))
        return open(path, mode.replace("t", ""), newline="")
    except OSError as error:
        raise DataError(f"cannot open {path}: {error.strerror or error}") from None

"""`dsrs report`: tables, figures and a page from one or more runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands
from dsrs.cli.radii import parse_radii
from dsrs.cli.tables import table

if TYPE_CHECKING:
    from dsrs.reports import Report

EXAMPLES = """\
examples:
  dsrs report runs/a --output report.html
  dsrs report runs/s025 runs/s050 runs/s100 --output report.html --tables tables
  dsrs report imported.csv runs/mine
      A table of `dsrs import` or `dsrs recertify` beside a run of the same inputs.
  dsrs report gaussian=runs/g050 gaussian=runs/g100 consistency=runs/c100 --figures figures
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        help="tables, figures and an HTML page from runs",
        description="Certified accuracy, average radius and gains of one or more runs, with "
        "bootstrap intervals. Runs of one family at several sigma also get their upper envelope.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "runs", nargs="+", metavar="[FAMILY=]RUN", help="folder of a run, or a table"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="HTML page to write")
    parser.add_argument("--title", help="title of the page (default: from the data's name)")
    parser.add_argument(
        "--tables", type=Path, metavar="DIR", help="write the tables as md, csv, tex and json here"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="write the figures for print here"
    )
    parser.add_argument(
        "--format",
        default="png,svg,pdf",
        metavar="LIST",
        help="of the figures (default: png,svg,pdf)",
    )
    parser.add_argument(
        "--radii", metavar="LIST", help="0.25,0.5,1 or START:STOP:STEP (default: a round grid)"
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=2000,
        help="of the bootstrap, 100 to 100000 (default: 2000)",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="of intervals (default: 0.95)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs import reports
    from dsrs.reports import writing

    formats = [suffix for suffix in arguments.format.split(",") if suffix]
    radii = parse_radii(arguments.radii) if arguments.radii else None
    resampling = reports.Resampling(arguments.resamples, arguments.confidence, arguments.seed)
    # Everything that can be refused is refused before the work starts.
    if arguments.output:
        writing.check_page_path(arguments.output)
    if arguments.tables:
        writing.check_folder(arguments.tables, writing.table_names())
    if arguments.figures:
        writing.check_folder(arguments.figures, writing.figure_names(formats))

    report = reports.make_report(reports.read_runs(arguments.runs), radii, resampling)
    print(reports.json_document(report) if arguments.json else summary_text(report))

    written: list[Path] = []
    if arguments.output:
        reports.write_page(report, arguments.output, arguments.title or default_title(report))
        written.append(arguments.output)
    if arguments.tables:
        written += reports.write_tables(report, arguments.tables)
    if arguments.figures:
        written += reports.write_figures(report, arguments.figures, formats)
    for path in written:
        print(f"wrote {path}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def summary_text(report: Report) -> str:
    """The summary as aligned text; a gain whose interval excludes zero has a star."""
    from dsrs.reports.attacks import attack_text
    from dsrs.reports.caveats import caveats
    from dsrs.reports.tables import SUMMARY_HEADS, interval_note, summary_rows

    heads = ["run", "certification", *SUMMARY_HEADS]
    heads += [f"r={radius:g}" for radius in report.radii]
    rows = []
    for row in summary_rows(report):
        texts = [cell.value + "*" * bool(cell.verdict) if cell else "" for cell in row.cells]
        rows.append([row.run, row.label, *texts])
    note = (
        f"certified accuracy in percent at l2 radius r, {interval_note(report.resampling)}\n"
        "* the interval of this gain excludes zero; any other gain may be chance\n"
        + "".join(f"{caveat}\n" for caveat in caveats(report))
    )
    spent = "".join(f"{run.name}: {run.spent.text()}\n" for run in report.runs if run.spent)
    spent += "".join(f"{run.name}: {attack_text(run)}\n" for run in report.runs if run.attacks)
    return f"{table(rows, heads)}\n\n{note}{spent}"


def default_title(report: Report) -> str:
    """Named after the data, where the runs say what it is."""
    names = {run.settings.get("data", {}).get("name") for run in report.runs}
    name = names.pop() if len(names) == 1 else None
    return f"Certified robustness: {name}" if name else "Certified robustness"

"""`dsrs report`: tables, figures and a page from one or more runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.compare import add_bootstrap, bootstrap_from, comparison_text, rows_text
from dsrs.cli.gate import add_requirements
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.radii import add_radii, radii_from
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.reports import Report

EPILOG = """\
examples:
  dsrs report runs/a --output report.html
  dsrs report runs/s025 runs/s050 runs/s100 --output report.html --tables tables
  dsrs report imported.csv runs/mine
      A table of `dsrs import` or `dsrs recertify` beside a run of the same inputs.
  dsrs report "Ours (s=0.5)"=runs/a Cohen=runs/b --figures figures
      NAME=RUN names a run in tables and legends.
  dsrs report runs/g050 runs/g100 runs/c050 runs/c100 --output report.html \\
      --family gaussian=g050,g100 --family consistency=c050,c100
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        run=run,
        help="tables, figures and an HTML page from runs",
        description="Certified accuracy, average radius and gains of one or more runs, with "
        "bootstrap intervals. Several runs are also compared with the first one, over the inputs "
        "that both have; runs of one family at several sigma get their upper envelope.",
        epilog=EPILOG,
    )
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help="folder of a run, or a table")
    families = parser.add_mutually_exclusive_group()
    families.add_argument(
        "--family",
        action="append",
        dest="families",
        metavar="FAMILY=RUN,RUN",
        help="runs, by name, that have an upper envelope over sigma together; give it again for "
        "several (default: all runs are one family)",
    )
    families.add_argument("--no-envelope", action="store_true", help="no upper envelope over sigma")
    parser.add_argument("--output", type=Path, metavar="FILE", help="HTML page to write")
    parser.add_argument("--title", help="title of the page (default: from the data's name)")
    parser.add_argument(
        "--no-images", action="store_true", help="leave pictures of the inputs out of the page"
    )
    parser.add_argument(
        "--paths",
        action="store_true",
        help="keep absolute paths of model and data in page and tables (default: file names only)",
    )
    parser.add_argument(
        "--tables", type=Path, metavar="DIR", help="write the tables as md, csv, tex and json here"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="write the figures for print here"
    )
    parser.add_argument("--format", default="png,svg,pdf", metavar="LIST", help="of the figures")
    add_radii(parser)
    add_requirements(parser)
    add_bootstrap(parser)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(arguments: argparse.Namespace) -> int:
    from dsrs import reports

    formats = [suffix for suffix in arguments.format.split(",") if suffix]
    radii, resampling = radii_from(arguments), bootstrap_from(arguments)
    # Everything that can be refused is refused before the work starts.
    if arguments.output:
        reports.check_page_path(arguments.output)
    if arguments.output and arguments.output in (arguments.tables, arguments.figures):
        raise InvalidInput(
            f"--output is a page, and --tables and --figures are folders; {arguments.output} "
            "cannot be both"
        )
    if arguments.tables:
        reports.check_folder(arguments.tables, reports.table_names())
    if arguments.figures:
        reports.check_folder(arguments.figures, reports.figure_names(formats))

    families = None if arguments.no_envelope else arguments.families or ()
    runs = reports.read_runs(arguments.runs, families, paths=arguments.paths)
    gates = [reports.gate(run, arguments.require) for run in runs] if arguments.require else []
    report = reports.make_report(runs, radii, resampling, gates)
    if arguments.json:
        print_json("report", reports.report_fields(report))
    else:
        print(summary_text(report))

    written: list[Path] = []
    if arguments.output:
        title = arguments.title or default_title(report)
        reports.write_page(report, arguments.output, title, images=not arguments.no_images)
        written.append(arguments.output)
    if arguments.tables:
        written += reports.write_tables(report, arguments.tables)
    if arguments.figures:
        written += reports.write_figures(report, arguments.figures, formats)
    for path in written:
        print(f"wrote {path}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def summary_text(report: Report) -> str:
    """The summary as aligned text; a gain whose interval excludes zero has a star.

    Where runs are over different inputs, what they have in common is compared below.
    """
    from dsrs.reports import (
        caveats,
        gate_text,
        header_lines,
        interval_note,
        run_notes,
        summary_rows,
    )

    lines = [
        *header_lines(report.runs),
        "",
        rows_text(summary_rows(report), report.radii),
        "",
        "certified accuracy in percent at l2 radius r, " + interval_note(report.resampling),
        "* the interval of this gain excludes zero; any other gain may be chance",
        *caveats(report),
        *(f"{name}: {text}" for name, text in run_notes(report.runs)),
    ]
    lines += [f"\n{gate_text(gate)}" for gate in report.gates]
    for comparison in report.comparisons:
        if set(comparison.sizes) != {comparison.size}:
            lines += ["", comparison_text(comparison)]
    return "\n".join(lines) + "\n"


def default_title(report: Report) -> str:
    """Named after the file or folder of the data, where the runs say what it is."""
    names = {Path(run.settings.get("data", {}).get("name") or "").name for run in report.runs}
    name = names.pop() if len(names) == 1 else ""
    return f"Certified robustness: {name}" if name else "Certified robustness"

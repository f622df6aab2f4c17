"""What runs certify: `dsrs report`, `dsrs compare` two of them, `dsrs gate` by requirements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands, Options
from dsrs.cli.output import print_json, table
from dsrs.cli.vote_options import add_radii, radii_from
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsrs.confidence import Resampling
    from dsrs.reports import Comparison, Report, Row

# ---- `dsrs gate`: does a run reach what is required of it? With an exit code of its own, for CI

NOT_MET = 4

GATE_EPILOG = """\
examples:
  dsrs gate runs/new --require 'accuracy@0.5>=0.60' --require 'mean_radius>=0.4'
  dsrs gate runs/new --require 'robust_accuracy@0.5>=55%' --require 'inputs>=500' \\
      --junit gate.xml --summary "$GITHUB_STEP_SUMMARY"
  dsrs gate theirs/run --check --require 'accuracy@0.5>=0.60'
      A run of somebody else: every certificate is proved before it counts.
  dsrs gate runs/new --require 'accuracy@0.5>=0.60' --point
      These inputs alone: is 60% of them certified at 0.5?

quantities: accuracy@R (share of inputs certified for their label at radius R), robust_accuracy@R
(what that says of the share that is robust: alpha is taken off), mean_radius, clean_accuracy,
abstained, inputs. Put quotes around a requirement: > means something to a shell.

exit codes: 0 all requirements hold, 4 one is not met, 2 bad arguments or input.
"""


def add_gate(commands: Commands) -> None:
    parser = commands.add_parser(
        "gate",
        run=run_gate,
        help="does a run reach what is required of it? For CI",
        description="Judge a run by what is required of it: by exact bounds for the population "
        "that its inputs were drawn from, or with --point by these inputs alone.",
        epilog=GATE_EPILOG,
    )
    parser.add_argument("run_folder", metavar="[NAME=]RUN", help="folder of a run, or a table")
    add_requirements(parser, required=True)
    parser.add_argument(
        "--method", help="whose certificates count (default: np, or the only method of the run)"
    )
    parser.add_argument(
        "--point",
        action="store_true",
        help="judge the numbers of these inputs, and not what they show of the population",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="prove every certificate first, as `dsrs check` does; exit with 2 where one is not",
    )
    parser.add_argument(
        "--confidence", default=0.95, help="of each bound for the population, one-sided"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    add_summary(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="also write the HTML page of the run"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_requirements(group: Options, required: bool = False) -> None:
    """--require of a gate."""
    group.add_argument(
        "--require",
        action="append",
        metavar="REQUIREMENT",
        required=required,
        help="such as 'accuracy@0.5>=0.60'; give it again for several",
    )


def add_summary(group: Options) -> None:
    """--summary of a gate or a comparison."""
    group.add_argument(
        "--summary",
        type=Path,
        metavar="FILE",
        help='append the answer as Markdown, such as to "$GITHUB_STEP_SUMMARY"',
    )


def run_gate(arguments: argparse.Namespace) -> int:
    from dsrs import reports
    from dsrs.files import append_text, check_appendable, write_whole
    from dsrs.measures import Requirement
    from dsrs.reports import (
        gate_fields,
        gate_junit,
        gate_markdown,
        gate_text,
        split_name,
    )

    require = [Requirement.parse(text) for text in arguments.require]
    if arguments.output:
        reports.check_page_path(arguments.output)
    if arguments.junit:
        reports.check_junit_path(arguments.junit)
    if arguments.summary:
        check_appendable(arguments.summary)
    (seen,) = reports.read_runs([arguments.run_folder])
    if arguments.check:
        _demand_proofs(str(split_name(arguments.run_folder)[1]))
    gate = reports.gate(
        seen,
        require,
        method=arguments.method,
        point=arguments.point,
        confidence=arguments.confidence,
    )
    if arguments.json:
        print_json("gate", gate_fields(gate))
    else:
        print(gate_text(gate))
    if arguments.junit:
        write_whole(arguments.junit, gate_junit(gate))
    if arguments.summary:
        append_text(arguments.summary, f"## dsrs gate\n\n{gate_markdown(gate)}\n")
    if arguments.output:
        page = reports.make_report([seen], gates=[gate])
        reports.write_page(page, arguments.output, f"Certified robustness: {seen.name}")
    return 0 if gate else NOT_MET


def _demand_proofs(source: str) -> None:
    """Raise DataError unless `dsrs check` proves every certificate of this run or table."""
    from dsrs.evidence import check

    checked = check(source)
    first = next((verdict for verdict in checked if not verdict), None)
    if first is not None:
        raise DataError(
            f"--check: {source} is not proved ({checked!r}), so nothing was judged; {first.name}: "
            f"{first.reason}"
        )


# ---- `dsrs compare`: what a new run certifies more than an old one, on the same inputs

COMPARE_EPILOG = """\
examples:
  dsrs compare runs/old runs/new
  dsrs compare before=runs/main after=runs/pull-request --radii 0.25,0.5 --method np
  dsrs compare runs/old runs/new --output page.html    with figures of both runs

Only inputs that both runs have are compared, input by input. A star marks a gain whose interval
excludes zero; any other gain may be chance.
"""


def add_compare(commands: Commands) -> None:
    parser = commands.add_parser(
        "compare",
        run=run_compare,
        help="what a new run gains over an old one, on the inputs of both",
        description="Compare two runs of the same data over the inputs that both have: certified "
        "accuracy, average radius and clean accuracy, the gains with paired bootstrap intervals, "
        "and which inputs changed.",
        epilog=COMPARE_EPILOG,
    )
    parser.add_argument("old", metavar="[NAME=]OLD", help="folder of a run, or a table")
    parser.add_argument("new", metavar="[NAME=]NEW", help="what is compared with it")
    parser.add_argument("--method", help="one method alone, such as np (default: all of both runs)")
    add_radii(parser)
    add_bootstrap(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write an HTML page")
    add_summary(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_bootstrap(group: Options) -> None:
    """--resamples, --confidence and --seed of bootstrap intervals."""
    group.add_argument("--resamples", default=2000, help="of the bootstrap, 100 to 100000")
    group.add_argument("--confidence", default=0.95, help="of intervals")
    group.add_argument("--seed", default=0, help="of the bootstrap")


def bootstrap_from(arguments: argparse.Namespace) -> Resampling:
    """How intervals are drawn, by these options."""
    from dsrs.confidence import Resampling

    return Resampling(arguments.resamples, arguments.confidence, arguments.seed)


def run_compare(arguments: argparse.Namespace) -> int:
    from dsrs import reports
    from dsrs.files import append_text, check_appendable
    from dsrs.reports import comparison_fields, comparison_markdown

    if arguments.output:
        reports.check_page_path(arguments.output)
    if arguments.summary:
        check_appendable(arguments.summary)
    radii, resampling = radii_from(arguments), bootstrap_from(arguments)
    old, new = reports.read_runs([arguments.old, arguments.new], families=None)
    comparison = reports.compare(old, new, radii, arguments.method, resampling)
    if arguments.json:
        print_json("compare", comparison_fields(comparison))
    else:
        print(comparison_text(comparison))
    if arguments.output:
        page = reports.make_report([old, new], comparison.radii, resampling)
        title = f"{comparison.new.run.name} against {comparison.old.run.name}"
        reports.write_page(page, arguments.output, title)
    if arguments.summary:
        append_text(arguments.summary, f"## dsrs compare\n\n{comparison_markdown(comparison)}")
    return 0


def comparison_text(comparison: Comparison) -> str:
    """The comparison as aligned text; a gain whose interval excludes zero has a star."""
    from dsrs.reports import (
        changes_lines,
        comparison_notes,
        comparison_rows,
        interval_note,
        ratio_lines,
    )

    lines = [
        *comparison_notes(comparison),
        "",
        rows_text(comparison_rows(comparison), comparison.radii),
        "",
        *ratio_lines(comparison),
        "certified accuracy in percent at l2 radius r, " + interval_note(comparison.resampling),
        "* the interval of this gain excludes zero; any other gain may be chance",
    ]
    for name, texts in changes_lines(comparison):
        lines += [f"inputs that changed, {name}:", *(f"  {text}" for text in texts)]
    return "\n".join(lines)


def rows_text(rows: Sequence[Row], radii: Sequence[float]) -> str:
    """Rows of a report as aligned text."""
    from dsrs.reports import column_heads

    heads = ["run", "certification", *column_heads(f"r={radius:g}" for radius in radii)]
    cells = [
        [
            row.run,
            row.label,
            *(cell.value + "*" * bool(cell.verdict) if cell else "" for cell in row.cells),
        ]
        for row in rows
    ]
    return table(cells, heads)


# ---- `dsrs report`: tables, figures and a page from one or more runs

REPORT_EPILOG = """\
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


def add_report(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        run=run_report,
        help="tables, figures and an HTML page from runs",
        description="Certified accuracy, average radius and gains of one or more runs, with "
        "bootstrap intervals. Several runs are also compared with the first one, over the inputs "
        "that both have; runs of one family at several sigma get their upper envelope.",
        epilog=REPORT_EPILOG,
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


def run_report(arguments: argparse.Namespace) -> int:
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


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_report(commands)
    add_compare(commands)
    add_gate(commands)

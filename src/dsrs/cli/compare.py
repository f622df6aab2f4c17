"""`dsrs compare`: what a new run certifies more than an old one, on the same inputs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.gate import add_summary
from dsrs.cli.options import Commands, Options
from dsrs.cli.output import print_json
from dsrs.cli.radii import add_radii, radii_from
from dsrs.cli.tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsrs.confidence import Resampling
    from dsrs.reports import Comparison, Row

EPILOG = """\
examples:
  dsrs compare runs/old runs/new
  dsrs compare before=runs/main after=runs/pull-request --radii 0.25,0.5 --method np
  dsrs compare runs/old runs/new --output page.html    with figures of both runs

Only inputs that both runs have are compared, input by input. A star marks a gain whose interval
excludes zero; any other gain may be chance.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "compare",
        run=run,
        help="what a new run gains over an old one, on the inputs of both",
        description="Compare two runs of the same data over the inputs that both have: certified "
        "accuracy, average radius and clean accuracy, the gains with paired bootstrap intervals, "
        "and which inputs changed.",
        epilog=EPILOG,
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


def run(arguments: argparse.Namespace) -> int:
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

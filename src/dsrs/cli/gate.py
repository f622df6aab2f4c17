"""`dsrs gate`: does a run reach what is required of it? With an exit code of its own, for CI."""

from __future__ import annotations

import argparse
from pathlib import Path

from dsrs.cli.options import Commands, Options
from dsrs.cli.output import print_json
from dsrs.errors import DataError

NOT_MET = 4

EPILOG = """\
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


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "gate",
        run=run,
        help="does a run reach what is required of it? For CI",
        description="Judge a run by what is required of it: by exact bounds for the population "
        "that its inputs were drawn from, or with --point by these inputs alone.",
        epilog=EPILOG,
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


def run(arguments: argparse.Namespace) -> int:
    from dsrs import reports
    from dsrs.files import append_text, check_appendable, write_whole
    from dsrs.measures import Requirement
    from dsrs.reports import gate_fields, gate_junit, gate_markdown, gate_text, split_name

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

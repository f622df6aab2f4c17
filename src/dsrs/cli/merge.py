"""`dsrs merge`: the parts of a run as one run."""

from __future__ import annotations

import argparse

from dsrs.cli.options import Commands

EPILOG = """\
examples:
  dsrs certify ... --shard 3/16 --output runs/part-3    one job of an array of 16
  dsrs merge runs/part-* --output runs/all              when they have ended; again for more

The merged run is, bit for bit, what one `dsrs certify` over all inputs gives, but for the seconds.
Runs of different settings, models or data are refused, and so are inputs that differ between two
parts; nothing is written then. The parts are not changed.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "merge",
        run=run,
        help="put the parts of a run together",
        description="Copy the inputs of several runs of the same settings into one run folder.",
        epilog=EPILOG,
    )
    parser.add_argument("parts", nargs="+", metavar="RUN", help="run folders of the same settings")
    parser.add_argument(
        "--output", required=True, help="new run folder, or one of these settings to add to"
    )


def run(arguments: argparse.Namespace) -> int:
    from dsrs.store import merge_runs

    done = merge_runs(arguments.parts, arguments.output)
    twice = f", {done.repeated:,} of them in several parts" if done.repeated else ""
    print(f"{done.inputs:,} inputs, {done.added:,} added{twice}: {arguments.output}")
    return 0

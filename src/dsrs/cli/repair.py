"""`dsrs repair`: the sound inputs of a damaged run, in a new run folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dsrs.cli.options import Commands

MOST_SHOWN_INPUTS = 20
EPILOG = """\
examples:
  dsrs repair runs/mine                        writes runs/mine-repaired
  dsrs certify ... --output runs/mine-repaired   does the dropped inputs again

the damaged run is not changed. Exit code 1 if anything was dropped.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "repair",
        run=run,
        help="save the sound inputs of a damaged run",
        description="Copy every input whose checksum holds into a new run folder, and say what "
        "was dropped.",
        epilog=EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="damaged run folder")
    parser.add_argument("--output", help="new run folder (default: RUN-repaired)")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.store.repair import repair_run

    folder = Path(arguments.run_folder)
    beside = folder.parent if folder.name else folder.resolve().parent  # "." has no name
    output = Path(arguments.output or beside / f"{folder.resolve().name}-repaired")
    done = repair_run(folder, output)
    for index, reason in list(done.dropped.items())[:MOST_SHOWN_INPUTS]:
        print(f"dropped input {index}: {reason}")
    if len(done.dropped) > MOST_SHOWN_INPUTS:
        print(f"and {len(done.dropped) - MOST_SHOWN_INPUTS:,} more")
    if done.may_lack_more:
        print("the list of inputs is damaged as well: there may have been others")
    print(f"{len(done.kept):,} inputs kept, {len(done.dropped):,} dropped: {output}")
    return 1 if done.dropped or done.may_lack_more else 0

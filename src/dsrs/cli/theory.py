"""`dsrs theory`: check the paper's theorems numerically."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.tables import table
from dsrs.cli.values import one_of
from dsrs.files.new_file import check_figure

if TYPE_CHECKING:
    from dsrs.paper.theory_checks import Checked

DESCRIPTION = """\
Checks of the paper's theorems, computed here and not taken from it:
  1  in the plane, Q on the decision region certifies the true radius, corners or not
  multiclass  its corollary: with C classes, C - 1 additional laws do
  2  under concentration the radius grows at least like 0.02 sigma sqrt(d), for every m
  gamma  the table of GammaCDF_m(0.98 m) in the proof of Theorem 2
  6  for constant k no method can certify c sqrt(d)
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "theory",
        run=run,
        help="check the paper's theorems numerically",
        description=DESCRIPTION,
        epilog="exit code 1 if a check fails",
    )
    parser.add_argument(
        "--only",
        type=one_of("dsrs.paper.theory_checks", "CHECKS"),
        action="append",
        help="one check: 1, multiclass, 2, gamma or 6 (may be repeated)",
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw Theorem 1 (png, pdf or svg)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a figure of that name")
    parser.add_argument("--json", action="store_true", help="numbers for programs")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.paper.theory_checks import CHECKS

    if arguments.figure is not None:
        check_figure(arguments.figure, arguments.overwrite)
    document: dict[str, Any] = {}
    for name in dict.fromkeys(arguments.only or CHECKS):
        checked = CHECKS[name]()
        document[name] = {"holds": checked.holds, "numbers": checked.numbers}
        if not arguments.json:
            print(_text(checked))
    if arguments.json:
        print_json("theory", document)
    if arguments.figure is not None:
        from dsrs.paper.figures.tightness import draw_tightness
        from dsrs.paper.tightness import check_theorem_1, regions

        draw_tightness([check_theorem_1(name) for name in regions()], arguments.figure)
    return 0 if all(entry["holds"] for entry in document.values()) else 1


def _text(checked: Checked) -> str:
    tables = [f"{shown.title}\n{table(shown.rows, shown.heads)}" for shown in checked.tables]
    return "\n\n".join(tables) + f"\n=> {'holds' if checked.holds else 'FAILS'}\n"

"""`dsrs conformal`: prediction sets from one noisy query, which hold although inputs are moved."""

from __future__ import annotations

from dsrs.cli import set_calibrate, set_curve, set_predict, set_report, set_tune
from dsrs.cli.options import Commands


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "conformal",
        help="sets of classes that hold the true one although inputs are moved",
    )
    verbs = parser.add_subparsers()
    for verb in (set_tune, set_calibrate, set_predict, set_report, set_curve):
        verb.add_parser(verbs)

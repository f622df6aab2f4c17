"""The options of `dsrs certify` that stop in time, and that get more out of the same votes."""

from __future__ import annotations

import argparse
from typing import Any

from dsrs.cli.options import Options
from dsrs.cli.radii import add_radii, radii_from
from dsrs.errors import InvalidInput
from dsrs.methods import defaults


def add_stopping_options(group: Options) -> None:
    group.add_argument(
        "--radius",
        type=float,
        metavar="R",
        help="decide this radius alone, and stop an input as soon as it is known whether R is "
        "certified; --n is the most votes. An input that is not certified at R is `short`",
    )
    group.add_argument(
        "--adaptive",
        action="store_true",
        help="stop an input as soon as more votes would hardly change its row of the table at "
        "--radii, or its radius by more than --radius-precision; --n is the most votes",
    )
    add_radii(group)
    group.add_argument(
        "--radius-precision",
        type=float,
        metavar="SHARE",
        help=f"with --adaptive: relative precision of a radius (default: {defaults.PRECISION:g})",
    )
    group.add_argument(
        "--classes",
        choices=defaults.CLASSES,
        default=defaults.CLASSES[0],
        help="top (default): certify a class with a majority of the votes; all: also one that "
        "leads every other class without a majority, where the first --n0 votes advise it",
    )


def stopping_from(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of a plan that these options set."""
    if arguments.adaptive and arguments.radius is not None:
        raise InvalidInput(
            "--radius decides one radius and --adaptive a table or a precision: choose one"
        )
    if not arguments.adaptive and arguments.radius_precision is not None:
        raise InvalidInput("--radius-precision says when --adaptive may stop; give --adaptive too")
    columns = radii_from(arguments)
    if columns and arguments.radius_precision is not None:
        raise InvalidInput("--adaptive stops by --radii or by --radius-precision: choose one")
    radii = tuple(columns) if columns and arguments.adaptive else ()
    precision = arguments.radius_precision
    if arguments.adaptive and not radii and precision is None:
        precision = defaults.PRECISION
    return {
        "radius": arguments.radius,
        "radii": radii,
        "precision": precision,
        "classes": arguments.classes,
    }

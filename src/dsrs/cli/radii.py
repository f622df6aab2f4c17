"""Lists of radii as the command line writes them."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from dsrs.cli.options import Options
from dsrs.errors import InvalidInput

FORMS = "0.25,0.5,1 or START:STOP:STEP"


def add_radii(group: Options) -> None:
    """--radii of a table."""
    group.add_argument(
        "--radii", metavar="LIST", help=f"columns of the table: {FORMS} (default: a round grid)"
    )


def radii_from(arguments: argparse.Namespace) -> list[float] | None:
    """What --radii lists; None where it is not given."""
    return None if arguments.radii is None else parse_radii(arguments.radii)


def parse_radii(text: str) -> list[float]:
    """Read `0.25,0.5,1` or `0.25:3:0.25` (both ends included): radii that are >= 0 and increase."""
    expected = f"--radii is written {FORMS}, got {text!r}"
    try:
        if ":" not in text:
            radii = [float(Decimal(part)) for part in text.split(",")]
        else:
            start, stop, step = (Decimal(part) for part in text.split(":"))
            if not (step > 0 and stop >= start and (stop - start) / step <= 1000):
                raise InvalidInput(
                    f"{expected}, with STEP > 0, START <= STOP and at most 1000 steps"
                )
            radii = [float(start + i * step) for i in range(int((stop - start) / step) + 1)]
    except (InvalidOperation, ValueError) as error:
        raise error if isinstance(error, InvalidInput) else InvalidInput(expected) from None
    if not all(0 <= radius < float("inf") for radius in radii):
        raise InvalidInput(f"{expected}, with radii of 0 or more")
    if any(after <= before for before, after in pairwise(radii)):
        raise InvalidInput(f"{expected}, with radii that increase")
    return radii

"""--grid: what inputs and noise are rounded to."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dsrs.cli.options import Options
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.laws import Grid


def add_grid(group: Options) -> None:
    """--grid of the noise."""
    group.add_argument(
        "--grid",
        type=grid_step,
        default="default",
        metavar="STEP",
        help="round inputs and noise to multiples of this, so that certificates hold in floating "
        "point: 0.001, 1/4080, or none (default: 4080 steps between the bounds of the data, or "
        "twice, four times ... as many, so that sigma has 16; 8-bit images are exact)",
    )


def grid_from(
    arguments: argparse.Namespace, bounds: tuple[float, float]
) -> Grid | Literal["default"] | None:
    """The grid that these options name; it begins at the lower one of the bounds of the data."""
    from dsrs.laws import DEFAULT_GRID, Grid

    if arguments.grid is None:
        return None
    if arguments.grid == DEFAULT_GRID:
        return DEFAULT_GRID
    return Grid(arguments.grid, float(bounds[0]))


def grid_step(text: str) -> float | str | None:
    """0.001 or 1/4080 as a number, `none` as None."""
    if text in ("default", "none"):
        return None if text == "none" else "default"
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInput(
            f"expected a step such as 0.001 or 1/4080, or none, got {text!r}"
        ) from None

"""What the commands of prediction sets share."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from dsrs.cli.chosen_by import inputs_that_chose
from dsrs.cli.grid_option import add_grid, grid_from
from dsrs.cli.law_options import add_law_options, add_shape_options, law_from, read_tuned
from dsrs.cli.options import Options
from dsrs.cli.values import one_of
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.conformal import SetPlan, Sets
    from dsrs.datasets import Dataset

MARGINAL_HELP = """\
The promise holds on average over inputs, calibration sets and noise, not for each single input:
it is about all answers together, and may be kept better for some kinds of inputs than for others.
"""


def add_sets(group: Options) -> None:
    """--sets, the file of `dsrs conformal calibrate`."""
    group.add_argument(
        "--sets", required=True, metavar="FILE", help="file of `dsrs conformal calibrate`"
    )


def promise_text(sets: Sets) -> str:
    """What sets promise, and what is to be known of it."""
    notes = (f"note: {caveat}" for caveat in sets.caveats)
    return "\n".join([f"promise: {sets.guarantee}", *notes])


def add_promise_options(group: Options, *, sigma: bool = True) -> None:
    """What is promised, and under which noise; `sigma` says whether its size is given."""
    if sigma:
        add_law_options(group, from_file=True)
    else:
        add_shape_options(group)
    group.add_argument(
        "--radius",
        type=float,
        required=True,
        help="how far (l2) every test input may have been moved, in the units of the inputs",
    )
    group.add_argument(
        "--coverage",
        default=0.9,
        help="probability with which a set holds the true class, on average",
    )
    group.add_argument(
        "--draws",
        default=1,
        help="noisy queries of an answer: with more than one it is the majority of as many sets, "
        "each of which may miss half as often",
    )
    add_grid(group)


def add_score(group: Options, absent: str) -> None:
    """--score of the classes; `absent` says what is done where it is not given."""
    group.add_argument(
        "--score",
        type=one_of("dsrs.conformal", "SCORES"),
        help="threshold: 1 - p, the smallest sets on average; adaptive: APS, sets that grow where "
        f"the model is unsure ({absent})",
    )


def plan_from(arguments: argparse.Namespace, dataset: Dataset) -> SetPlan:
    """The plan that these options make."""
    from dsrs.conformal import SetPlan

    file = getattr(arguments, "law", None)
    tuned = {} if file is None else read_tuned(file)
    return SetPlan(
        law_from(arguments, math.prod(dataset.input_shape)),
        arguments.radius,
        arguments.coverage,
        arguments.score or tuned.get("score", "threshold"),
        arguments.draws,
        arguments.calibration_draws,
        arguments.confidence,
        grid_from(arguments, dataset.bounds),
        True if getattr(arguments, "off_grid", False) else None,
        getattr(arguments, "batch", 1),
    )


def refuse_tuning_inputs(file: str | None, dataset: Dataset, indices: list[int]) -> None:
    """Raise InvalidInput if some of these inputs chose the noise: they are not like new ones."""
    known = inputs_that_chose(file) if file else None
    both = set() if known is None else known.among(dataset, indices)
    if both:
        raise InvalidInput(
            f"{len(both)} of these inputs chose the noise in {file}, so that they are no longer "
            "like new ones; calibrate with others (--start, --stop, --indices)"
        )

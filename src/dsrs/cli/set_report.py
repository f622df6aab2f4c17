"""`dsrs conformal report`: sizes and coverage of sets on labelled data, as it is and moved."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_model_options, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.set_options import MARGINAL_HELP, add_sets, promise_text
from dsrs.cli.tables import table

if TYPE_CHECKING:
    from dsrs.conformal import Evaluation

EPILOG = f"""\
examples:
  dsrs conformal report --sets sets.json --model net.onnx --data MNIST/ --start 1 --skip 50 \\
      --output sets.html

`attack` moves each input against its true class: along gradients of the model where it can
back-propagate (PyTorch modules and networks by name), else along those that its answers tell, with
some 1,500 queries per input. Such a search need not find the worst shift; the promise covers it.

{MARGINAL_HELP}"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        run=run,
        help="sizes and coverage of sets on labelled data, as it is and moved",
        description="Answer for labelled inputs, as they are and moved by the radius, compare the "
        "sets with the labels, and write a page with examples.",
        epilog=EPILOG,
    )
    group = parser.add_argument_group("sets")
    add_sets(group)
    group.add_argument(
        "--shifts",
        default="none,random,attack",
        metavar="LIST",
        help="none, random and attack, with commas between",
    )
    group.add_argument("--examples", default=12, help="inputs with pictures on the page")
    group.add_argument("--seed", default=0, help="of the shifts")
    add_model_options(parser.add_argument_group("model and data, not those of the calibration"))
    parser.add_argument("--output", type=Path, metavar="FILE", help="HTML page to write")
    parser.add_argument("--title", default="Prediction sets", help="title of the page")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import SetPredictor, Sets, evaluate_sets
    from dsrs.reports import check_page_path

    if arguments.output:
        check_page_path(arguments.output)
    sets = Sets.load(arguments.sets)
    classifier, dataset, indices = model_and_inputs(arguments)
    predictor = SetPredictor(classifier, sets, device=arguments.device)
    evaluation = evaluate_sets(
        predictor,
        dataset,
        indices,
        tuple(filter(None, arguments.shifts.split(","))),
        examples=arguments.examples,
        seed=arguments.seed,
        progress=lambda total: Progress(total, "answering", quiet=arguments.quiet),
    )
    if arguments.json:
        promise = {"guarantee": sets.guarantee, "caveats": sets.caveats}
        print_json("conformal-report", promise | evaluation.to_dict())
    else:
        print(evaluation_text(evaluation))
        print(promise_text(sets))
    if arguments.output:
        from dsrs.reports import write_sets_page

        write_sets_page(sets, evaluation, arguments.output, arguments.title, dataset.class_names)
        print(f"wrote {arguments.output}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def evaluation_text(evaluation: Evaluation) -> str:
    """Coverage and size for each kind of shift, as a table."""
    from dsrs.measures import ceil_text, floor_text, percent

    rows = []
    for outcome in evaluation.outcomes:
        low, high = outcome.interval
        rows.append(
            [
                outcome.shift,
                f"{outcome.inputs}",
                percent(Fraction(outcome.held, outcome.inputs)),
                f"{floor_text(100 * low, 1)} to {ceil_text(100 * high, 1)}",
                *(
                    f"{outcome.mean_size:.3f}",
                    f"{outcome.sizes[0]}",
                    f"{outcome.mean_distance:.3g}",
                ),
            ]
        )
    heads = ["shift", "inputs", "coverage (%)", "95% interval", "mean size", "empty", "moved (l2)"]
    return f"{table(rows, heads)}\nmeasured with this one calibration set"

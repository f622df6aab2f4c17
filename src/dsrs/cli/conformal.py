"""`dsrs conformal`: prediction sets that hold although inputs are moved, and reports of them.

`report` and `curve` are here: sizes and coverage on labelled data. The others are in `sets.py`.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_model_options, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json, table
from dsrs.cli.sets import (
    MARGINAL_HELP,
    add_calibrate,
    add_predict,
    add_sets,
    add_tune,
    promise_text,
)
from dsrs.cli.vote_options import FORMS, parse_radii
from dsrs.files import check_figure

if TYPE_CHECKING:
    from dsrs.conformal import CurvePoint, Evaluation
    from dsrs.measures import MethodAccuracy

# ---- `dsrs conformal report`: sizes and coverage of sets on labelled data, as it is and moved

REPORT_SETS_EPILOG = f"""\
examples:
  dsrs conformal report --sets sets.json --model net.onnx --data MNIST/ --start 1 --skip 50 \\
      --output sets.html

`attack` moves each input against its true class: along gradients of the model where it can
back-propagate (PyTorch modules and networks by name), else along those that its answers tell, with
some 1,500 queries per input. Such a search need not find the worst shift; the promise covers it.

{MARGINAL_HELP}"""


def add_report(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        run=run_report,
        help="sizes and coverage of sets on labelled data, as it is and moved",
        description="Answer for labelled inputs, as they are and moved by the radius, compare the "
        "sets with the labels, and write a page with examples.",
        epilog=REPORT_SETS_EPILOG,
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


def run_report(arguments: argparse.Namespace) -> int:
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


# ---- `dsrs conformal curve`: mean size of sets against radius, beside certified accuracy

SET_CURVE_EPILOG = f"""\
examples:
  dsrs conformal curve --sets sets.json --model net.onnx --data MNIST/ --start 1 --skip 4 \\
      --radii 0:1:0.05 --run runs/mine --figure sizes.png

A query of each input serves all radii: the radius changes the threshold only. --sets may be given
again, for the same model under other noise.

{MARGINAL_HELP}A radius that is chosen by the curve needs another calibration set.
"""


def add_curve(commands: Commands) -> None:
    parser = commands.add_parser(
        "curve",
        run=run_curve,
        help="mean size of sets against radius, beside certified accuracy",
        description="Answer for inputs as they are, at many radii from one query each, and print "
        "or draw how the sets grow with the radius.",
        epilog=SET_CURVE_EPILOG,
    )
    group = parser.add_argument_group("sets")
    group.add_argument(
        "--sets",
        required=True,
        action="append",
        metavar="FILE",
        help="file of `dsrs conformal calibrate`, for whatever radius; may be given again",
    )
    group.add_argument("--radii", required=True, metavar="LIST", help=FORMS)
    group.add_argument(
        "--run",
        action="append",
        default=[],
        dest="runs",
        metavar="RUN",
        help="run folder, whose certified accuracy stands beside the sizes; may be given again",
    )
    add_model_options(parser.add_argument_group("model and data, not those of the calibration"))
    parser.add_argument("--figure", type=Path, metavar="FILE", help=".png, .svg or .pdf to draw")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run_curve(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import SetPredictor, Sets, size_curve

    if arguments.figure:
        check_figure(arguments.figure, overwrite=True)
    radii = parse_radii(arguments.radii)
    files = [Sets.load(path) for path in arguments.sets]
    accuracies = _accuracies(arguments.runs, radii)
    classifier, dataset, indices = model_and_inputs(arguments)
    curves = {}
    for path, sets in zip(arguments.sets, files, strict=True):
        predictor = SetPredictor(classifier, sets, device=arguments.device)
        queries = "1 query" if sets.draws == 1 else f"{sets.draws} queries"
        name = f"sigma {sets.law.sigma:g}, {queries}"
        curves[name if name not in curves else f"{name} ({path})"] = size_curve(
            predictor,
            dataset,
            radii,
            indices,
            progress=lambda total: Progress(total, "answering", quiet=arguments.quiet),
        )
    if arguments.json:
        guarantees = [sets.guarantee for sets in files]
        curve = {"guarantees": guarantees, "sizes": curves, "certified": accuracies}
        print_json("conformal-curve", curve)
    else:
        print(_curve_text(radii, curves, accuracies))
        print(f"mean size of sets of {len(indices)} inputs as they are, one at each radius")
        print(MARGINAL_HELP, end="")
    if arguments.figure:
        from dsrs.reports import draw_sizes

        draw_sizes(curves, accuracies, classifier.num_classes, arguments.figure)
        print(f"wrote {arguments.figure}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _accuracies(paths: list[str], radii: list[float]) -> dict[str, MethodAccuracy]:
    """Certified accuracy of every method of every run, by name."""
    from dsrs.measures import certified_accuracy
    from dsrs.store import open_run

    found = {}
    for path in paths:
        with open_run(path) as opened:
            results, n = list(opened.results()), opened.plan.n
        for one in certified_accuracy(results, radii):
            found[f"{Path(path).name}, {one.method}, {n:,} queries"] = one
    return found


def _curve_text(
    radii: list[float],
    curves: dict[str, list[CurvePoint]],
    accuracies: dict[str, MethodAccuracy],
) -> str:
    from dsrs.measures import percent

    rows = []
    for place, radius in enumerate(radii):
        sizes = [f"{points[place].mean_size:.3f}" for points in curves.values()]
        shares = [percent(Fraction(one.correct[place], one.total)) for one in accuracies.values()]
        rows.append([f"{radius:g}", *sizes, *shares])
    certified = [f"certified (%): {name}" for name in accuracies]
    return table(rows, ["radius", *curves, *certified])


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "conformal",
        help="sets of classes that hold the true one although inputs are moved",
    )
    verbs = parser.add_subparsers()
    for add in (add_tune, add_calibrate, add_predict, add_report, add_curve):
        add(verbs)

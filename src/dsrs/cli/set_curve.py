"""`dsrs conformal curve`: mean size of sets against radius, beside certified accuracy."""

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
from dsrs.cli.radii import FORMS, parse_radii
from dsrs.cli.set_options import MARGINAL_HELP
from dsrs.cli.tables import table
from dsrs.files import check_figure

if TYPE_CHECKING:
    from dsrs.conformal import CurvePoint
    from dsrs.measures import MethodAccuracy

EPILOG = f"""\
examples:
  dsrs conformal curve --sets sets.json --model net.onnx --data MNIST/ --start 1 --skip 4 \\
      --radii 0:1:0.05 --run runs/mine --figure sizes.png

A query of each input serves all radii: the radius changes the threshold only. --sets may be given
again, for the same model under other noise.

{MARGINAL_HELP}A radius that is chosen by the curve needs another calibration set.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "curve",
        run=run,
        help="mean size of sets against radius, beside certified accuracy",
        description="Answer for inputs as they are, at many radii from one query each, and print "
        "or draw how the sets grow with the radius.",
        epilog=EPILOG,
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


def run(arguments: argparse.Namespace) -> int:
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
        print(_text(radii, curves, accuracies))
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


def _text(
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

"""`dsrs conformal tune`: which noise gives the smallest sets, predicted before calibration."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_model_options, add_workers, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.set_options import MARGINAL_HELP, add_promise_options, add_score, plan_from
from dsrs.cli.tables import table
from dsrs.cli.values import numbers
from dsrs.files import check_new_file, write_whole

if TYPE_CHECKING:
    from dsrs.conformal import SetForecast

EPILOG = f"""\
examples:
  dsrs conformal tune --model net.onnx --data MNIST/ --split train --stop 300 --radius 0.5 \\
      --output tuned.json
  dsrs conformal calibrate --model net.onnx --data MNIST/ --skip 4 --law tuned.json \\
      --radius 0.5 --output sets.json

Each half of the inputs stands for calibration, the other for tests. What is printed is a prediction
and no promise: inputs that chose the noise are no longer like new ones, so calibrate on others
(`calibrate --law` refuses those of this file).

{MARGINAL_HELP}"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        run=run,
        help="predict which noise gives the smallest sets",
        description="Try sizes of noise on labelled inputs and predict the mean size of sets at "
        "this radius and coverage, for each of them and each score.",
        epilog=EPILOG,
    )
    add_model_options(
        parser.add_argument_group("model and data, other than those of calibration and tests")
    )
    group = parser.add_argument_group("what will be promised")
    add_promise_options(group, sigma=False)
    group.add_argument(
        "--sigmas",
        type=numbers,
        help="sizes of noise to try, such as 0.12,0.25,0.5 (default: 0.5 to 4 times the radius)",
    )
    add_score(group, "all are tried unless one is named")
    group.add_argument("--n", default=1000, help="calibration inputs that there will be")
    group.add_argument(
        "--calibration-draws",
        default=1,
        help="noisy queries of each input, here and in calibration",
    )
    group.add_argument(
        "--confidence", type=float, help="with which the promise is for the calibration set"
    )
    add_workers(group)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write the best noise and score into, for `dsrs conformal calibrate`",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
    parser.add_argument("--json", action="store_true", help="print the predictions as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import SCORES, TUNING_SEED, tune_sets
    from dsrs.store import KnownInputs

    if arguments.output:
        check_new_file(arguments.output, arguments.overwrite)
    classifier, dataset, chosen = model_and_inputs(arguments)
    arguments.sigma = arguments.sigmas[0] if arguments.sigmas else max(arguments.radius, 1e-9)
    forecasts = tune_sets(
        classifier,
        dataset,
        plan_from(arguments, dataset),
        arguments.sigmas,
        chosen,
        scores=[arguments.score] if arguments.score else tuple(SCORES),
        inputs=arguments.n,
        workers=arguments.workers or 1,
        progress=lambda total: Progress(total, "tuning", quiet=arguments.quiet),
    )
    known = KnownInputs.of(dataset, chosen, TUNING_SEED).to_dict()
    looked = {"data_fingerprint": known.pop("data"), "indices": known.pop("inputs"), **known}
    best: dict[str, Any] = forecasts[0].to_dict() | {"radius": arguments.radius}
    best |= {"coverage": arguments.coverage, "tuning": looked}
    if arguments.json:
        print_json("conformal-tune", {"best": best, "forecasts": forecasts})
    else:
        print(forecast_text(forecasts))
    if arguments.output:
        write_whole(arguments.output, (json.dumps(best) + "\n").encode())
        print(f"wrote {arguments.output}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def forecast_text(forecasts: list[SetForecast]) -> str:
    """The predictions as a table, the smallest sets first."""
    from dsrs.measures import ceil_text

    rows = [
        [
            f"{forecast.law.sigma:g}",
            forecast.score,
            ceil_text(forecast.level, 6),
            f"{forecast.mean_size:.3f}",
            f"{forecast.error:.3f}",
            "no number" if forecast.fewest_inputs is None else f"{forecast.fewest_inputs:,}",
        ]
        for forecast in forecasts
    ]
    heads = ["sigma", "score", "level", "mean size", "std error", "inputs needed"]
    note = (
        "predicted mean size of sets; `inputs needed` is how many calibration inputs a finite "
        "threshold takes\na prediction is no promise, and sets that are calibrated afterwards keep "
        "theirs on average, not for each single input"
    )
    return f"{table(rows, heads)}\n{note}"

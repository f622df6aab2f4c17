"""`dsrs conformal tune`, `calibrate` and `predict`: prediction sets from one noisy query each."""

from __future__ import annotations

import argparse
import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_model_options, add_workers, model_and_inputs
from dsrs.cli.noise_options import (
    add_grid,
    add_law_options,
    add_seed,
    add_shape_options,
    grid_from,
    inputs_that_chose,
    law_from,
    noise_text,
    read_tuned,
)
from dsrs.cli.options import Commands, Options, numbers, one_of
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput
from dsrs.files import check_new_file, write_whole
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.conformal import PredictionSet, SetForecast, SetPlan, Sets
    from dsrs.datasets import Dataset

# ---- What the commands share

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


# ---- `dsrs conformal tune`: which noise gives the smallest sets, predicted before calibration

TUNE_SETS_EPILOG = f"""\
examples:
  dsrs conformal tune --model net.onnx --data MNIST/ --split train --stop 300 --radius 0.5 \\
      --output tuned.json
  dsrs conformal calibrate --model net.onnx --data MNIST/ --skip 4 --law tuned.json \\
      --radius 0.5 --output sets.json

Each half of the inputs stands for calibration, the other for tests. What is printed is a prediction
and no promise: inputs that chose the noise are no longer like new ones, so calibrate on others
(`calibrate --law` refuses those of this file).

{MARGINAL_HELP}"""


def add_tune(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        run=run_tune,
        help="predict which noise gives the smallest sets",
        description="Try sizes of noise on labelled inputs and predict the mean size of sets at "
        "this radius and coverage, for each of them and each score.",
        epilog=TUNE_SETS_EPILOG,
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


def run_tune(arguments: argparse.Namespace) -> int:
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


# ---- `dsrs conformal calibrate`: the threshold of prediction sets, from labelled inputs

CALIBRATE_SETS_EPILOG = f"""\
examples:
  dsrs conformal calibrate --model net.onnx --data calibration.npz --sigma 0.5 --radius 0.5 \\
      --coverage 0.9 --output sets.json
  dsrs conformal predict --sets sets.json --model net.onnx --data test.npz
      For each input a set of classes that holds the true one with probability 0.9, although every
      test input may have been moved by up to 0.5, from one noisy query each.
  dsrs conformal calibrate --model net.onnx --data MNIST/ --skip 4 --law tuned.json --radius 1 \\
      --confidence 0.95 --calibration-draws 8 --output sets.json
      Noise and score from `dsrs conformal tune`; coverage for 19 of 20 calibration sets; 8 draws
      of noise for each calibration input, which cost nothing when answers are given.

{MARGINAL_HELP}
Calibration inputs must be like the clean test inputs (drawn alike, in any order: of sorted data
take every 4th with --skip, not the first ones), and neither the training of the model nor the
choice of the noise may have seen them.
"""


def add_calibrate(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        run=run_calibrate,
        help="find the threshold of prediction sets on labelled inputs",
        description="Ask the model once for each calibration input under noise, find the threshold "
        "of the scores, and keep it with the proof of its coverage under shifts.",
        epilog=CALIBRATE_SETS_EPILOG,
    )
    add_model_options(parser.add_argument_group("model and data"))
    group = parser.add_argument_group("what is promised")
    add_promise_options(group)
    add_score(group, "threshold unless --law says otherwise")
    group.add_argument(
        "--calibration-draws",
        default=1,
        help="noisy queries of each calibration input: more make the threshold steadier",
    )
    group.add_argument(
        "--confidence",
        type=float,
        help="keep the promise for this calibration set, except if it is one of an unlucky "
        "1 - CONFIDENCE, and not only on average over calibration sets",
    )
    group.add_argument(
        "--off-grid",
        action="store_true",
        help="moved inputs may lie between points of the grid, which 8-bit images never do: costs "
        "the distance (it is on where a calibration input lies there itself)",
    )
    group.add_argument(
        "--batch-size",
        default=1,
        dest="batch",
        help="rows of every forward pass here and in answers, filled up with copies",
    )
    add_seed(group, default=None, help="of the noise, which may be public (default: random)")
    add_workers(group)
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="file of the sets to write"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run_calibrate(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import calibrate

    check_new_file(arguments.output, arguments.overwrite)
    classifier, dataset, chosen = model_and_inputs(arguments)
    refuse_tuning_inputs(arguments.law, dataset, chosen)
    sets = calibrate(
        classifier,
        dataset,
        plan_from(arguments, dataset),
        chosen,
        seed=arguments.seed,
        device=arguments.device,
        workers=arguments.workers or 1,
        progress=lambda total: Progress(total, "calibrating", quiet=arguments.quiet),
    )
    sets.save(arguments.output)
    if arguments.json:
        fields = sets.to_dict()
        del fields["calibration"]["scores"], fields["model"]["probes"]
        print_json("conformal-calibrate", fields)
    else:
        print(calibration_text(sets))
    print(f"wrote {arguments.output}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def calibration_text(sets: Sets) -> str:
    """What was calibrated, as text."""
    from dsrs.conformal import fewest_inputs
    from dsrs.measures import ceil_text

    counted, grid = sets.calibration, sets.grid
    lines = [
        f"promise     {sets.guarantee}",
        f"noise       {sets.law.describe()}",
        f"inputs      {counted.inputs:,} with {counted.draws} draw(s) of noise each",
        f"level       {ceil_text(sets.level, 6)} of clean inputs, which leaves {sets.coverage:g} "
        f"under shifts (multiplier {sets.proof.multiplier:.6g})",
        f"threshold   {sets.threshold:.6g} of the score `{sets.score}` (rank {counted.rank:,} of "
        f"{len(counted.scores):,})",
    ]
    if grid is not None:
        lines.append(
            f"grid        {grid.grid.text}; inputs may lie {ceil_text(grid.aside, 6)} (l2) from it"
        )
    lines += [f"note: {caveat}" for caveat in sets.caveats]
    if sets.says_nothing:
        enough = fewest_inputs(sets.level)
        more = "no number of inputs does" if enough is None else f"it takes {enough:,} inputs"
        lines.append(
            "note: every set will hold all classes, since so high a level needs more calibration "
            f"inputs ({more}); or ask for a smaller radius or coverage, or use more noise"
        )
    return "\n".join(lines)


# ---- `dsrs conformal predict`: a set of classes for each input, from one noisy query

PREDICT_SETS_EPILOG = f"""\
examples:
  dsrs conformal predict --sets sets.json --model net.onnx --data test.npz
  dsrs conformal predict --sets sets.json --model net.onnx --data cat.png --json

{MARGINAL_HELP}
Each answer has fresh noise, drawn after the input has arrived, so that nobody who moved the input
can have known it; asked again, the answer may differ. With --seed answers are repeatable, their
noise is public, and nothing is promised of inputs that were chosen afterwards (docs/security.md).
Another model than the one that was calibrated is refused. A set may be empty.
"""


def add_predict(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        run=run_predict,
        help="a set of classes for each input, from one noisy query",
        description="Ask the model under noise and print the classes within the threshold.",
        epilog=PREDICT_SETS_EPILOG,
    )
    group = parser.add_argument_group("sets")
    add_sets(group)
    add_seed(
        group,
        default=None,
        help="for experiments: same seed, same noise (default: random, fresh for each answer)",
    )
    add_model_options(parser.add_argument_group("model and data"))
    parser.add_argument("--json", action="store_true", help="print the sets as JSON")
    parser.add_argument("--verbose", action="store_true", help="where an error came from")


def run_predict(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import SetPredictor, Sets

    sets = Sets.load(arguments.sets)
    classifier, dataset, indices = model_and_inputs(arguments)
    predictor = SetPredictor(
        classifier,
        sets,
        seed=arguments.seed,
        device=arguments.device,
    )
    found = [(index, predictor.predict(dataset.input(index), index=index)) for index in indices]
    if arguments.json:
        answers = [_record(index, answer, dataset) for index, answer in found]
        promise = {"guarantee": sets.guarantee, "caveats": sets.caveats}
        print_json("conformal-predict", promise | {"sets": answers})
        return 0
    rows = [[index, len(answer), _names(answer, dataset)] for index, answer in found]
    print(table(rows, ["input", "size", "classes"]))
    print(_summary([answer for _, answer in found], sets))
    if dataset.labels is not None:
        held = sum(dataset.label(index) in answer for index, answer in found)
        share = floor_text(Fraction(100 * held, len(found)), 1)
        print(f"labels: in {held} of {len(found)} sets ({share} %), for inputs as they are")
    print(promise_text(sets))
    print(noise_text(arguments.seed))
    return 0


def _summary(answers: list[PredictionSet], sets: Sets) -> str:
    sizes = [len(answer) for answer in answers]
    mean = sum(sizes) / len(sizes)
    return (
        f"mean size: {mean:.3f} of {sets.model.num_classes} classes; empty: {sizes.count(0)}; "
        f"{sets.draws} noisy {'query' if sets.draws == 1 else 'queries'} an input"
    )


def _names(answer: PredictionSet, dataset: Dataset) -> str:
    names = dataset.class_names
    listed = [names[c] if c < len(names) else str(c) for c in answer.classes]
    return ", ".join(listed) or "(none)"


def _record(index: int, answer: PredictionSet, dataset: Dataset) -> dict[str, Any]:
    return {
        "index": index,
        "label": dataset.label(index),
        "classes": list(answer.classes),
        "shares": list(answer.shares),
        "draws": answer.draws,
        "seed": answer.seed,
        "seed_public": answer.seed_public,
    }

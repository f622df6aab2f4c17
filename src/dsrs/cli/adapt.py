"""`dsrs adapt`: make a model that was never trained under noise bear it."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from dsrs.certifying.progress import Progress
from dsrs.cli.model_options import (
    add_batch_size,
    add_goal,
    add_model_options,
    add_workers,
    chosen_inputs,
    model_and_data,
    other_split,
)
from dsrs.cli.options import Commands, Options
from dsrs.cli.output import print_json
from dsrs.cli.split_note import note_on_split
from dsrs.cli.tune import forecast_row, forecast_table, round_radii
from dsrs.cli.values import one_of
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsrs.adapting import Adapted, Learning
    from dsrs.classifiers.base import Classifier
    from dsrs.datasets import Dataset

INPUTS = 24
EPILOG = """\
examples:
  dsrs adapt --model net.onnx --data images/ --output adapted/
  dsrs certify --model adapted/ --law adapted/tuned.json --data images/ \\
      --leave-out adapted/tuned.json --output runs/adapted
  dsrs adapt --model net.onnx --data images/ --by dct --output adapted/

ways (--by): clip (to the bounds of the data), dct (a denoiser without training), dct-mild (the
same, leaving a fifth of what it takes away), statistics (of batch normalisation, estimated again
under noise), and two that learn, tried with --train-data: denoiser (a small network in front of the
frozen model, without labels) and fine-tune (the model's own weights under noise, by a recipe of
`dsrs train`). Each is judged as `dsrs landscape` and `dsrs tune` would, by the same number of votes
on the same inputs, and the best one is written as a model. The inputs that choose are a part of the
test split, which the model has not been trained on; --leave-out of `dsrs certify` leaves them out
of what is reported.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "adapt",
        run=run,
        help="make a model that was never trained under noise bear it",
        description="Try what helps a model under noise, without touching its training, and write "
        "the best as a model that every other command takes.",
        epilog=EPILOG,
    )
    source = parser.add_argument_group("model and data")
    add_model_options(source)
    source.add_argument(
        "--inputs",
        default=INPUTS,
        help=f"how many inputs choose, spread over the data (default: {INPUTS}), where --start, "
        "--stop, --skip and --indices do not say which",
    )
    _add_budget(parser.add_argument_group("what is asked"))
    _add_learning(parser.add_argument_group("ways that learn"))
    group = parser.add_argument_group("the answer")
    group.add_argument("--output", required=True, help="folder of the adapted model")
    group.add_argument("--json", action="store_true", help="print the answer as JSON")
    group.add_argument("--quiet", action="store_true", help="no progress, no advice")
    add_workers(group)


def _add_budget(group: Options) -> None:
    group.add_argument(
        "--by",
        action="append",
        metavar="WAY",
        help="try this way: clip, dct, dct-mild, statistics, denoiser or fine-tune; give it "
        "again for several (default: all that need no training, and with --train-data all)",
    )
    group.add_argument(
        "--train-data",
        help="data to learn from, of which nothing is reported; statistics and a way that --by "
        "names take the train split of --data by default",
    )
    add_goal(group)
    group.add_argument("--votes", default=1000, help="votes for each input and candidate")
    group.add_argument(
        "--reach",
        type=float,
        help="largest noise of interest (default: as far as each candidate bears noise)",
    )
    group.add_argument("--seed", default=0, help="same seed, same votes")
    add_batch_size(group)


def _add_learning(group: Options) -> None:
    group.add_argument(
        "--epochs", default=16, help="passes over the data to learn from (default: 16)"
    )
    group.add_argument(
        "--sigma",
        type=float,
        help="noise to learn under (default: three times the best of the ways that do not learn)",
    )
    group.add_argument(
        "--recipe",
        type=one_of("dsrs.training.recipes", "RECIPES"),
        default="gaussian",
        help="of fine-tune, as for dsrs train (default: gaussian)",
    )
    group.add_argument("--learning-rate", type=float, help="its peak (default: by the way)")
    group.add_argument(
        "--hold-out",
        default=0.0,
        help="share of the data that is not learned from, as for dsrs train (default: 0)",
    )
    group.add_argument(
        "--train-precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="arithmetic of the training (default: auto, bfloat16 on CUDA devices that have it)",
    )


def run(arguments: argparse.Namespace) -> int:
    from dsrs.adapting import Budget, adapt
    from dsrs.reports.candidates_page import write_candidates_page

    model, dataset = model_and_data(arguments)
    if not arguments.quiet:
        note_on_split(arguments, model, dataset)
    names = ("votes", "n", "alpha", "objective", "reach", "seed", "batch", "workers")
    adapted = adapt(
        model,
        dataset,
        _choosing_inputs(arguments, dataset),
        arguments.output,
        ways=tuple(arguments.by or ()),
        budget=Budget(**{name: getattr(arguments, name) for name in names}),
        unlabelled=_unlabelled(arguments, model, dataset),
        learning=_learning(arguments),
        watch=lambda total, name: Progress(total, name, quiet=arguments.quiet),
    )
    page = write_candidates_page(arguments.output)
    if arguments.json:
        print_json("adapt", adapted)
        return 0
    print(adapted_text(adapted))
    if not arguments.quiet:
        print(f"wrote {page}: the candidates side by side\n\n" + _next(arguments, adapted))
    return 0


def _learning(arguments: argparse.Namespace) -> Learning | None:
    """How to learn, where it was asked for; what is wrong is refused in any case."""
    from dsrs.adapting import LEARNING_WAYS, Learning
    from dsrs.training import Machine

    names = ("epochs", "sigma", "recipe", "learning_rate", "hold_out", "seed")
    learning = Learning(**{name: getattr(arguments, name) for name in names})
    if not (arguments.train_data or set(arguments.by or ()) & set(LEARNING_WAYS)):
        return None
    device = "cpu" if arguments.device == "cpu" else arguments.device.partition(":")[0]
    machine = Machine(device, arguments.train_precision, arguments.workers)
    return dataclasses.replace(learning, machine=machine)


def _choosing_inputs(arguments: argparse.Namespace, dataset: Dataset) -> list[int]:
    """The inputs that the options name, or some that are spread over the data."""
    if (arguments.start, arguments.stop, arguments.skip, arguments.indices) != (0, None, 1, None):
        return chosen_inputs(arguments, dataset)
    if arguments.inputs < 1:
        raise InvalidInput(f"--inputs must be at least 1, got {arguments.inputs}")
    step = max(1, len(dataset) // arguments.inputs)
    return list(range(step // 2, len(dataset), step))[: arguments.inputs]


def _unlabelled(
    arguments: argparse.Namespace, model: Classifier, dataset: Dataset
) -> tuple[Dataset, Sequence[int]] | None:
    """Inputs to estimate and to learn from, of which none chooses or is reported."""
    own = arguments.train_data
    changed = {"data": own, "labels": None} if own else {}
    try:
        found = other_split(arguments, dataset, model, split="train", no_labels=False, **changed)
    except DataError:
        if own:
            raise
        return None
    if found is None or found.input_shape != dataset.input_shape:
        if own:
            raise InvalidInput("--train-data must be of the shape of --data, and other inputs")
        return None
    return found, range(len(found))


def adapted_text(adapted: Adapted) -> str:
    """The candidates side by side, and what follows."""
    from dsrs.reports.candidates_page import learned_lines

    first, best = adapted.candidates[0], adapted.best
    tops = [float(each.tuned.best.radii.max()) for each in adapted.candidates]
    radii = round_radii(max(tops))
    rows = [forecast_row(each.title, each.tuned.best, radii) for each in adapted.candidates]
    lines = [
        forecast_table(first.tuned, rows, radii),
        "",
        *learned_lines(adapted.to_dict()),
        *(f"{name} was left out: {reason}" for name, reason in adapted.failed.items()),
    ]
    if best is first:
        others = max((each.value for each in adapted.candidates[1:]), default=0.0)
        lines.append(
            f"nothing that was tried helps this model: {first.value:.4f} as it is, at most "
            f"{others:.4f} with help. {_what_would_help(adapted)}"
        )
        return "\n".join(lines)
    gain, low, high = adapted.gain
    times = f" ({best.value / first.value:.2f} times)" if first.value > 0 else ""
    lines.append(
        f"best: {best.title}, {best.value:.4f} instead of {first.value:.4f}{times}; difference "
        f"{gain:.4f}, paired 95% interval {low:.4f} to {high:.4f}"
        + ("" if low > 0 else "; these inputs cannot tell it from the model as it is")
    )
    return "\n".join(lines)


def _what_would_help(adapted: Adapted) -> str:
    """What is left to try."""
    if any(each.name == "fine-tune" for each in adapted.candidates):
        return "Train longer or under other noise: --epochs, --sigma, dsrs train --from"
    return (
        "Training under noise does help, if you have the weights and labelled data: --train-data "
        "DATA --by fine-tune, or dsrs train --from"
    )


def _next(arguments: argparse.Namespace, adapted: Adapted) -> str:
    folder, model = arguments.output.rstrip("/"), f"--model {arguments.output}"
    if adapted.model_file is None:
        denoise = "" if adapted.best.denoiser is None else f" --denoise {adapted.best.denoiser}"
        model = f"--model {' --model '.join(arguments.model)}{denoise}"
    return (
        f"next: dsrs certify {model} --data {arguments.data} --law {folder}/tuned.json \\\n"
        f"          --leave-out {folder}/tuned.json --output ..."
    )

"""`dsrs adapt`: make a model that was never trained under noise bear it."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import (
    add_batch_size,
    add_goal,
    add_model_options,
    add_workers,
    chosen_inputs,
    model_and_data,
    note_on_split,
    note_without_noise,
    other_split,
)
from dsrs.cli.options import Commands, Options, Typed, one_of
from dsrs.cli.output import print_json
from dsrs.cli.tune import forecast_row, forecast_table, round_radii
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsrs.adapting import Adapted, Learning
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset

# ---- The command that follows `dsrs adapt`, with the options that it needs again

# Options of both commands, by their keys: of the data and of what is asked, and of a model that
# is not written as a file.
DATA_KEYS = (
    *("data", "split", "labels", "label-column", "no-labels", "class-names", "bounds", "scale"),
    *("image-size", "image-crop", "image-resample", "image-stretch", "device", "n", "alpha"),
)
MODEL_KEYS = (
    *("model", "weights", "channels-last", "mean", "std", "num-classes", "precision", "compile"),
)


def next_certify(arguments: argparse.Namespace, adapted: Adapted, others: bool) -> str:
    """The `dsrs certify` of the adapted model, as it is typed.

    Args:
        arguments: those of `dsrs adapt`.
        adapted: what it made.
        others: whether the data has inputs that did not choose.
    """
    law = str(adapted.folder / "tuned.json")
    texts: Mapping[str, Typed] = arguments.texts
    if adapted.model_file is None:
        model = list(_typed_again(texts, MODEL_KEYS))
        if adapted.best.denoiser is not None:
            model += ["--denoise", adapted.best.denoiser]
    else:
        model = ["--model", str(adapted.folder)]
    data = list(_typed_again(texts, DATA_KEYS if others else DATA_KEYS[1:]))
    if not others:
        data = ["--data", "OTHER_DATA", *data]
    lines = [
        f"next: dsrs certify {shlex.join([*model, *data])} \\",
        f"          --law {shlex.quote(law)} --leave-out {shlex.quote(law)} --output runs/adapted",
        "      dsrs report runs/adapted; dsrs check runs/adapted",
    ]
    if not others:
        lines.insert(0, "all inputs of the data chose, so none is left to report: certify others\n")
    return "\n".join(lines)


def _typed_again(texts: Mapping[str, Typed], keys: Iterable[str]) -> Iterator[str]:
    """The words that were typed for these options."""
    for key in keys:
        text = texts.get(key)
        if isinstance(text, list):
            repeated = key == "model"
            words = [str(part) for part in text]
            yield from (
                (word for part in words for word in (f"--{key}", part))
                if repeated
                else (f"--{key}", *words)
            )
        elif text:
            yield f"--{key}"
            if isinstance(text, str):
                yield text


# ---- The verb

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
        dest="ways",
        help="try this way: clip, dct, dct-mild, statistics, denoiser or fine-tune (which needs "
        "labels); give it again, or dct,clip, for several (default: all that need no training, and "
        "with --train-data all)",
    )
    group.add_argument(
        "--train-data",
        dest="unlabelled",
        help="data to learn from, of which nothing is reported; a folder of pictures is scaled to "
        "the shape of --data. statistics and a way that --by names take the train split of --data "
        "by default",
    )
    group.add_argument("--train-labels", help="as --labels, for --train-data")
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
        type=one_of("dsrs.training", "RECIPES"),
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
    from dsrs.reports import write_candidates_page

    model, dataset = model_and_data(arguments)
    chosen = _choosing_inputs(arguments, dataset)
    if not arguments.quiet:
        note_on_split(arguments, model, dataset)
        note_without_noise(model, dataset, chosen)
    names = ("votes", "n", "alpha", "objective", "reach", "seed", "batch", "workers")
    adapted = adapt(
        model,
        dataset,
        chosen,
        arguments.output,
        ways=_ways(arguments),
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
        print(f"wrote {page}: the candidates side by side\n")
        print(next_certify(arguments, adapted, others=len(dataset) > len(chosen)))
    return 0


def _ways(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The ways that --by names, each once."""
    texts = [part.strip() for text in arguments.ways or () for part in text.split(",")]
    return tuple(dict.fromkeys(texts))


def _learning(arguments: argparse.Namespace) -> Learning | None:
    """How to learn, where it was asked for; what is wrong is refused in any case."""
    from dsrs.adapting import LEARNING_WAYS, Learning
    from dsrs.training import Machine

    names = ("epochs", "sigma", "recipe", "learning_rate", "hold_out", "seed")
    learning = Learning(**{name: getattr(arguments, name) for name in names})
    if not (arguments.unlabelled or set(_ways(arguments)) & set(LEARNING_WAYS)):
        return None
    device = "cpu" if arguments.device == "cpu" else arguments.device.partition(":")[0]
    machine = Machine(device, arguments.train_precision, arguments.workers)
    return dataclasses.replace(learning, machine=machine)


def _choosing_inputs(arguments: argparse.Namespace, dataset: Dataset) -> list[int]:
    """The inputs that the options name, or some that are spread over the data, at most half."""
    offered = chosen_inputs(arguments, dataset)
    if (arguments.start, arguments.stop, arguments.skip, arguments.indices) != (0, None, 1, None):
        return offered
    if arguments.inputs < 1:
        raise InvalidInput(f"--inputs must be at least 1, got {arguments.inputs}")
    count = max(1, min(arguments.inputs, len(offered) // 2))
    if count < arguments.inputs and not arguments.quiet:
        print(
            f"note: {count} of {len(offered)} inputs choose, the others are for what is reported",
            file=sys.stderr,
        )
    step = len(offered) // count
    return offered[step // 2 :: step][:count]


def _unlabelled(
    arguments: argparse.Namespace, model: Classifier, dataset: Dataset
) -> tuple[Dataset, Sequence[int]] | None:
    """Inputs to estimate and to learn from, of which none chooses or is reported."""
    own = arguments.unlabelled
    changed = _as_the_data(arguments, dataset) if own else {}
    try:
        found = other_split(arguments, dataset, model, split="train", no_labels=False, **changed)
    except DataError:
        if own:
            raise
        return None
    if own and found is None:
        raise InvalidInput("--train-data holds the inputs of --data; give others")
    if found is None or found.input_shape != dataset.input_shape:
        if own and found is not None:
            raise InvalidInput(
                f"--train-data has inputs of the shape {found.input_shape}, and --data of the "
                f"shape {dataset.input_shape}; they must be the same"
            )
        return None
    return found, range(len(found))


def _as_the_data(arguments: argparse.Namespace, dataset: Dataset) -> dict[str, object]:
    """How --train-data is read: images of a folder in the size of --data, unless it is given."""
    from dsrs.datasets import takes_frame

    changed: dict[str, object] = {"data": arguments.unlabelled, "labels": arguments.train_labels}
    asked = arguments.size is not None or arguments.crop is not None
    shape = dataset.input_shape
    if not asked and takes_frame(arguments.unlabelled) and len(shape) == 3 and shape[1] == shape[2]:
        changed |= {"size": shape[1], "crop": None}
    if not Path(arguments.unlabelled).exists():
        raise InvalidInput(f"--train-data: {arguments.unlabelled} does not exist")
    return changed


def adapted_text(adapted: Adapted) -> str:
    """The candidates side by side, and what follows."""
    from dsrs.reports import learned_lines

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
        + ("" if low > 0 else "; these inputs cannot tell it from the model as it is (--inputs)")
    )
    lines.append("these inputs made the choice, which flatters it: expect somewhat less on others")
    return "\n".join(lines)


def _what_would_help(adapted: Adapted) -> str:
    """What is left to try."""
    if any(each.name == "fine-tune" for each in adapted.candidates):
        return "Train longer or under other noise: --epochs, --sigma, dsrs train --from"
    return (
        "Training under noise may help, if you have the weights and labelled data: --train-data "
        "DATA --by fine-tune, or dsrs train --from"
    )

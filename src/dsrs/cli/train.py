"""`dsrs train`: train a base classifier for smoothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import ERASE_LINE, Progress
from dsrs.cli.noise_options import add_law_options
from dsrs.cli.options import Command, Commands, Options, numbers, one_of, whole_numbers
from dsrs.errors import DataError, InvalidInput, MissingExtra
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.training import SavedModel, TrainingSettings

DESCRIPTION = """\
Train a base classifier under the noise it will be smoothed with, by one of several recipes.
Writes model.onnx, model.safetensors, card.json and checkpoint.pt into the output folder.
Settings that are not given are those of the paper and of the recipe's authors for this kind of
data (see --like and docs/training.md); with --epochs the learning-rate decays and the warm-up of k
keep their share of the run.
"""

EXAMPLE = """\
example:
  dsrs train --data data/fashion-mnist --recipe gaussian --sigma 0.5 --k 380 --output model/ \\
      --architecture mnist-cnn --epochs 10 --learning-rate 0.05 --decay-at 7,9
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        run=run,
        help="train a base classifier for smoothing (extra `train`)",
        description=DESCRIPTION,
        epilog=EXAMPLE,
    )
    parser.add_argument("--data", required=True, help="dataset with a train split, as for certify")
    parser.add_argument("--output", required=True, type=Path, help="folder of the model")
    add_law_options(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the last epoch")
    parser.add_argument(
        "--hold-out",
        default=0.0,
        help="share of the training inputs that is not trained on; the card names them",
    )
    _add_weights(parser.add_argument_group("weights to begin with"))
    _add_recipe_options(parser)
    _add_settings(parser.add_argument_group("settings (default: the recommended ones)"))
    _add_machine_options(parser.add_argument_group("machine"))


def _add_recipe_options(parser: Command) -> None:
    """--recipe, and an option for each setting that some recipe has."""
    from dsrs.training import RECIPES, recipe_options

    summaries = "; ".join(
        f"{name} ({recipe.source}): {recipe.summary}" for name, recipe in RECIPES.items()
    )
    group = parser.add_argument_group("recipe (its settings by default: the recommended ones)")
    group.add_argument(
        "--recipe",
        type=one_of("dsrs.training", "RECIPES"),
        default="gaussian",
        help=f"default: gaussian. {summaries}",
    )
    for name, (kind, help) in recipe_options().items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, dest=name, help=help)


def _add_weights(group: Options) -> None:
    group.add_argument(
        "--from",
        dest="start",
        metavar="MODEL",
        help="go on from these weights: a folder of `dsrs train`, an ONNX model, or a file of "
        "tensors for --architecture (.safetensors, .pth, .ckpt)",
    )
    group.add_argument(
        "--mean",
        type=numbers,
        default=(),
        help="means that the weights of --from expect images to be normalised by, where they do "
        "not say them",
    )
    group.add_argument("--std", type=numbers, default=(), help="the std of --mean, as many numbers")


def _add_settings(group: Options) -> None:
    group.add_argument(
        "--like",
        type=one_of("dsrs.training", "DATA"),
        help="settings for data like mnist, cifar10 or imagenet (default: by the image size)",
    )
    group.add_argument(
        "--architecture", help="a name of docs/training.md, or package.module:name of your own"
    )
    group.add_argument("--epochs", type=int, help="passes over the data; the schedule is scaled")
    group.add_argument("--learning-rate", type=float, help="step size of SGD in the first epoch")
    group.add_argument(
        "--decay-at", type=whole_numbers, help="epochs to cut the rate after: 50,100"
    )
    group.add_argument(
        "--schedule",
        choices=("steps", "one-cycle"),
        help="steps: cut the rate at --decay-at (default); one-cycle: raise it over a quarter of "
        "the run to --learning-rate, then lower it to 0 (best for few epochs)",
    )
    group.add_argument("--warm-up", type=int, help="epochs over which k rises; 0: none")
    group.add_argument(
        "--ramp-epochs",
        type=int,
        help="epochs over which attacks and added losses grow to full strength; 0: none",
    )
    group.add_argument("--batch-size", type=int, help="noisy images per step of the optimiser")


def _add_machine_options(group: Options) -> None:
    group.add_argument("--seed", default=0, help="seed of weights and noise")
    group.add_argument(
        "--device",
        choices=("auto", "cuda", "mps", "cpu"),
        default="auto",
        help="where to train (default: auto, the fastest there is)",
    )
    group.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="default: auto, bfloat16 on CUDA devices that have it, else float32",
    )
    group.add_argument(
        "--workers", type=int, dest="threads", help="CPU threads (default: all cores)"
    )
    group.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    """Train, and write the model's files."""
    from dsrs.datasets import load_dataset
    from dsrs.training import Machine, train_model, trained_on

    output: Path = arguments.output
    machine = Machine(arguments.device, arguments.precision, arguments.threads)
    dataset = load_dataset(arguments.data, "train")
    start = _saved(arguments)
    settings = settings_from(arguments, dataset)
    images = len(trained_on(len(dataset), settings.hold_out))
    with Progress(settings.epochs * images, "training", arguments.quiet) as progress:
        card = train_model(
            dataset,
            settings,
            output,
            test=_test_split(arguments.data, dataset),
            start=start,
            resume=arguments.resume,
            machine=machine,
            watcher=_Printer(progress, images, settings.epochs, arguments.quiet),
        )
    if card["test"] is None:
        print("test accuracy: not measured (the data has no test split)")
    else:
        print(
            f"test accuracy: {floor_text(card['test']['clean_accuracy'], 4)} clean, "
            f"{floor_text(card['test']['noisy_accuracy'], 4)} under noise "
            f"({card['test']['images']:,} images)"
        )
    print(f"wrote {output / 'model.onnx'}, model.safetensors and card.json")
    return 0


def settings_from(arguments: argparse.Namespace, dataset: Dataset) -> TrainingSettings:
    """The recommended settings for this data, with what the command line changes."""
    from dsrs.training import recipe_options, recommended_settings, similar_data, with_recipe

    like = arguments.like or similar_data(dataset.input_shape)
    settings = recommended_settings(
        like, arguments.recipe, arguments.sigma, arguments.k, eta=arguments.eta
    )
    if arguments.epochs is not None:
        settings = settings.in_epochs(arguments.epochs)
    if arguments.warm_up is not None:
        settings = replace(settings, warm_up=arguments.warm_up, warm_up_unit="epoch")
    named = (
        *("architecture", "learning_rate", "decay_at", "batch_size", "ramp_epochs", "seed"),
        *("hold_out", "schedule"),
    )
    settings = replace(settings, **_given(arguments, named))
    return with_recipe(settings, **_given(arguments, recipe_options()))


def _saved(arguments: argparse.Namespace) -> SavedModel | None:
    """Return the model that --from names."""
    if arguments.start is None and (arguments.mean or arguments.std):
        raise InvalidInput("--mean and --std go with the weights of --from")
    if arguments.start is None:
        return None
    try:
        from dsrs.training import saved_model
    except ImportError:
        raise MissingExtra("torch", "train") from None
    normalised = {name: getattr(arguments, name) for name in ("architecture", "mean", "std")}
    return saved_model(arguments.start, **normalised)


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The options of these names that the command line has."""
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _test_split(path: str, dataset: Dataset) -> Dataset | None:
    from dsrs.datasets import load_dataset

    try:
        test = load_dataset(path, "test")
    except DataError:
        return None
    return None if test.fingerprint == dataset.fingerprint or test.labels is None else test


@dataclass
class _Printer:
    """Shows a run on the terminal: a bar on standard error, a line an epoch on standard output."""

    progress: Progress
    images: int
    epochs: int
    quiet: bool

    def started(self, finished_epochs: int) -> None:
        self.progress.skip(finished_epochs * self.images)
        if finished_epochs and not self.quiet:
            print(f"resumed after epoch {finished_epochs} of {self.epochs}")

    def batch_done(self, images: int) -> None:
        self.progress.advance(images)

    def epoch_done(self, record: dict[str, Any]) -> None:
        if self.quiet:
            return
        if sys.stderr.isatty():
            print(ERASE_LINE, end="", file=sys.stderr, flush=True)
        print(
            f"epoch {record['epoch']}/{self.epochs}: k {record['k']:g}, "
            f"learning rate {record['learning_rate']:g}, loss {record['loss']:.4f}, "
            f"accuracy under noise {floor_text(record['noisy_accuracy'], 4)}, "
            f"{record['seconds']:.0f} s",
            flush=True,
        )

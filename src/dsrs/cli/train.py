"""`dsrs train`: train a base classifier for smoothing."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.law_options import add_law_options
from dsrs.cli.options import Commands
from dsrs.cli.progress import Progress
from dsrs.cli.terminal import ERASE_LINE
from dsrs.cli.values import one_of, whole_numbers
from dsrs.errors import DataError, InvalidInput
from dsrs.measures.rounding import floor_text

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.training import TrainingSettings

DESCRIPTION = """\
Train a base classifier under the noise it will be smoothed with, by a recipe of the paper.
Writes model.onnx, model.safetensors, card.json and checkpoint.pt into the output folder.
Settings that are not given are the paper's for this kind of data (see --like); with --epochs
its learning-rate decays and its warm-up of k keep their share of the run.
"""

EXAMPLE = """\
example:
  dsrs train --data data/fashion-mnist --recipe gaussian --sigma 0.5 --k 380 --output model/ \\
      --architecture mnist-cnn --epochs 10 --learning-rate 0.05 --decay-at 7,9
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        help="train a base classifier for smoothing (extra `train`)",
        description=DESCRIPTION,
        epilog=EXAMPLE,
    )
    parser.add_argument("--data", required=True, help="dataset with a train split, as for certify")
    parser.add_argument("--output", required=True, type=Path, help="folder of the model")
    parser.add_argument(
        "--recipe",
        type=one_of("dsrs.training.recipes", "RECIPES"),
        default="gaussian",
        help="gaussian (default), consistency or smoothmix",
    )
    add_law_options(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the last epoch")
    paper = parser.add_argument_group("settings (default: the paper's)")
    paper.add_argument(
        "--like",
        type=one_of("dsrs.training.hyperparameters", "DATA"),
        help="whose settings: mnist, cifar10 or imagenet (default: by the image size)",
    )
    paper.add_argument("--architecture", help="a name, or package.module:name")
    paper.add_argument("--epochs", type=int, help="passes over the training images")
    paper.add_argument("--learning-rate", type=float, help="learning rate before the first cut")
    paper.add_argument(
        "--decay-at", type=whole_numbers, help="epochs to cut the rate after, such as 50,100"
    )
    paper.add_argument("--warm-up", type=int, help="epochs over which k rises; 0: none")
    paper.add_argument("--batch-size", type=int, help="noisy images of a gradient step")
    recipe = parser.add_argument_group("hyperparameters of a recipe (default: the paper's)")
    recipe.add_argument("--noises", type=int, help="noise vectors for each image")
    recipe.add_argument(
        "--lbd", type=float, help="consistency: weight (lambda) of the divergence between answers"
    )
    recipe.add_argument(
        "--second-weight",
        type=float,
        help="consistency: weight of the entropy; smoothmix: weight of the mixed images",
    )
    recipe.add_argument("--steps", type=int, help="smoothmix: steps to the adversarial image")
    recipe.add_argument("--step-size", type=float, help="smoothmix: length of a step")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--seed", type=int, default=0, help="of weights, order and noise")
    machine.add_argument(
        "--device",
        choices=("auto", "cuda", "mps", "cpu"),
        default="auto",
        help="where to train; auto (default): a GPU if there is one",
    )
    machine.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="of the forward passes; auto (default): bfloat16 on a GPU that has it",
    )
    machine.add_argument(
        "--workers", type=int, dest="threads", help="CPU threads (default: all cores)"
    )
    machine.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, and write the model's files."""
    from dsrs.datasets import load_dataset
    from dsrs.training import train_model

    output: Path = arguments.output
    dataset = load_dataset(arguments.data, "train")
    settings = settings_from(arguments, dataset)
    with Progress(settings.epochs * len(dataset), "training", arguments.quiet) as progress:
        card = train_model(
            dataset,
            settings,
            output,
            test=_test_split(arguments.data, dataset),
            resume=arguments.resume,
            device=arguments.device,
            precision=arguments.precision,
            threads=arguments.threads,
            watcher=_Printer(progress, len(dataset), settings.epochs, arguments.quiet),
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
    """The paper's settings for this data, with what the command line changes."""
    from dsrs.training import paper_settings
    from dsrs.training.hyperparameters import with_recipe

    like = arguments.like or _similar(dataset.input_shape)
    settings = paper_settings(
        like, arguments.recipe, arguments.sigma, arguments.k, eta=arguments.eta
    )
    if arguments.epochs is not None:
        settings = settings.in_epochs(arguments.epochs)
    if arguments.warm_up is not None:
        settings = replace(settings, warm_up=arguments.warm_up, warm_up_unit="epoch")
    named = ("architecture", "learning_rate", "decay_at", "batch_size", "seed")
    changes = {name: getattr(arguments, name) for name in named}
    settings = replace(
        settings, **{name: value for name, value in changes.items() if value is not None}
    )
    return with_recipe(settings, **_recipe_changes(arguments, settings))


def _recipe_changes(arguments: argparse.Namespace, settings: TrainingSettings) -> dict[str, Any]:
    changes = {}
    # `eta` is the recipes' own name of the weight; on the command line it belongs to the law.
    options = {"noises": "noises", "lbd": "lbd", "eta": "second_weight"}
    for name, option in {**options, "steps": "steps", "step_size": "step_size"}.items():
        value = getattr(arguments, option)
        if value is None:
            continue
        if not hasattr(settings.recipe, name):
            shown = "--" + option.replace("_", "-")
            raise InvalidInput(f"the recipe {settings.recipe.name} has no {shown}")
        changes[name] = value
    return changes


def _similar(input_shape: tuple[int, ...]) -> str:
    if input_shape[0] == 1:
        return "mnist"
    return "cifar10" if max(input_shape[1:], default=0) <= 64 else "imagenet"


def _test_split(path: str, dataset: Dataset) -> Dataset | None:
    from dsrs.datasets import load_dataset

    try:
        test = load_dataset(path, "test")
    except DataError:
        return None
    return None if test.fingerprint == dataset.fingerprint or test.labels is None else test


class _Printer:
    """Shows a run on the terminal: a bar on standard error, a line an epoch on standard output."""

    def __init__(self, progress: Progress, images: int, epochs: int, quiet: bool) -> None:
        self.progress = progress
        self.images = images
        self.epochs = epochs
        self.quiet = quiet

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

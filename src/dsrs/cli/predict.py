"""`dsrs predict`: the class of the smoothed classifier, or an abstention, for some inputs."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dsrs.cli.grid_option import add_grid, grid_from
from dsrs.cli.law_options import add_law_options, law_from
from dsrs.cli.model_options import add_batch_size, add_model_options, add_workers, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.seed_option import add_seed, noise_text
from dsrs.cli.tables import table
from dsrs.measures import floor_text
from dsrs.methods import defaults

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.smoothed import Prediction

EPILOG = """\
examples:
  dsrs predict --model net.onnx --data images.npz --stop 10 --sigma 0.5 --k 380
  dsrs predict --model net.onnx --data cat.png --sigma 0.25
  dsrs predict --model net.onnx --data images.npz --sigma 0.5 --radius 0.5 --json
      Only classes that no change shorter than 0.5 (l2) changes, each with its certificate.

The class that is printed is the most frequent one under noise, except with probability --alpha at
most; where the votes cannot tell the two first classes apart, the answer is an abstention. Nothing
is written; `dsrs certify` proves how far the answer holds.

Each answer has fresh noise, which those who chose the input cannot know; asked again, it may differ
where the votes are close. --json prints its seed, with which the votes can be taken again. With
--seed all answers are repeatable, and their noise is public (docs/security.md).
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        run=run,
        help="the class of the smoothed classifier, for data or one image",
        description="Take votes under noise and print the class that wins, or an abstention.",
        epilog=EPILOG,
    )
    add_model_options(parser.add_argument_group("model and data"))
    group = parser.add_argument_group("noise and votes")
    add_law_options(group, from_file=True)
    group.add_argument("--n", default=defaults.PREDICTION_VOTES, help="most votes for an input")
    group.add_argument("--alpha", default=defaults.ALPHA, help="failure probability")
    group.add_argument(
        "--radius",
        type=float,
        metavar="R",
        help="answer only if the class is certified at radius R, and stop as soon as that is "
        "known; --json prints the certificate",
    )
    add_seed(
        group,
        default=None,
        help="for experiments: same seed, same votes (default: random, fresh for each answer)",
    )
    add_batch_size(group)
    add_grid(group)
    add_workers(group)
    parser.add_argument("--json", action="store_true", help="predictions with votes as JSON")
    parser.add_argument("--verbose", action="store_true", help="where an error came from")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.smoothed import SmoothedClassifier

    classifier, dataset, indices = model_and_inputs(arguments)
    smoothed = SmoothedClassifier(
        classifier,
        law_from(arguments, math.prod(dataset.input_shape)),
        method=defaults.NEYMAN_PEARSON,
        n=max(arguments.n, 2),
        alpha=arguments.alpha,
        seed=arguments.seed,
        batch=arguments.batch,
        workers=arguments.workers,
        grid=grid_from(arguments, dataset.bounds),
    )
    answers = smoothed.predict(dataset, n=arguments.n, radius=arguments.radius, index=indices)
    numbered = list(zip(indices, answers, strict=True))
    if arguments.json:
        print_json("predict", [_record(index, answer, dataset) for index, answer in numbered])
        return 0
    rows = [
        [
            index,
            "abstained" if answer.label is None else _named(answer.label, dataset) or answer.label,
            max(answer.counts),
            sum(answer.counts),
        ]
        for index, answer in numbered
    ]
    print(table(rows, ["input", "class", "votes", "of"]))
    if dataset.labels is not None:
        right = sum(answer.label == dataset.label(index) for index, answer in numbered)
        silent = sum(answer.label is None for _, answer in numbered)
        share = floor_text(Fraction(100 * right, len(numbered)), 1)
        print(f"right: {right} of {len(numbered)} inputs ({share} %); abstained: {silent}")
    if arguments.radius is not None:
        print(f"answered only where certified at radius {arguments.radius:g} (l2)")
    print(noise_text(arguments.seed))
    return 0


def _named(label: int, dataset: Dataset) -> str | None:
    names = dataset.class_names
    return names[label] if label < len(names) else None


def _record(index: int, answer: Prediction, dataset: Dataset) -> dict[str, Any]:
    return {
        "index": index,
        "label": dataset.label(index),
        "status": answer.status,
        "class": answer.label,
        "class_name": None if answer.label is None else _named(answer.label, dataset),
        "votes": list(answer.counts),
        "seed": answer.seed,
        "seed_public": answer.seed_public,
        **({} if answer.certificate is None else {"certificate": answer.certificate.to_dict()}),
    }

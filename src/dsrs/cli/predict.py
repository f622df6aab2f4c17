"""What is answered in service: `dsrs predict`, and `dsrs served`, whether that may be quoted."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.model_options import (
    add_batch_size,
    add_model_options,
    add_source_options,
    add_workers,
    classifier_options,
    model_and_inputs,
)
from dsrs.cli.noise_options import (
    add_grid,
    add_law_options,
    add_seed,
    grid_from,
    law_from,
    noise_text,
)
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput
from dsrs.measures import floor_text
from dsrs.methods import defaults

if TYPE_CHECKING:
    from dsrs.certifying import Compared
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset
    from dsrs.smoothed import Prediction

# ---- Predict

PREDICT_EPILOG = """\
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


def add_predict(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        run=run_predict,
        help="the class of the smoothed classifier, for data or one image",
        description="Take votes under noise and print the class that wins, or an abstention.",
        epilog=PREDICT_EPILOG,
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


def run_predict(arguments: argparse.Namespace) -> int:
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


# ---- Served

DIFFERENT = 1
SERVED_EPILOG = """\
examples:
  dsrs served sets.json --model net.onnx --sigma 0.5
  dsrs served runs/mine --model net.onnx --sigma 0.5 --k 380 --device cuda

Compared are the fingerprint of the model, the shape and bounds of its inputs, its classes, the kind
of device, the noise (where --sigma or --law names it) and the grid; of prediction sets also the
precision, by the model's answers to fixed inputs. Certificates and sets are about what they were
made with: where anything differs, they may not be quoted.

exit codes: 0 all the same, 1 something differs, 2 bad arguments or input.
"""


def add_served(commands: Commands) -> None:
    parser = commands.add_parser(
        "served",
        run=run_served,
        help="whether what is served is what a run or prediction sets speak of",
        description="Compare a model, its device, noise and grid with those of a run folder or of "
        "a file of `dsrs conformal calibrate`.",
        epilog=SERVED_EPILOG,
    )
    parser.add_argument("quoted", metavar="QUOTED", help="run folder, or file of prediction sets")
    group = parser.add_argument_group("what is served")
    add_source_options(group, required=False)
    add_law_options(group, from_file=True)
    add_grid(group)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run_served(arguments: argparse.Namespace) -> int:
    if arguments.model is None:
        raise InvalidInput("name what is served with --model")
    compared = _compared(arguments)
    same = all(fact.same for fact in compared)
    if arguments.json:
        print_json("served", {"same": same, "facts": compared})
    else:
        rows = [
            [fact.name, "same" if fact.same else "DIFFERS", fact.quoted, fact.served]
            for fact in compared
        ]
        print(table(rows, ["fact", "", "quoted", "served"]))
        print(
            "what is served is what is quoted"
            if same
            else "what is served is something else: what is promised there may not be quoted"
        )
    return 0 if same else DIFFERENT


def _compared(arguments: argparse.Namespace) -> list[Compared]:
    from dsrs.certifying import compare_served, facts_of_model, facts_of_run
    from dsrs.conformal import Sets, compare_sets, facts_of_sets
    from dsrs.store import open_run

    if Path(arguments.quoted).is_dir():
        with open_run(arguments.quoted) as opened:
            facts = facts_of_run(opened.config)
        model = _loaded(arguments, facts)
        compared = compare_served(facts, facts_of_model(model, arguments.device))
    else:
        sets = Sets.load(arguments.quoted)
        facts = facts_of_sets(sets)
        model = _loaded(arguments, facts)
        compared = compare_sets(sets, model, arguments.device)
    return compared + compare_served(facts, _noise_facts(arguments, model))


def _loaded(arguments: argparse.Namespace, facts: dict[str, Any]) -> Classifier:
    """The model that is served, for inputs as what is quoted has them."""
    from dsrs.classifiers import Scaling, load_classifier

    scaling = None if facts.get("scaling") is None else Scaling.from_dict(facts["scaling"])
    options = classifier_options(arguments, tuple(facts["input_shape"]), scaling)
    return load_classifier(arguments.model, **options)


def _noise_facts(arguments: argparse.Namespace, model: Classifier) -> dict[str, Any]:
    """The noise and the grid that are served, where they are named."""
    from dsrs.methods import Plan

    if arguments.sigma is None and arguments.law is None:
        return {}
    law = law_from(arguments, math.prod(model.input_shape))
    chosen = grid_from(arguments, model.bounds)
    grid = Plan(law, ("np",), grid=chosen).on_grid_of(model.bounds).known_grid
    return {"law": law.to_dict(), "grid": None if grid is None else grid.to_dict()}


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_predict(commands)
    add_served(commands)

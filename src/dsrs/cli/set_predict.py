"""`dsrs conformal predict`: a set of classes for each input, from one noisy query."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dsrs.cli.model_options import add_model_options, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.seed_option import add_seed, noise_text
from dsrs.cli.set_options import MARGINAL_HELP, add_sets, promise_text
from dsrs.cli.tables import table
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.conformal import PredictionSet, Sets
    from dsrs.datasets import Dataset

EPILOG = f"""\
examples:
  dsrs conformal predict --sets sets.json --model net.onnx --data test.npz
  dsrs conformal predict --sets sets.json --model net.onnx --data cat.png --json

{MARGINAL_HELP}
Each answer has fresh noise, drawn after the input has arrived, so that nobody who moved the input
can have known it; asked again, the answer may differ. With --seed answers are repeatable, their
noise is public, and nothing is promised of inputs that were chosen afterwards (docs/security.md).
Another model than the one that was calibrated is refused. A set may be empty.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        run=run,
        help="a set of classes for each input, from one noisy query",
        description="Ask the model under noise and print the classes within the threshold.",
        epilog=EPILOG,
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


def run(arguments: argparse.Namespace) -> int:
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

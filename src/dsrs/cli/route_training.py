"""`dsrs route --data`: train a router, and say before and after whether it pays."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.law_options import card_of, inputs_listed
from dsrs.cli.model_options import add_goal
from dsrs.cli.options import Options
from dsrs.cli.values import whole_numbers
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.routing import Member
    from dsrs.routing.training import RouterPrediction


def add_training_options(group: Options) -> None:
    """What a router is trained on, and for."""
    group.add_argument("--data", help="inputs that no expert was trained on, as for certify")
    group.add_argument("--split", choices=("train", "test"), default="train", help="default: train")
    group.add_argument(
        "--indices",
        type=whole_numbers,
        help="these inputs, such as 3,14,15 or 0-999 (default: those that `dsrs train --hold-out` "
        "kept out, as the cards beside the models say)",
    )
    group.add_argument("--inputs", default=1000, help="at most so many inputs (default: 1000)")
    group.add_argument("--votes", default=128, help="of each input and expert (default: 128)")
    add_goal(group, n=10_000)
    group.add_argument("--seed", default=0, help="same seed, same router (default: 0)")


def train(arguments: argparse.Namespace, experts: Sequence[Member]) -> int:
    """Train a router and write its folder, or say why not; 1 where no router is written."""
    import numpy as np

    from dsrs.datasets import load_dataset
    from dsrs.routing.learning import LEARNERS, RoutingGoal
    from dsrs.routing.training import look_at_experts, predict_router, router_card, write_router
    from dsrs.tuning import Objective

    if Path(arguments.output).exists():
        raise InvalidInput(f"{arguments.output} exists; give another --output")
    dataset = load_dataset(arguments.data, arguments.split)
    if dataset.labels is None:
        raise InvalidInput(f"{dataset.name} has no labels; training a router needs them")
    indices = _inputs(arguments, experts, dataset)
    goal = RoutingGoal(Objective.parse(arguments.objective), arguments.n, arguments.alpha)
    images = np.stack([dataset.input(index) for index in indices])
    labels = dataset.labels[indices]
    look = look_at_experts(experts, images, labels, arguments.votes, arguments.seed)
    prediction = predict_router(look, goal)
    print(prediction_text(prediction, experts, len(indices), goal.objective.text))
    if not prediction.pays:
        print(f"no router is written: {prediction.reason()}")
        return 1
    head = LEARNERS[prediction.learner](look, goal)
    card = router_card(look, goal, prediction, indices, dataset.fingerprint)
    write_router(arguments.output, experts, head, card)
    print(f"next: dsrs certify --model {arguments.output} --data DATA --output RUN")
    return 0


def prediction_text(
    found: RouterPrediction, experts: Sequence[Member], inputs: int, objective: str
) -> str:
    """One noise, the oracle and the router, a line each."""
    lines = [
        f"predicted {objective} from {inputs} inputs",
        f"one noise (sigma {experts[found.expert].sigma:g}): {found.single:.4f}",
        f"oracle: {found.oracle:.4f} ({100 * found.oracle_gain:+.1f}%)",
    ]
    if found.learner:
        lines.append(
            f"router ({found.learner}): {found.routed:.4f}, {found.low:+.4f} to {found.high:+.4f} "
            f"(95%) against one noise, {100 * found.kept:.0f}% of the oracle's gain; inputs of "
            f"each expert: {', '.join(map(str, found.routes))}"
        )
    return "\n".join(lines)


def _inputs(
    arguments: argparse.Namespace, experts: Sequence[Member], dataset: Dataset
) -> list[int]:
    """At most --inputs inputs, evenly from those that are named, or that all cards held out."""
    from dsrs.datasets import select

    if arguments.indices is not None or arguments.split == "test":
        chosen = [int(index) for index in select(dataset, 0, None, 1, arguments.indices)]
    else:
        chosen = sorted(set.intersection(*(_held_out(member.model) for member in experts)))
    if arguments.inputs < 1 or not chosen:
        raise InvalidInput("a router needs inputs that no expert was trained on, got none")
    step = max(len(chosen) // arguments.inputs, 1)
    return chosen[::step][: arguments.inputs]


def _held_out(model: str) -> set[int]:
    """The inputs that the card beside a model says were held out of its training."""
    kept = (card_of(model) or {}).get("held_out")
    if not isinstance(kept, dict) or "indices" not in kept:
        raise InvalidInput(
            f"no card beside {model} says which inputs were held out of its training: name inputs "
            "that no expert was trained on with --indices, or take --split test and report others"
        )
    return inputs_listed(kept["indices"], f"the card of {model}")

"""--cluster and --shard: who counts the votes of `dsrs certify`, and of which inputs."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dsrs.cli.model_options import classifier_options
from dsrs.cli.options import Options
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset
    from dsrs.votes import Executor


SHARD = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Part `number` (from 1) of `parts`."""

    number: int
    parts: int

    def of(self, indices: list[int]) -> list[int]:
        """Every `parts`-th input, so that all parts have about as many, and as hard ones."""
        return indices[self.number - 1 :: self.parts]


def add_shard(group: Options) -> None:
    """--shard of the inputs."""
    group.add_argument(
        "--shard",
        type=shard,
        default=Shard(1, 1),
        metavar="I/N",
        kept=False,
        help="only the I-th of N parts of the inputs, as 3/16; join the parts with `dsrs merge`",
    )


def shard(text: str) -> Shard:
    """3/16 as a part."""
    match = SHARD.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise InvalidInput(f"expected I/N with I from 1 to N, such as 3/16, got {text!r}")
    return Shard(int(match[1]), int(match[2]))


def add_cluster_options(group: Options) -> None:
    """--cluster and what an actor of it has."""
    group.add_argument(
        "--cluster",
        metavar="ADDRESS",
        kept=False,
        help="count votes on a Ray cluster (needs dsrs[ray]): local starts one on this machine; "
        "auto, HOST:6379 or ray://HOST:10001 is one that runs. The model must be under the same "
        "name on every node",
    )
    group.add_argument(
        "--threads-per-actor",
        type=int,
        metavar="N",
        kept=False,
        help="with --cluster: cores of an actor (default: 1); with --device cuda each has a GPU",
    )


def counted_model(
    arguments: argparse.Namespace, dataset: Dataset
) -> tuple[Classifier, Executor | None]:
    """The model as the driver knows it, and who counts its votes; None: threads."""
    from dsrs.classifiers import load_classifier
    from dsrs.votes import ModelSpec, executor_at

    options = classifier_options(arguments, dataset.input_shape, dataset.scaling)
    if arguments.cluster is None:
        if arguments.threads_per_actor is not None:
            raise InvalidInput("--threads-per-actor goes with --cluster")
        return load_classifier(arguments.model, **options), None
    if arguments.workers is not None:
        raise InvalidInput("--workers are threads of this machine; --cluster has actors instead")
    if "," in arguments.device or arguments.device.endswith(":all"):
        raise InvalidInput(
            "--device names one type of device with --cluster, such as cuda: each actor has one"
        )
    # The driver may have no GPU: it needs to know the model, not to run it.
    here: dict[str, Any] = options | {"device": "cpu"}
    classifier = load_classifier(arguments.model, **here)
    executor = executor_at(
        arguments.cluster,
        ModelSpec.of(arguments.model, options, classifier),
        threads=1 if arguments.threads_per_actor is None else arguments.threads_per_actor,
        device=arguments.device,
    )
    return classifier, executor

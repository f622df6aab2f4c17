"""How many votes, of which inputs, and who counts them: the options of `dsrs certify`."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dsrs.cli.model_options import classifier_options
from dsrs.cli.options import Options
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput
from dsrs.methods import NEYMAN_PEARSON, defaults

if TYPE_CHECKING:
    from dsrs.certifying import Choice, Counter, Rehearsal
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset
    from dsrs.methods import Plan
    from dsrs.votes import Executor

# ---- Lists of radii

FORMS = "0.25,0.5,1 or START:STOP:STEP"


def add_radii(group: Options) -> None:
    """--radii of a table."""
    group.add_argument(
        "--radii", metavar="LIST", help=f"columns of the table: {FORMS} (default: a round grid)"
    )


def radii_from(arguments: argparse.Namespace) -> list[float] | None:
    """What --radii lists; None where it is not given."""
    return None if arguments.radii is None else parse_radii(arguments.radii)


def parse_radii(text: str) -> list[float]:
    """Read `0.25,0.5,1` or `0.25:3:0.25` (both ends included): radii that are >= 0 and increase."""
    expected = f"--radii is written {FORMS}, got {text!r}"
    try:
        if ":" not in text:
            radii = [float(Decimal(part)) for part in text.split(",")]
        else:
            start, stop, step = (Decimal(part) for part in text.split(":"))
            if not (step > 0 and stop >= start and (stop - start) / step <= 1000):
                raise InvalidInput(
                    f"{expected}, with STEP > 0, START <= STOP and at most 1000 steps"
                )
            radii = [float(start + i * step) for i in range(int((stop - start) / step) + 1)]
    except (InvalidOperation, ValueError) as error:
        raise error if isinstance(error, InvalidInput) else InvalidInput(expected) from None
    if not all(0 <= radius < float("inf") for radius in radii):
        raise InvalidInput(f"{expected}, with radii of 0 or more")
    if any(after <= before for before, after in pairwise(radii)):
        raise InvalidInput(f"{expected}, with radii that increase")
    return radii


# ---- The options of `dsrs certify` that stop in time, and that get more out of the same votes


def add_stopping_options(group: Options) -> None:
    group.add_argument(
        "--radius",
        type=float,
        metavar="R",
        help="decide this radius alone, and stop an input as soon as it is known whether R is "
        "certified; --n is the most votes. An input that is not certified at R is `short`",
    )
    group.add_argument(
        "--adaptive",
        action="store_true",
        help="stop an input as soon as more votes would hardly change its row of the table at "
        "--radii, or its radius by more than --radius-precision; --n is the most votes",
    )
    add_radii(group)
    group.add_argument(
        "--radius-precision",
        type=float,
        metavar="SHARE",
        help=f"with --adaptive: relative precision of a radius (default: {defaults.PRECISION:g})",
    )
    group.add_argument(
        "--classes",
        choices=defaults.CLASSES,
        default=defaults.CLASSES[0],
        help="top (default): certify a class with a majority of the votes; all: also one that "
        "leads every other class without a majority, where the first --n0 votes advise it",
    )


def stopping_from(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of a plan that these options set."""
    if arguments.adaptive and arguments.radius is not None:
        raise InvalidInput(
            "--radius decides one radius and --adaptive a table or a precision: choose one"
        )
    if not arguments.adaptive and arguments.radius_precision is not None:
        raise InvalidInput("--radius-precision says when --adaptive may stop; give --adaptive too")
    columns = radii_from(arguments)
    if columns and arguments.radius_precision is not None:
        raise InvalidInput("--adaptive stops by --radii or by --radius-precision: choose one")
    radii = tuple(columns) if columns and arguments.adaptive else ()
    precision = arguments.radius_precision
    if arguments.adaptive and not radii and precision is None:
        precision = defaults.PRECISION
    return {
        "radius": arguments.radius,
        "radii": radii,
        "precision": precision,
        "classes": arguments.classes,
    }


# ---- --cluster and --shard: who counts the votes of `dsrs certify`, and of which inputs

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


# ---- `dsrs certify --dry-run` and `--budget`: what a run costs, and the best use of votes or time

clock: Callable[[], float] = time.perf_counter
ALTERNATIVES = 4


def add_budget_options(group: Options) -> None:
    """--dry-run, --budget and --landscape of `dsrs certify`."""
    group.add_argument(
        "--dry-run",
        action="store_true",
        kept=False,
        help="take a few votes of a few inputs, print votes, time and the table to expect, and "
        "write nothing",
    )
    group.add_argument(
        "--budget",
        metavar="VOTES|TIME",
        kept=False,
        help="choose --n so that the run takes 1e6 votes, or 30min; without --q also whether np "
        "alone certifies more, and without a choice of inputs how many of them",
    )
    group.add_argument(
        "--landscape",
        metavar="RUN",
        kept=False,
        help="with --dry-run or --budget: predict from this folder of `dsrs landscape`, or run of "
        "other inputs, instead of the first votes",
    )


Watch = Callable[[int], AbstractContextManager["Counter"]]


def watching(progress: Watch, end: float | None) -> Watch:
    """The counters of `progress`, which end the work at the time `end` of the clock."""
    from dsrs.certifying import Deadline

    @contextmanager
    def timed(total: int) -> Iterator[Counter]:
        with progress(total) as counter:
            yield counter if end is None else Deadline(counter, end, total, clock)

    return timed


@contextmanager
def noted_end() -> Iterator[None]:
    """Say that the time of the budget is over, where it ends the work."""
    from dsrs.certifying import TimeIsUp

    try:
        yield
    except TimeIsUp:
        print(
            "the time of the budget is over; what is finished is kept, and `dsrs certify --config` "
            "with the run.toml of the folder continues (--trust-code: if its model is Python code)",
            file=sys.stderr,
        )


def planned_run(
    arguments: argparse.Namespace,
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    indices: Sequence[int],
) -> float | None:
    """Look at the model, choose how to spend the budget, and print what to expect.

    The choice is written into `arguments`: n, the methods, and which inputs. Returns when the time
    of the budget is over, if it is a time.
    """
    from dsrs import certifying
    from dsrs.measures import radius_grid

    start = clock()
    budget = None if arguments.budget is None else certifying.Budget.parse(arguments.budget)
    share = certifying.REHEARSED if budget else float("inf")
    rehearsal = certifying.rehearse(
        classifier,
        dataset,
        plan,
        indices,
        workers=arguments.workers,
        votes=share * budget.votes if budget and budget.votes else float("inf"),
        most_seconds=share * budget.seconds if budget and budget.seconds else float("inf"),
        clock=clock,
    )
    rehearsal = _with_landscape(arguments, rehearsal, plan)
    asked = radii_from(arguments) or plan.goal.asked
    radii = list(asked or radius_grid(certifying.largest_expected(rehearsal, plan)))
    labelled = dataset.labels is not None
    if budget is None:
        votes, seconds = certifying.cost(plan, len(indices), rehearsal, labelled)
        expected = tuple(certifying.expected_table(rehearsal.profiles, plan, radii))
        choices = [certifying.Choice(plan, 1, len(indices), votes, seconds, expected, 0.0)]
    else:
        alone = plan.replace(methods=(NEYMAN_PEARSON,))
        plans = [plan] if arguments.methods or alone == plan else [plan, alone]
        choices = certifying.best_use(
            budget,
            rehearsal,
            plans,
            len(indices),
            radii,
            labelled=labelled,
            may_skip=not {"start", "stop", "skip", "indices"} & arguments.texts.keys(),
        )
        _adopt(arguments, choices[0])
    if arguments.json and arguments.dry_run:
        print_json("certify-dry-run", _fields(choices, rehearsal))
    elif arguments.dry_run:
        print(expected_text(rehearsal, choices))
    elif not arguments.quiet:
        print(expected_text(rehearsal, choices) + "\n", file=sys.stderr)
    return None if budget is None or budget.seconds is None else start + budget.seconds


def refuse_misfits(arguments: argparse.Namespace, plan: Plan) -> None:
    """Raise InvalidInput where --dry-run or --budget cannot be used with the other options."""
    if not (arguments.dry_run or arguments.budget):
        if arguments.landscape is not None:
            raise InvalidInput("--landscape predicts for --dry-run and --budget; give one of them")
        return
    if arguments.cluster is not None:
        raise InvalidInput("--dry-run and --budget look at this machine, not at a --cluster")
    if arguments.budget is None:
        return
    if "n" in arguments.texts:
        raise InvalidInput("--budget chooses the number of votes, and --n gives it: choose one")
    if not plan.goal.is_open or plan.early_stop:
        raise InvalidInput(
            "--radius, --adaptive and --early-stop end when the answer is known, and no budget "
            "can be planned for them; give --n as the most votes of an input"
        )
    if arguments.shard.parts > 1:
        raise InvalidInput("--budget is for a whole run; give all of its --shard the same --n")
    if (Path(arguments.output) / "run.sqlite").exists():
        raise InvalidInput(
            f"{arguments.output} is a run already, with its own number of votes; continue it with "
            f"`dsrs certify --config {arguments.output}/run.toml --output {arguments.output}` "
            "(--trust-code, if its model is Python code), or name a new folder"
        )


def _with_landscape(arguments: argparse.Namespace, rehearsal: Rehearsal, plan: Plan) -> Rehearsal:
    """The rehearsal with the profiles of --landscape in the place of its own."""
    if arguments.landscape is None:
        return rehearsal
    from dsrs.store import read_landscape

    landscape = read_landscape(arguments.landscape)
    if landscape.d != plan.law.d:
        raise InvalidInput(
            f"{arguments.landscape} is of inputs with d = {landscape.d}, but these have d = "
            f"{plan.law.d}"
        )
    return replace(rehearsal, profiles=landscape.profiles)


def _adopt(arguments: argparse.Namespace, choice: Choice) -> None:
    """Go on as if the choice had been typed."""
    arguments.n = choice.plan.n
    others = [text for text in choice.plan.methods if text != NEYMAN_PEARSON]
    arguments.methods = others or ["none"]
    if choice.every > 1:
        arguments.skip = choice.every
        arguments.texts["skip"] = str(choice.every)


def expected_text(rehearsal: Rehearsal, choices: Sequence[Choice]) -> str:
    """Votes, time and the table to expect, for people."""
    best = choices[0]
    plan = best.plan
    most = "" if plan.goal.is_open and not plan.early_stop else "at most "
    lines = [
        f"{best.inputs:,} inputs, n = {plan.n:,}, {', '.join(plan.names)}: {most}{best.votes:,} "
        f"votes, {most}{_duration(best.seconds)} on this machine",
    ]
    if best.expected:
        heads = ["method", *(f"r={radius:g}" for radius in best.expected[0].radii), "mean r"]
        rows = []
        for expected in best.expected:
            shares = expected.accuracy
            cells = [f"{100 * v:.0f} ({100 * a:.0f}-{100 * b:.0f})" for v, a, b in shares]
            value, low, high = expected.mean_radius
            rows.append([expected.method, *cells, f"{value:.3f} ({low:.3f}-{high:.3f})"])
        lines += [
            f"to expect, from {len(rehearsal.profiles)} inputs: certified accuracy (%) at l2 "
            "radius r, with 95% intervals",
            table(rows, heads),
        ]
    if len(choices) > 1:
        rows = [
            [
                f"{choice.inputs:,}",
                f"{choice.plan.n:,}",
                ", ".join(choice.plan.names),
                f"{max((each.mean_radius[0] for each in choice.expected), default=0.0):.4f}",
                f"{choice.value:.4f}",
            ]
            for choice in choices[:ALTERNATIVES]
        ]
        heads = ["inputs", "n", "methods", "mean r", "at least, for all inputs"]
        lines += ["ways to spend the budget, best first:", table(rows, heads)]
    return "\n".join(lines)


def _fields(choices: Sequence[Choice], rehearsal: Rehearsal) -> dict[str, Any]:
    best = choices[0]
    return {
        "inputs": best.inputs,
        "every": best.every,
        "n": best.plan.n,
        "methods": list(best.plan.methods),
        "votes": best.votes,
        "seconds": best.seconds,
        "rehearsal": {
            "inputs": len(rehearsal.profiles),
            "votes": rehearsal.votes,
            "seconds": rehearsal.seconds,
        },
        "expected": [
            {
                "method": one.method,
                "mean_radius": dict(zip(("value", "low", "high"), one.mean_radius, strict=True)),
                "certified_accuracy": [
                    {"radius": radius, "value": value, "low": low, "high": high}
                    for radius, (value, low, high) in zip(one.radii, one.accuracy, strict=True)
                ],
            }
            for one in best.expected
        ],
        "ways": [
            {"inputs": one.inputs, "n": one.plan.n, "methods": list(one.plan.methods)}
            for one in choices
        ],
    }


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

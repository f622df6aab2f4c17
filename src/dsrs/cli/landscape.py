"""`dsrs landscape`: accuracy of a model against the norm of the noise, sampled once."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.grid_option import add_grid, grid_from
from dsrs.cli.model_options import add_batch_size, add_model_options, add_workers, model_and_inputs
from dsrs.cli.options import Commands, Options
from dsrs.cli.output import print_json
from dsrs.cli.split_note import note_on_split
from dsrs.cli.tables import table
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.store import Landscape

BAR_CHARACTERS = 40  # characters of a bar of accuracy 1
CURVE_ROWS = 16
CONCENTRATION_STEP = 2  # every such row has its sigma in the table of concentration

EPILOG = """\
examples:
  dsrs landscape --model net.onnx --data MNIST/ --stop 50 --output looks/net
  dsrs tune --landscape looks/net --n 100000 --output tuned.json
  dsrs certify --model net.onnx --data MNIST/ --law tuned.json --output runs/mine

Accuracy under noise of one norm does not depend on any noise law, so one look at the model predicts
what every law would certify, without another query. Look at other inputs than those you report: the
default is the train split. The result is a run folder: it can be stopped and continued, shown and
reported like any other.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "landscape",
        run=run,
        help="sample accuracy against noise norm once, to predict every law",
        description="Sample a model under noise of many norms and keep the votes in a run folder.",
        epilog=EPILOG,
    )
    add_model_options(
        parser.add_argument_group("model and data"), voters="the first votes", split="train"
    )
    group = parser.add_argument_group("noise and votes")
    add_look_options(group)
    run_options = parser.add_argument_group("the run")
    run_options.add_argument("--output", required=True, help="run folder, new or to continue")
    add_workers(run_options)
    run_options.add_argument("--json", action="store_true", help="print the curve as JSON")
    run_options.add_argument("--quiet", action="store_true", help="no progress, no advice")


def add_look_options(group: Options) -> None:
    """How far and how closely to look."""
    group.add_argument(
        "--reach",
        default=1.0,
        help="largest noise of interest: the votes tell of noise sizes up to about 2.5 times this, "
        "in the units of the inputs",
    )
    group.add_argument("--votes", default=4000, help="votes for each input")
    group.add_argument("--seed", default=0, help="same seed, same votes")
    add_batch_size(group)
    add_grid(group)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.store import read_landscape

    look(arguments, arguments.output)
    summary = landscape_summary(read_landscape(arguments.output))
    if arguments.json:
        print_json("landscape", {"run": arguments.output, **summary})
        return 0
    print(_picture(summary))
    if not arguments.quiet:
        print(f"\nnext: dsrs tune --landscape {arguments.output}   which law certifies most")
    return 0


def look(arguments: argparse.Namespace, output: str) -> None:
    """Sample the landscape that these options describe into the run folder `output`."""
    from dsrs.certifying import Origin, certify_run
    from dsrs.methods import Plan
    from dsrs.store import wide_law

    model, dataset, indices = model_and_inputs(arguments)
    plan = Plan(
        law=wide_law(math.prod(dataset.input_shape), arguments.reach),
        methods=("landscape",),
        n=arguments.votes,
        seed=arguments.seed,
        target=arguments.target,
        batch=arguments.batch,
        grid=grid_from(arguments, dataset.bounds),
    )
    if arguments.split == "test" and not arguments.quiet:
        print(
            "note: looking at the test split; report certificates of other inputs than these",
            file=sys.stderr,
        )
    elif not arguments.quiet:
        note_on_split(arguments, model, dataset)
    certify_run(
        model,
        dataset,
        plan,
        indices,
        output,
        workers=arguments.workers,
        origin=Origin(arguments.device),
        progress=lambda total: Progress(total, "looking", quiet=arguments.quiet),
    )


def landscape_summary(landscape: Landscape) -> dict[str, Any]:
    """Mean accuracy by size of the noise, and how many inputs have the concentration property."""
    import numpy as np

    from dsrs.landscape import CONCENTRATION_SHARES, concentration

    sizes = (
        np.linspace(0.0, 1.0, CURVE_ROWS + 1)[1:] * landscape.largest_norm / math.sqrt(landscape.d)
    )
    accuracy = np.mean(
        [profile(sizes * math.sqrt(landscape.d)) for profile in landscape.profiles], axis=0
    )
    return {
        "inputs": len(landscape.profiles),
        "votes": landscape.votes,
        "curve": [
            {"size": round(float(size), 6), "accuracy": round(float(share), 6)}
            for size, share in zip(sizes, accuracy, strict=True)
        ],
        "concentration": [
            {
                "sigma": round(float(sigma), 6),
                "holds": dict(zip(map(str, CONCENTRATION_SHARES), seen.holds, strict=True)),
                "theorem_2_radius": round(seen.radius, 6),
            }
            for sigma in sizes[::CONCENTRATION_STEP]
            for seen in [concentration(landscape.first_misses, landscape.d, float(sigma))]
        ],
    }


def _picture(summary: dict[str, Any]) -> str:
    rows = [
        [
            f"{point['size']:.3f}",
            f"{100 * point['accuracy']:.1f}",
            "#" * round(BAR_CHARACTERS * point["accuracy"]),
        ]
        for point in summary["curve"]
    ]
    head = f"mean accuracy of {summary['inputs']} inputs by size of the noise (norm / sqrt(d)), "
    accuracy = head + f"{summary['votes']:,} votes\n" + table(rows, ["size", "accuracy %", ""])
    return f"{accuracy}\n\n{_concentration(summary)}"


def _concentration(summary: dict[str, Any]) -> str:
    """The share of inputs with the property, for each sigma and P_con."""
    shares = list(summary["concentration"][0]["holds"])
    rows = [
        [
            f"{entry['sigma']:.3f}",
            *(floor_text(100 * entry["holds"][share], 1) for share in shares),
            floor_text(entry["theorem_2_radius"], 4),
        ]
        for entry in summary["concentration"]
    ]
    heads = ["sigma", *(f"P_con = {share}" for share in shares), "Theorem 2"]
    return (
        "(sigma, P_con)-concentration: inputs (%) with no miss at norms within the P_con-quantile\n"
        "of Gaussian noise. Theorem 2 promises inputs with P_con = 0.5 the radius in the last\n"
        "column, for k within 15 of d/2 and d large.\n" + table(rows, heads)
    )

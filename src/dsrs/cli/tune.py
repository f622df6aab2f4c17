"""`dsrs landscape` looks at a model under noise; `dsrs tune` predicts what each law certifies."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import (
    add_batch_size,
    add_goal,
    add_model_options,
    add_workers,
    model_and_inputs,
    note_on_split,
)
from dsrs.cli.noise_options import add_grid, grid_from, read_tuned, trained_law
from dsrs.cli.options import Commands, Options, numbers
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput
from dsrs.files import check_figure
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.laws import GeneralizedGaussian
    from dsrs.store import Landscape
    from dsrs.tuning import Forecast, Tuned

# ---- `dsrs landscape`: accuracy of a model against the norm of the noise, sampled once

BAR_CHARACTERS = 40  # characters of a bar of accuracy 1
CURVE_ROWS = 16
CONCENTRATION_STEP = 2  # every such row has its sigma in the table of concentration

LANDSCAPE_EPILOG = """\
examples:
  dsrs landscape --model net.onnx --data MNIST/ --stop 50 --output looks/net
  dsrs tune --landscape looks/net --n 100000 --output tuned.json
  dsrs certify --model net.onnx --data MNIST/ --law tuned.json --output runs/mine

Accuracy under noise of one norm does not depend on any noise law, so one look at the model predicts
what every law would certify, without another query. Look at other inputs than those you report: the
default is the train split. The result is a run folder: it can be stopped and continued, shown and
reported like any other.
"""


def add_landscape(commands: Commands) -> None:
    parser = commands.add_parser(
        "landscape",
        run=run_landscape,
        help="sample accuracy against noise norm once, to predict every law",
        description="Sample a model under noise of many norms and keep the votes in a run folder.",
        epilog=LANDSCAPE_EPILOG,
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


def run_landscape(arguments: argparse.Namespace) -> int:
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


# ---- `dsrs tune`: which noise law certifies most, predicted without another query

SHOWN_CANDIDATES = 5
RADIUS_COLUMNS = 8  # radii of the table

TUNE_EPILOG = """\
examples:
  dsrs tune --landscape looks/net --n 100000 --output tuned.json
  dsrs tune --landscape looks/net --objective accuracy@1.5 --sigma 1 --k 380
      Which law certifies most inputs at r = 1.5, beside what sigma = 1, k = 380 would give.
  dsrs certify --model net.onnx --data MNIST/ --law tuned.json --output runs/mine

Every method that has a forecast is tried, double sampling with rescaled and truncated laws.
`limit` is what no isotropic law P could exceed with so many votes. The choice
makes its own inputs look better than they are: certify and report others.
"""


def add_tune(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        run=run_tune,
        help="predict what every noise law would certify, and choose one",
        description="From a landscape (or a model and data to look at), predict what every law on "
        "a grid of sigma and k would certify with every method, and name the best.",
        epilog=TUNE_EPILOG,
    )
    parser.add_argument(
        "--landscape",
        metavar="RUN",
        help="folder of `dsrs landscape`, or any run folder",
    )
    group = parser.add_argument_group("what is asked")
    add_goal(group)
    group.add_argument("--sigma", type=float, help="the current choice, to compare with")
    group.add_argument("--k", default=0.0, help="exponent k of the current choice")
    group.add_argument("--eta", default=2.0, help="exponent eta of the current choice")
    group.add_argument(
        "--etas",
        type=numbers,
        default=(2.0,),
        help="exponents eta of the laws to try, such as 1,2,4 (default: 2)",
    )
    group = parser.add_argument_group("the answer")
    group.add_argument("--output", help="write the answer as JSON, for `dsrs certify --law`")
    group.add_argument(
        "--overwrite", action="store_true", help="replace an existing --output or --figure"
    )
    group.add_argument("--figure", help="draw the predicted curves into this .pdf, .png or .svg")
    group.add_argument("--json", action="store_true", help="print the answer as JSON")
    group.add_argument("--quiet", action="store_true", help="no progress, no advice")
    add_workers(group)
    group = parser.add_argument_group("instead of --landscape, a model to look at")
    add_model_options(group, voters="the first votes", split="train", required=False)
    add_look_options(group)


def run_tune(arguments: argparse.Namespace) -> int:
    if arguments.output:
        _check_output(Path(arguments.output), arguments.overwrite)
    if arguments.figure:
        check_figure(Path(arguments.figure), arguments.overwrite)
    if bool(arguments.landscape) == bool(arguments.model):
        raise InvalidInput("name either --landscape RUN, or --model and --data to look at")
    if arguments.landscape:
        return _answer(arguments, arguments.landscape)
    if not arguments.data:
        raise InvalidInput("--model needs --data as well")
    with tempfile.TemporaryDirectory() as folder:
        look(arguments, str(Path(folder) / "look"))
        return _answer(arguments, str(Path(folder) / "look"))


def _answer(arguments: argparse.Namespace, folder: str) -> int:
    from dsrs.store import read_landscape
    from dsrs.tuning import tune

    landscape = read_landscape(folder)
    tuned = tune(
        landscape.profiles,
        landscape.d,
        arguments.n,
        arguments.alpha,
        arguments.objective,
        current=_current(arguments, landscape.d),
        etas=arguments.etas,
        classes=landscape.classes,
    ).without(landscape.certified)
    answer = tuned.to_dict() | {
        "landscape": {"votes": landscape.votes, **landscape.inputs.to_dict()}
    }
    if arguments.figure:
        from dsrs.reports import draw_tuning

        draw_tuning(tuned, Path(arguments.figure))
    if arguments.output:
        from dsrs.files import write_whole

        write_whole(Path(arguments.output), json.dumps(answer, indent=1).encode())
    if arguments.json:
        print_json("tune", answer)
    else:
        print(tuning_text(tuned))
    if arguments.output and not (arguments.json or arguments.quiet):
        print(f"\nnext: dsrs certify --model ... --data ... --law {arguments.output} --output ...")
    return 0


def _check_output(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file unasked, or one that is not an answer of this command."""
    from dsrs.exchange import refuse_run_folder

    refuse_run_folder(path.parent)
    if not path.exists():
        return
    if not overwrite:
        raise InvalidInput(f"{path} exists; give --overwrite to replace it, or another --output")
    if "candidates" not in read_tuned(str(path)):
        raise InvalidInput(f"{path} is no file of `dsrs tune`, and is not overwritten")


def _current(arguments: argparse.Namespace, d: int) -> GeneralizedGaussian | None:
    """The law in use: as it is given, or that of the model's card."""
    from dsrs.laws import GeneralizedGaussian

    if arguments.sigma is not None:
        return GeneralizedGaussian(d, arguments.sigma, arguments.k, arguments.eta)
    return trained_law(arguments.model)


def tuning_text(tuned: Tuned) -> str:
    """The best laws, the current one and the limit, as an aligned table."""
    import numpy as np

    best = tuned.candidates[:SHOWN_CANDIDATES]
    top = max(float(tuned.limits.max()), *(float(forecast.radii.max()) for forecast in best))
    radii = round_radii(top)
    rows = [
        forecast_row("best" if forecast is best[0] else "", forecast, radii) for forecast in best
    ]
    now = tuned.current
    rows += [forecast_row("now" if forecast is now[0] else "", forecast, radii) for forecast in now]
    rows.append(
        ["limit", "", "", "", f"{tuned.objective.of(tuned.limits):.4f}", ""]
        + [f"{100 * np.mean(tuned.limits >= radius):.1f}" for radius in radii]
    )
    lines = [forecast_table(tuned, rows, radii)]
    if tuned.one_class:
        lines.append(
            f"left out: {tuned.one_class} laws under which the model gives nearly all inputs one "
            "class"
        )
    return "\n".join(lines)


def forecast_table(tuned: Tuned, rows: list[list[str]], radii: list[float]) -> str:
    """Rows of `forecast_row` under their heads."""
    heads = ["", "sigma", "k", "method", tuned.objective.text, "interval (95%)"]
    heads += [f"r={radius:g}" for radius in radii]
    return (
        f"predicted for n = {tuned.n:,} votes, alpha = {tuned.alpha:g}, from "
        f"{len(tuned.limits)} inputs; certified accuracy (%) at radius r\n{table(rows, heads)}"
    )


def forecast_row(name: str, forecast: Forecast, radii: list[float]) -> list[str]:
    """What a law is predicted to certify, as the cells of a row."""
    import numpy as np

    from dsrs.laws import short_law_text

    law = forecast.law
    size = f"{law.sigma:.4g}" + ("" if law.eta == 2 else f" (eta {law.eta:g})")
    ends = f"{forecast.low:.4f} to {forecast.high:.4f}" if len(forecast.radii) > 1 else ""
    values = [f"{forecast.value:.4f}", ends]
    accuracy = [f"{100 * np.mean(forecast.radii >= radius):.1f}" for radius in radii]
    return [name, size, f"{law.k:g}", short_law_text(forecast.method), *values, *accuracy]


def round_radii(top: float) -> list[float]:
    """At most RADIUS_COLUMNS round radii up to `top`; none where nothing would be certified."""
    from dsrs.measures import round_step

    if top <= 0:
        return []
    step = round_step(top, RADIUS_COLUMNS)
    return [round(step * (i + 1), 12) for i in range(int(top / step))]


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_landscape(commands)
    add_tune(commands)

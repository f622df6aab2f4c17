"""`dsrs tune`: which noise law certifies most, predicted without another query."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.cli.landscape import add_look_options, look
from dsrs.cli.law_options import read_tuned, trained_law
from dsrs.cli.model_options import add_goal, add_model_options, add_workers
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.tables import table
from dsrs.cli.values import numbers
from dsrs.errors import InvalidInput
from dsrs.files import check_figure

if TYPE_CHECKING:
    from dsrs.laws import GeneralizedGaussian
    from dsrs.tuning import Forecast, Tuned

SHOWN_CANDIDATES = 5
RADIUS_COLUMNS = 8  # radii of the table

EPILOG = """\
examples:
  dsrs tune --landscape looks/net --n 100000 --output tuned.json
  dsrs tune --landscape looks/net --objective accuracy@1.5 --sigma 1 --k 380
      Which law certifies most inputs at r = 1.5, beside what sigma = 1, k = 380 would give.
  dsrs certify --model net.onnx --data MNIST/ --law tuned.json --output runs/mine

Every method that has a forecast is tried, double sampling with rescaled and truncated laws.
`limit` is what no isotropic law P could exceed with so many votes. The choice
makes its own inputs look better than they are: certify and report others.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        run=run,
        help="predict what every noise law would certify, and choose one",
        description="From a landscape (or a model and data to look at), predict what every law on "
        "a grid of sigma and k would certify with every method, and name the best.",
        epilog=EPILOG,
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


def run(arguments: argparse.Namespace) -> int:
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

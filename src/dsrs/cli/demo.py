"""`dsrs demo`: the whole path on the model and the images that come with the package."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.law_options import trained_law
from dsrs.cli.model_options import add_workers
from dsrs.cli.options import Commands
from dsrs.cli.tables import table
from dsrs.errors import InvalidInput, MissingExtra
from dsrs.measures import floor_text
from dsrs.methods import defaults

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.measures import MethodAccuracy
    from dsrs.store import RunResult
    from dsrs.tuning import Forecast

DESCRIPTION = """\
Find the noise that suits a small Fashion-MNIST classifier, trained under noise by this package, and
certify 100 test images with it: look at the model on 50 other images, predict what every noise law
would certify (`dsrs tune`), then certify with the usual choice (the noise of the training,
Neyman-Pearson) and with the tuned one. Prints both beside the prediction, and writes a report to
open in a browser. Needs no GPU, no download and no PyTorch. Stop it with Ctrl-C; the same command
continues.
"""
LOOK_VOTES = 2000
DEMO_RADII = (0.25, 0.5, 1.0, 1.5, 2.0)


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        run=run,
        help="certify the embedded model and images, and write a report",
        description=DESCRIPTION,
    )
    parser.add_argument("--n", default=10_000, help="votes for each image")
    parser.add_argument("--images", default=100, help="how many of the 100 images")
    parser.add_argument(
        "--output", type=Path, default=Path("runs/demo"), help="folder of its three runs"
    )
    add_workers(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    # Three runs in a row: where their votes are counted is not worth six lines.
    counting = logging.getLogger("dsrs.counting")
    level = counting.level
    counting.setLevel(logging.WARNING)
    try:
        with as_file(files("dsrs") / "demo") as folder:
            forecasts = _take_runs(arguments, folder)
        _show(arguments, forecasts)
    except MissingExtra as error:
        raise MissingExtra(error.package, "demo") from error
    finally:
        counting.setLevel(level)
    return 0


def _take_runs(arguments: argparse.Namespace, folder: Path) -> dict[str, Forecast]:
    """Look, tune and certify; return what was predicted of each choice of noise."""
    from dsrs.certifying import Origin, certify_run
    from dsrs.classifiers import load_classifier
    from dsrs.datasets import load_dataset
    from dsrs.methods import NEYMAN_PEARSON, Plan
    from dsrs.store import read_landscape, wide_law
    from dsrs.tuning import tune

    trained = trained_law([str(folder)])
    assert trained is not None
    images, others = (load_dataset(folder / name) for name in ("images.npz", "tuning.npz"))
    if not 1 <= arguments.images <= len(images):
        raise InvalidInput(f"--images must be from 1 to {len(images)}, got {arguments.images}")
    model = load_classifier(folder / "model.onnx", input_shape=images.input_shape)

    def take(name: str, what: str, dataset: Dataset, count: int, plan: Plan) -> None:
        certify_run(
            model,
            dataset,
            plan,
            range(count),
            arguments.output / name,
            workers=arguments.workers,
            origin=Origin(source={"model": str(folder / "model.onnx"), "data": dataset.name}),
            progress=lambda total: Progress(total, what, quiet=arguments.quiet),
        )

    wide = wide_law(trained.d, 2 * trained.sigma)
    look = Plan(wide, ("landscape",), n=LOOK_VOTES)
    take("look", "looking at 50 other images", others, len(others), look)
    landscape = read_landscape(arguments.output / "look")
    found = tune(
        landscape.profiles,
        trained.d,
        arguments.n,
        look.alpha,
        methods=defaults.DEFAULT_METHODS,
        current=trained,
        classes=landscape.classes,
    )
    usual = Plan(trained, (NEYMAN_PEARSON,), n=arguments.n)
    take("usual", "certifying with the usual noise", images, arguments.images, usual)
    tuned = Plan(found.best.law, (found.best.method,), n=arguments.n)
    take("tuned", "certifying with the tuned noise", images, arguments.images, tuned)
    (current,) = (forecast for forecast in found.current if forecast.method == NEYMAN_PEARSON)
    return {"usual": current, "tuned": found.best}


def _show(arguments: argparse.Namespace, forecasts: Mapping[str, Forecast]) -> None:
    """Print the prediction beside what was certified, and write the page."""
    from dsrs.measures import certified_accuracy
    from dsrs.reports import make_report, read_runs, write_page
    from dsrs.store import open_run

    rows = []
    for name, forecast in forecasts.items():
        with open_run(arguments.output / name) as run:
            results = list(run.results())
            (certified,) = certified_accuracy(results, DEMO_RADII)
            rows.append(_row(name, forecast, certified, _votes(results)))
            alpha = run.plan.alpha
    with open_run(arguments.output / "look") as run:
        looked = _votes(run.results())
    heads = ["choice", "noise", "method", "votes", "predicted mean r", "certified mean r"]
    heads += [f"r={radius:g}" for radius in DEMO_RADII]
    print(table(rows, heads))
    print(
        f"certified accuracy in percent at l2 radius r, {arguments.images} images, "
        f"alpha = {alpha:g}; {looked:,} more votes looked at other images"
    )
    runs = read_runs([str(arguments.output / name) for name in forecasts], families=None)
    report = make_report(runs)
    page = arguments.output.with_name(arguments.output.name + "-report.html")
    write_page(report, page, "Certified robustness: the embedded demo")
    print(f"open {page.resolve().as_uri()} in a browser")


def _votes(results: Iterable[RunResult]) -> int:
    return sum(votes.total for result in results for votes in result.votes)


def _row(name: str, forecast: Forecast, certified: MethodAccuracy, votes: int) -> list[str]:
    """What was predicted and what was certified with one choice of noise."""
    shape = "" if forecast.law.k == 0 else f", k {forecast.law.k:g}"
    return [
        name,
        f"sigma {forecast.law.sigma:.3g}{shape}",
        forecast.method,
        f"{votes:,}",
        f"{forecast.value:.3f} ({forecast.low:.2f} to {forecast.high:.2f})",
        floor_text(certified.average_radius, 3),
        *(f"{100 * count / certified.total:.0f}" for count in certified.correct),
    ]

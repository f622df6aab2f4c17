"""`dsrs demo` and `dsrs doctor`: the whole path on embedded data, and what this machine can do."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_workers
from dsrs.cli.noise_options import trained_law
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput, MissingExtra
from dsrs.measures import floor_text
from dsrs.methods import defaults

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.measures import MethodAccuracy
    from dsrs.store import RunResult
    from dsrs.tuning import Forecast
    from dsrs.votes import DeviceReport, Machine

# ---- `dsrs demo`: the whole path on the model and the images that come with the package

DEMO_DESCRIPTION = """\
Find the noise that suits a small Fashion-MNIST classifier, trained under noise by this package, and
certify 100 test images with it: look at the model on 50 other images, predict what every noise law
would certify (`dsrs tune`), then certify with the usual choice (the noise of the training,
Neyman-Pearson) and with the tuned one. Prints both beside the prediction, and writes a report to
open in a browser. Needs no GPU, no download and no PyTorch. Stop it with Ctrl-C; the same command
continues.
"""
LOOK_VOTES = 2000
DEMO_RADII = (0.25, 0.5, 1.0, 1.5, 2.0)


def add_demo(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        run=run_demo,
        help="certify the embedded model and images, and write a report",
        description=DEMO_DESCRIPTION,
    )
    parser.add_argument("--n", default=10_000, help="votes for each image")
    parser.add_argument("--images", default=100, help="how many of the 100 images")
    parser.add_argument(
        "--output", type=Path, default=Path("runs/demo"), help="folder of its three runs"
    )
    add_workers(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run_demo(arguments: argparse.Namespace) -> int:
    # Three runs in a row: where their votes are counted is not worth six lines.
    counting = logging.getLogger("dsrs.counting")
    level = counting.level
    counting.setLevel(logging.WARNING)
    try:
        with as_file(files("dsrs") / "demo") as folder:
            forecasts = _take_runs(arguments, folder)
        _show_runs(arguments, forecasts)
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


def _show_runs(arguments: argparse.Namespace, forecasts: Mapping[str, Forecast]) -> None:
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


# ---- `dsrs doctor`: what this machine has, and whether its devices can be trusted with votes

DOCTOR_EPILOG = """\
examples:
  dsrs doctor                      everything that PyTorch knows here
  dsrs doctor --device cuda:1      one device
  dsrs doctor --device cpu:0       what a GPU does, tried on the processor
  dsrs doctor --json               for a bug report: send all of its output

noise is made by one generator, and a device is trusted with it only if its bits are those of the
processor under every law that is tried. Answers of a small known network must agree with those of
the CPU. Speeds are for that network (28 x 28 inputs, 256 rows a pass): votes a second, and rows a
second of forward passes alone, both by PyTorch in float32.

On a CUDA device votes are also taken with noise and passes at the same time. If they are the same,
this is remembered (doctor.json in the cache of dsrs) for this device, driver, PyTorch and dsrs, and
used from now on; DSRS_OVERLAP=off switches it off.

exit codes: 0 all devices can be used, 1 a device answers otherwise than the CPU.
"""


def add_doctor(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        run=run_doctor,
        help="what is installed here, and which devices can be trusted",
        description="Say what is installed, try every device, and compare its noise and its "
        "answers with those of the CPU.",
        epilog=DOCTOR_EPILOG,
    )
    parser.add_argument(
        "--device",
        action="append",
        dest="devices",
        metavar="DEVICE",
        help="a device to try, such as cuda:0; give it again for several (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run_doctor(arguments: argparse.Namespace) -> int:
    from dsrs.votes import examine

    machine = examine(arguments.devices)
    if arguments.json:
        print_json("doctor", machine)
    else:
        _show_machine(machine)
    return 0 if all(device.answers_agree for device in machine.devices) else 1


def _show_machine(machine: Machine) -> None:
    from dsrs import __version__
    from dsrs.votes import PACKAGES

    print(f"dsrs {__version__}, Python {machine.python}, {machine.system}, {machine.cores} cores\n")
    for name, version in machine.packages.items():
        purpose, extra = PACKAGES[name]
        advice = "" if version or extra is None else f": pip install 'dsrs[{extra}]'"
        print(f"  {name:<14}{version or 'missing':<12}{purpose}{advice}")
    if machine.onnx_providers:
        print(f"\nONNX files run on: {', '.join(machine.onnx_providers)}")
    for device in machine.devices:
        print("\n" + _device_text(device))
    if machine.devices and all(one.device.startswith("cpu") for one in machine.devices):
        print("\nno GPU was tried; of a machine with one, `dsrs doctor --json` is welcome")
    if not machine.devices:
        print("\nno device was tried, because PyTorch is not installed")


def _device_text(device: DeviceReport) -> str:
    noise = {
        "fused": "made here by fused kernels, bit for bit the processor's",
        "eager": "made here by eager operations, bit for bit the processor's",
        "host": "made by the processor",
    }[device.noise]
    lines = [
        f"{device.device}: {device.title}",
        f"  noise    {noise}",
        *(f"           {note}" for note in device.notes),
        "  answers  " + ("those of the CPU" if device.answers_agree else "NOT those of the CPU"),
        f"  speed    {device.votes:,.0f} votes a second, {device.votes / device.passes:.0%} of "
        f"{device.passes:,.0f} rows a second of passes alone",
    ]
    if device.overlap_agrees is not None:
        told = "the same votes" if device.overlap_agrees else "OTHER votes: it stays off"
        lines.append(f"  overlap  of noise and passes: {told}")
    if device.most_rows is not None:
        lines.append(f"  memory   {device.most_rows:,} rows of 28 x 28 in one pass")
    return "\n".join(lines)


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_demo(commands)
    add_doctor(commands)

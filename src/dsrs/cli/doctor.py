"""`dsrs doctor`: what this machine has, and whether its devices can be trusted with votes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands
from dsrs.cli.output import print_json

if TYPE_CHECKING:
    from dsrs.votes import DeviceReport, Machine

EPILOG = """\
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


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        run=run,
        help="what is installed here, and which devices can be trusted",
        description="Say what is installed, try every device, and compare its noise and its "
        "answers with those of the CPU.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--device",
        action="append",
        dest="devices",
        metavar="DEVICE",
        help="a device to try, such as cuda:0; give it again for several (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.votes import examine

    machine = examine(arguments.devices)
    if arguments.json:
        print_json("doctor", machine)
    else:
        _show(machine)
    return 0 if all(device.answers_agree for device in machine.devices) else 1


def _show(machine: Machine) -> None:
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
        print("\n" + _text(device))
    if machine.devices and all(one.device.startswith("cpu") for one in machine.devices):
        print("\nno GPU was tried; of a machine with one, `dsrs doctor --json` is welcome")
    if not machine.devices:
        print("\nno device was tried, because PyTorch is not installed")


def _text(device: DeviceReport) -> str:
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

"""`dsrs doctor`: what this machine has, and whether its devices can be trusted with votes."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands

if TYPE_CHECKING:
    from dsrs.votes.machine import DeviceReport, Machine

EPILOG = """\
examples:
  dsrs doctor                      everything that PyTorch knows here
  dsrs doctor --device cuda:1      one device
  dsrs doctor --json               for a bug report

noise is made by one generator, and a device is trusted with it only if its bits are those of the
processor under every law that is tried. Answers of a small known network must agree with those of
the CPU. Speeds are for that network (28 x 28 inputs, 256 rows a pass): votes a second, and rows a
second of forward passes alone.

exit codes: 0 all devices can be used, 1 a device answers otherwise than the CPU.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.votes.machine import examine

    machine = examine(arguments.devices)
    if arguments.json:
        print(json.dumps(machine.to_dict(), indent=2))
    else:
        _show(machine)
    return 0 if all(device.trusted for device in machine.devices) else 1


def _show(machine: Machine) -> None:
    from dsrs import __version__
    from dsrs.votes.machine import PACKAGES

    print(f"dsrs {__version__}, Python {machine.python}, {machine.system}, {machine.cores} cores\n")
    for name, version in machine.packages.items():
        purpose, extra = PACKAGES[name]
        advice = "" if version or extra is None else f": pip install 'dsrs[{extra}]'"
        print(f"  {name:<14}{version or 'missing':<12}{purpose}{advice}")
    for device in machine.devices:
        print("\n" + _text(device))
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
        "  answers  " + ("those of the CPU" if device.trusted else "NOT those of the CPU"),
        f"  speed    {device.votes:,.0f} votes a second, {device.votes / device.passes:.0%} of "
        f"{device.passes:,.0f} rows a second",
    ]
    if device.most_rows is not None:
        lines.append(f"  memory   {device.most_rows:,} rows of 28 x 28 in one pass")
    return "\n".join(lines)

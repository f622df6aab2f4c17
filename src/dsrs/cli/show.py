"""`dsrs show`: what a run folder holds."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dsrs.cli.accuracy_table import measured, print_measured
from dsrs.cli.input_text import input_text
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.radii import add_radii, radii_from
from dsrs.errors import InvalidInput
from dsrs.files import one_line

if TYPE_CHECKING:
    from dsrs.store import Run

MOST_NAMES = 12  # classes whose names are shown

EPILOG = """\
examples:
  dsrs show runs/mine              settings, progress and certified accuracy
  dsrs show runs/mine --watch 10   the same again whenever an input was finished
  dsrs show runs/mine --index 7    votes and certificates of one input; with --json also proofs
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "show",
        run=run,
        help="show what a run folder holds",
        description="Show the settings and results of a run folder; also while it is written.",
        epilog=EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="run folder of `dsrs certify`")
    parser.add_argument(
        "--watch",
        type=float,
        metavar="SECONDS",
        help="look again so often, and show the table when it has grown; Ctrl-C ends it",
    )
    add_radii(parser)
    parser.add_argument("--index", type=int, help="one input: its votes and certificates")
    parser.add_argument(
        "--json", action="store_true", help="settings and accuracy, or all of the --index, as JSON"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch is None:
        return _show(arguments)
    if not 0 < arguments.watch < math.inf:
        raise InvalidInput(f"`watch` must be a positive number of seconds, got {arguments.watch}")
    if arguments.index is not None or arguments.json:
        raise InvalidInput("--watch shows the table; --index and --json cannot be used with it")
    return _watch(arguments)


def _watch(arguments: argparse.Namespace) -> int:
    from dsrs.store import open_run

    shown = None
    try:
        while True:
            with open_run(arguments.run_folder) as opened:
                finished = len(opened)
            if finished != shown:
                print(time.strftime("%H:%M:%S"))
                _show(arguments)
                print(flush=True)
                shown = finished
            time.sleep(arguments.watch)
    except KeyboardInterrupt:
        return 0  # the way to end it


def _show(arguments: argparse.Namespace) -> int:
    from dsrs.store import open_run

    with open_run(arguments.run_folder) as opened:
        if arguments.index is not None:
            _show_input(opened, arguments.index, arguments.json)
            return 0
        results, accuracies, spent = measured(opened, radii_from(arguments))
        if arguments.json:
            known = {"config": opened.config, "votes": spent.total, "methods": accuracies}
            print_json("show", known)
        else:
            print(_settings(opened) + "\n")
            print_measured(opened, results, accuracies, spent)
    return 0


def _settings(opened: Run) -> str:
    from dsrs.laws import WITHOUT_GRID, short_law_text
    from dsrs.measures import expected_false_text

    plan, config, grid = opened.plan, opened.config, opened.sampled_plan.known_grid
    seed = "seed" if plan.seed_public else "seed (drawn for this run)"
    false = expected_false_text(
        plan.alpha, len(opened) * len(plan.methods), plan.family_alpha, plan.family_size
    )
    return "\n".join(
        [
            f"model    {one_line(config['model']['description'])}",
            *_units(config["model"]),
            f"data     {one_line(config['data']['name'])}",
            f"inputs   {_progress(opened)}",
            *_classes(config["data"].get("class_names") or ()),
            f"noise    {plan.law.describe()}" + (f", grid {grid.text}" if grid else ""),
            *([] if grid else [f"         {WITHOUT_GRID}"]),
            f"votes    n = {plan.n:,}, alpha = {plan.alpha:.3g}, {seed} = {plan.seed}",
            f"false    {false}",
            f"methods  {', '.join(map(short_law_text, plan.names))}",
            f"started  {', '.join(session['started'] for session in opened.sessions)}",
        ]
    )


def _progress(opened: Run) -> str:
    """How many inputs are finished, of how many the run was asked for, where it says that."""
    finished, asked = set(opened.indices()), opened.asked
    if asked is None or asked <= finished:
        return f"{len(finished)}, all finished" if asked is not None else f"{len(finished)}"
    return f"{len(finished)} of {len(finished | asked)} finished"


def _units(model: Mapping[str, Any]) -> list[str]:
    """What a radius is measured in, where each feature has a unit of its own."""
    if not model.get("scaling"):
        return []
    return [
        "units    sigma, grid and radii are in scaled units: feature j changes by r unit_j at most "
        "if it changes alone"
    ]


def _classes(names: Sequence[str]) -> list[str]:
    """The names of the classes, the first ones if they are many."""
    if not names:
        return []
    few = [f"{number} {one_line(name)}" for number, name in enumerate(names[:MOST_NAMES])]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return [f"classes  {', '.join(few)}{more}"]


def _show_input(opened: Run, index: int, as_json: bool) -> None:
    from dsrs.store import attacked_inputs

    result = opened.result(index)
    attacked = attacked_inputs(opened).get(index)
    if not as_json:
        names = opened.config["data"].get("class_names") or ()
        print(input_text(result, names, attacked))
        return
    fields = result.sampled.to_dict() | {"certificates": result.certificates}
    fields |= {} if attacked is None else {"attack": attacked}
    print_json("show-index", fields)

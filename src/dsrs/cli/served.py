"""`dsrs served`: whether what is served is what a run or prediction sets speak of."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.grid_option import add_grid, grid_from
from dsrs.cli.law_options import add_law_options, law_from
from dsrs.cli.model_options import add_source_options, classifier_options
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.tables import table
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.certifying import Compared
    from dsrs.classifiers import Classifier

DIFFERENT = 1
EPILOG = """\
examples:
  dsrs served sets.json --model net.onnx --sigma 0.5
  dsrs served runs/mine --model net.onnx --sigma 0.5 --k 380 --device cuda

Compared are the fingerprint of the model, the shape and bounds of its inputs, its classes, the kind
of device, the noise (where --sigma or --law names it) and the grid; of prediction sets also the
precision, by the model's answers to fixed inputs. Certificates and sets are about what they were
made with: where anything differs, they may not be quoted.

exit codes: 0 all the same, 1 something differs, 2 bad arguments or input.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "served",
        run=run,
        help="whether what is served is what a run or prediction sets speak of",
        description="Compare a model, its device, noise and grid with those of a run folder or of "
        "a file of `dsrs conformal calibrate`.",
        epilog=EPILOG,
    )
    parser.add_argument("quoted", metavar="QUOTED", help="run folder, or file of prediction sets")
    group = parser.add_argument_group("what is served")
    add_source_options(group, required=False)
    add_law_options(group, from_file=True)
    add_grid(group)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is None:
        raise InvalidInput("name what is served with --model")
    compared = _compared(arguments)
    same = all(fact.same for fact in compared)
    if arguments.json:
        print_json("served", {"same": same, "facts": compared})
    else:
        rows = [
            [fact.name, "same" if fact.same else "DIFFERS", fact.quoted, fact.served]
            for fact in compared
        ]
        print(table(rows, ["fact", "", "quoted", "served"]))
        print(
            "what is served is what is quoted"
            if same
            else "what is served is something else: what is promised there may not be quoted"
        )
    return 0 if same else DIFFERENT


def _compared(arguments: argparse.Namespace) -> list[Compared]:
    from dsrs.certifying import compare_served, facts_of_model, facts_of_run
    from dsrs.conformal import Sets, compare_sets, facts_of_sets
    from dsrs.store import open_run

    if Path(arguments.quoted).is_dir():
        with open_run(arguments.quoted) as opened:
            facts = facts_of_run(opened.config)
        model = _loaded(arguments, facts)
        compared = compare_served(facts, facts_of_model(model, arguments.device))
    else:
        sets = Sets.load(arguments.quoted)
        facts = facts_of_sets(sets)
        model = _loaded(arguments, facts)
        compared = compare_sets(sets, model, arguments.device)
    return compared + compare_served(facts, _noise(arguments, model))


def _loaded(arguments: argparse.Namespace, facts: dict[str, Any]) -> Classifier:
    """The model that is served, for inputs as what is quoted has them."""
    from dsrs.classifiers import Scaling, load_classifier

    scaling = None if facts.get("scaling") is None else Scaling.from_dict(facts["scaling"])
    options = classifier_options(arguments, tuple(facts["input_shape"]), scaling)
    return load_classifier(arguments.model, **options)


def _noise(arguments: argparse.Namespace, model: Classifier) -> dict[str, Any]:
    """The noise and the grid that are served, where they are named."""
    from dsrs.methods import Plan

    if arguments.sigma is None and arguments.law is None:
        return {}
    law = law_from(arguments, math.prod(model.input_shape))
    chosen = grid_from(arguments, model.bounds)
    grid = Plan(law, ("np",), grid=chosen).on_grid_of(model.bounds).known_grid
    return {"law": law.to_dict(), "grid": None if grid is None else grid.to_dict()}

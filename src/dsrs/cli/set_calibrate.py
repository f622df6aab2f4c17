"""`dsrs conformal calibrate`: the threshold of prediction sets, from labelled inputs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import add_model_options, add_workers, model_and_inputs
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.cli.seed_option import add_seed
from dsrs.cli.set_options import (
    MARGINAL_HELP,
    add_promise_options,
    add_score,
    plan_from,
    refuse_tuning_inputs,
)
from dsrs.files import check_new_file

if TYPE_CHECKING:
    from dsrs.conformal import Sets

EPILOG = f"""\
examples:
  dsrs conformal calibrate --model net.onnx --data calibration.npz --sigma 0.5 --radius 0.5 \\
      --coverage 0.9 --output sets.json
  dsrs conformal predict --sets sets.json --model net.onnx --data test.npz
      For each input a set of classes that holds the true one with probability 0.9, although every
      test input may have been moved by up to 0.5, from one noisy query each.
  dsrs conformal calibrate --model net.onnx --data MNIST/ --skip 4 --law tuned.json --radius 1 \\
      --confidence 0.95 --calibration-draws 8 --output sets.json
      Noise and score from `dsrs conformal tune`; coverage for 19 of 20 calibration sets; 8 draws
      of noise for each calibration input, which cost nothing when answers are given.

{MARGINAL_HELP}
Calibration inputs must be like the clean test inputs (drawn alike, in any order: of sorted data
take every 4th with --skip, not the first ones), and neither the training of the model nor the
choice of the noise may have seen them.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        run=run,
        help="find the threshold of prediction sets on labelled inputs",
        description="Ask the model once for each calibration input under noise, find the threshold "
        "of the scores, and keep it with the proof of its coverage under shifts.",
        epilog=EPILOG,
    )
    add_model_options(parser.add_argument_group("model and data"))
    group = parser.add_argument_group("what is promised")
    add_promise_options(group)
    add_score(group, "threshold unless --law says otherwise")
    group.add_argument(
        "--calibration-draws",
        default=1,
        help="noisy queries of each calibration input: more make the threshold steadier",
    )
    group.add_argument(
        "--confidence",
        type=float,
        help="keep the promise for this calibration set, except if it is one of an unlucky "
        "1 - CONFIDENCE, and not only on average over calibration sets",
    )
    group.add_argument(
        "--off-grid",
        action="store_true",
        help="moved inputs may lie between points of the grid, which 8-bit images never do: costs "
        "the distance (it is on where a calibration input lies there itself)",
    )
    group.add_argument(
        "--batch-size",
        default=1,
        dest="batch",
        help="rows of every forward pass here and in answers, filled up with copies",
    )
    add_seed(group, default=None, help="of the noise, which may be public (default: random)")
    add_workers(group)
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="file of the sets to write"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.conformal import calibrate

    check_new_file(arguments.output, arguments.overwrite)
    classifier, dataset, chosen = model_and_inputs(arguments)
    refuse_tuning_inputs(arguments.law, dataset, chosen)
    sets = calibrate(
        classifier,
        dataset,
        plan_from(arguments, dataset),
        chosen,
        seed=arguments.seed,
        device=arguments.device,
        workers=arguments.workers or 1,
        progress=lambda total: Progress(total, "calibrating", quiet=arguments.quiet),
    )
    sets.save(arguments.output)
    if arguments.json:
        fields = sets.to_dict()
        del fields["calibration"]["scores"], fields["model"]["probes"]
        print_json("conformal-calibrate", fields)
    else:
        print(calibration_text(sets))
    print(f"wrote {arguments.output}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def calibration_text(sets: Sets) -> str:
    """What was calibrated, as text."""
    from dsrs.conformal import fewest_inputs
    from dsrs.measures import ceil_text

    counted, grid = sets.calibration, sets.grid
    lines = [
        f"promise     {sets.guarantee}",
        f"noise       {sets.law.describe()}",
        f"inputs      {counted.inputs:,} with {counted.draws} draw(s) of noise each",
        f"level       {ceil_text(sets.level, 6)} of clean inputs, which leaves {sets.coverage:g} "
        f"under shifts (multiplier {sets.proof.multiplier:.6g})",
        f"threshold   {sets.threshold:.6g} of the score `{sets.score}` (rank {counted.rank:,} of "
        f"{len(counted.scores):,})",
    ]
    if grid is not None:
        lines.append(
            f"grid        {grid.grid.text}; inputs may lie {ceil_text(grid.aside, 6)} (l2) from it"
        )
    lines += [f"note: {caveat}" for caveat in sets.caveats]
    if sets.says_nothing:
        enough = fewest_inputs(sets.level)
        more = "no number of inputs does" if enough is None else f"it takes {enough:,} inputs"
        lines.append(
            "note: every set will hold all classes, since so high a level needs more calibration "
            f"inputs ({more}); or ask for a smaller radius or coverage, or use more noise"
        )
    return "\n".join(lines)

"""`dsrs attack`: how far beyond its certificates is the truth?"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.model_options import (
    add_source_options,
    add_workers,
    model_and_data,
    with_stored_source,
)
from dsrs.cli.options import Commands, Options, whole_numbers
from dsrs.cli.output import print_json, table
from dsrs.measures import ceil_text, floor_text

if TYPE_CHECKING:
    from dsrs.attack import AttackSummary, EpsRates
    from dsrs.proofs import AttackedInput

EXIT_COUNTEREXAMPLE = 3
EPILOG = f"""\
examples:
  dsrs attack runs/mine
      For every certified input, the nearest perturbation that provably ends its claim, with 50,000
      votes for each. Stop it with Ctrl-C and give the same command again: it continues.
  dsrs attack runs/mine --budget 200000 --clip --json
      More votes, perturbed images that are still images, and numbers for a program.
  dsrs attack theirs/run --output runs/attacked --model net.onnx --data MNIST/
      A run that is not yours, or may not be written: the attack is kept in a copy.
  dsrs attack runs/old --model net.onnx --data MNIST/
      A run that does not know where its model and data are.
  dsrs attack runs/mine --norm linf --eps 0.01
      Which answers change within 0.01 in every pixel? Proved either way, or undecided.

`majority lost`: the class provably has no majority there, which its certificate claimed. `answer
changed`: another class is provably ahead of it. A certificate of --classes all claims that the
class leads, and only the second ends it. All proofs of one input hold except with probability
--alpha.

exit codes: 0 done, {EXIT_COUNTEREXAMPLE} a certificate was refuted (a proved counterexample inside
its radius), 2 bad arguments or input, 130 interrupted (Ctrl-C; what was finished is kept).
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "attack",
        run=run,
        help="look for the nearest provable counterexamples to a run's certificates",
        description="For every certified input of a run, look for the nearest perturbation that "
        "changes the smoothed answer, prove it with fresh votes, and keep it in the run.",
        epilog=EPILOG,
    )
    parser.add_argument("run_folder", metavar="RUN", help="run folder of `dsrs certify`")
    options = parser.add_argument_group("the attack")
    options.add_argument(
        "--budget", default=50_000, help="votes for each input, including the proof"
    )
    options.add_argument(
        "--alpha", default=0.001, help="failure probability of what is proved of one input"
    )
    options.add_argument("--seed", default=0, help="same seed, same attack")
    options.add_argument(
        "--clip",
        action="store_true",
        help="perturbed inputs stay within the bounds of the data (certificates cover all of R^d)",
    )
    _add_question(options)
    options.add_argument("--method", help="attack this method (default: the largest radius)")
    options.add_argument("--indices", type=whole_numbers, help="these inputs, such as 3,14,15")
    options.add_argument(
        "--replace",
        action="store_true",
        dest="restart",
        help="drop an earlier attack of this run, which had other settings",
    )
    options.add_argument(
        "--output",
        metavar="FOLDER",
        help="leave the run as it is: copy it into this folder, and keep the attack there",
    )
    add_workers(options)
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    options.add_argument("--quiet", action="store_true", help="no progress")
    add_source_options(
        parser.add_argument_group("model and data, where the run does not know them"),
        required=False,
    )


def _add_question(options: Options) -> None:
    """--norm and --eps: which distance is asked for."""
    options.add_argument(
        "--norm",
        choices=("l1", "l2", "linf"),
        help="what distances are measured in, and which radius is attacked (default: l2)",
    )
    options.add_argument(
        "--eps",
        type=float,
        help="ask only whether the answer changes within this distance (default: look for the "
        "nearest counterexample)",
    )


def run(arguments: argparse.Namespace) -> int:
    from dsrs.attack import AttackSettings, attack_run
    from dsrs.store import open_run

    names = ("budget", "alpha", "seed", "clip", "method", "norm", "eps")
    settings = AttackSettings(**{name: getattr(arguments, name) for name in names})
    with open_run(arguments.run_folder) as opened:
        config = opened.config
    classifier, dataset = model_and_data(with_stored_source(arguments, config))
    summary = attack_run(
        arguments.run_folder,
        classifier,
        dataset,
        settings,
        indices=arguments.indices,
        workers=arguments.workers,
        restart=arguments.restart,
        output=arguments.output,
        progress=lambda total: Progress(total, "attacking", quiet=arguments.quiet),
    )
    if arguments.json:
        print_json("attack", summary)
    else:
        print(attack_text(summary))
    if summary.refuted:
        print(refutation_text(summary.refuted, config["plan"]["alpha"]), file=sys.stderr)
        return EXIT_COUNTEREXAMPLE
    return 0


def attack_text(summary: AttackSummary) -> str:
    """Every input, and the means, as text."""
    if not summary.inputs:
        return "no input of this run is certified: there is nothing to attack"
    rows = [_row(attacked) for attacked in summary.inputs]
    heads = ["input", "certified", "attacked", "ratio", "shown", "votes"]
    heads += [] if summary.rates is None else ["verdict"]
    lines = [table(rows, heads), ""]
    where = "within the bounds of the data" if summary.clip else "anywhere in R^d"
    lines.append(
        f"{summary.proved} of {len(summary.inputs)} certified inputs have a proved counterexample "
        f"{where}; {summary.votes:,} votes"
    )
    if summary.norm != "l2":
        lines.append(f"distances and radii are measured in the {summary.norm} norm")
    if summary.ratio is not None and summary.attacked is not None:
        assert summary.certified_where_attacked is not None
        lines.append(
            f"their means: certified {floor_text(summary.certified_where_attacked, 4)}, attacked "
            f"{ceil_text(summary.attacked, 4)}, certified / attacked {floor_text(summary.ratio, 4)}"
        )
    if summary.rates is not None:
        lines += ["", _rates_text(summary.rates)]
    return "\n".join(lines)


def _rates_text(rates: EpsRates) -> str:
    """How many inputs keep their answer up to eps, with the rates over all inputs."""
    n = rates.inputs
    certified = rates.robust + rates.changed + rates.undecided
    broken = rates.changed + rates.wrong
    at_least = floor_text(100 * Fraction(rates.robust, n), 2)
    at_most = ceil_text(100 * Fraction(n - broken, n), 2)
    return (
        f"within {rates.eps:g}: of {certified} inputs certified for their label {rates.robust} are "
        f"proved robust, {rates.changed} proved changed, {rates.undecided} undecided\n"
        f"{n} inputs in all, {rates.right} predicted right, {rates.wrong} certified for another "
        f"class, {rates.uncertified} without a certificate\n"
        f"robust accuracy within {rates.eps:g}: at least {at_least}%, at most {at_most}%"
    )


def _row(attacked: AttackedInput) -> list[str]:
    counterexample = attacked.counterexample
    return [
        str(attacked.index),
        floor_text(attacked.certified, 4),
        "-" if attacked.attacked is None else ceil_text(attacked.attacked, 4),
        "-" if attacked.ratio is None else floor_text(attacked.ratio, 3),
        "nothing"
        if counterexample is None
        else counterexample.shown + " (REFUTED)" * attacked.refuted,
        f"{attacked.votes:,}",
        *([] if attacked.verdict is None else [attacked.verdict]),
    ]


def refutation_text(refuted: tuple[AttackedInput, ...], alpha: float) -> str:
    """What to say, loudly, of certificates that are proved wrong."""
    lines = ["", "REFUTED: these certificates have a proved counterexample INSIDE their radius:"]
    for attacked in refuted:
        counterexample = attacked.counterexample
        assert counterexample is not None
        lines.append(
            f"  input {attacked.index} ({attacked.method}): certified "
            f"{floor_text(attacked.certified, 6)}, but {counterexample.shown} at "
            f"{ceil_text(counterexample.norm, 6)} ({counterexample.counts[attacked.target]:,} of "
            f"{counterexample.votes:,} votes for class {attacked.target})"
        )
    lines.append(
        f"by their own terms up to alpha = {alpha:g} of all certificates may be wrong, and a proof "
        "of an attack has its own alpha; more than that points to a fault"
    )
    return "\n".join(lines)

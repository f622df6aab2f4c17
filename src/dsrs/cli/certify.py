"""`dsrs certify`: from a model and data to certificates, in a run folder."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING

from dsrs.certifying import Progress
from dsrs.cli.data_options import note_on_units
from dsrs.cli.model_options import (
    add_batch_size,
    add_model_options,
    add_workers,
    chosen_inputs,
    dataset_from,
    source_of,
)
from dsrs.cli.noise_options import (
    LAW_FORMS,
    add_grid,
    add_law_options,
    add_seed,
    grid_from,
    law_from,
    note_on_choice,
    note_on_law,
    seed_of_run,
    tuned_method,
)
from dsrs.cli.options import Commands, Options
from dsrs.cli.output import measured, print_json, print_measured
from dsrs.cli.parsing import add_config_option, config_text
from dsrs.cli.vote_options import (
    add_budget_options,
    add_cluster_options,
    add_shard,
    add_stopping_options,
    counted_model,
    noted_end,
    planned_run,
    radii_from,
    refuse_misfits,
    stopping_from,
    watching,
)
from dsrs.errors import InvalidInput
from dsrs.methods import METHODS, NEYMAN_PEARSON, defaults, entry_of

if TYPE_CHECKING:
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset
    from dsrs.methods import Plan

EPILOG = """\
examples:
  dsrs certify --model net.onnx --data images.npz --sigma 0.5 --k 380 --output runs/mine
      Neyman-Pearson and a tailored law, 100,000 votes of each for every input. Stop it with Ctrl-C
      (or pull the plug) and give the same command again: it continues where it was.
  dsrs certify --model net.onnx --data MNIST/ --skip 10 --sigma 0.5 --k 380 --n 10000 \\
      --q truncated:heuristic --q rescaled:0.8x --output runs/two-laws
      Every 10th test image, fewer votes, two additional laws from the same votes under P.
  dsrs certify --model mypackage.models:make_net --data cifar/ --sigma 0.25 --q none \\
      --output runs/cohen
      Your own model (a callable, PyTorch module or scikit-learn estimator), Gaussian noise,
      Neyman-Pearson alone.
  dsrs certify --model net.onnx --data MNIST/ --sigma 0.5 --radius 1 --output runs/one-radius
      Which inputs are certified at radius 1? Most are decided with a few hundred of 100,000 votes.
  dsrs certify --model net.onnx --data MNIST/ --sigma 0.5 --adaptive --radii 0.25:2:0.25 \\
      --output runs/table
      The table at these radii, each input stopped when its row is known. --radius and --adaptive
      certify by Neyman-Pearson, and by --q tailored if asked: double sampling has no early answer.
  dsrs certify --config runs/mine/run.toml --seed 1 --output runs/again
      The options of another run, but for the seed. Every run folder has such a file.

the noise has dimension d = the number of values of one input. k = 0 is the Gaussian; the paper's
experiments use k = d/2 - 12 (MNIST: 380) or d/2 - 6 (CIFAR-10: 1530). Radii are in the units of
the input, [0, 1] unless --bounds says otherwise; with --scale in units of each feature.

exit codes: 0 done, 2 bad arguments or input (nothing was changed), 130 interrupted (Ctrl-C; what
was finished is kept).

"""

SETTINGS_COMMENT = """\
`dsrs certify --config THIS_FILE --output NEW_FOLDER` repeats this run (--trust-code: if its model
is Python code).
The command that continues the run writes this file anew."""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "certify",
        run=run,
        help="certify inputs of a classifier by sampling it under noise",
        description="Sample a classifier under noise, certify every chosen input by "
        "Neyman-Pearson and other methods, and keep votes and certificates in a run folder.",
        epilog=EPILOG + _methods_help() + LAW_FORMS,
    )
    add_model_options(parser.add_argument_group("model and data"), voters="the first --n0 votes")
    _add_plan_options(parser.add_argument_group("noise, votes and alpha"))
    add_stopping_options(parser.add_argument_group("fewer votes, more from them"))
    add_budget_options(parser.add_argument_group("what it costs"))
    run_options = parser.add_argument_group("the run")
    run_options.add_argument(
        "--output", required=True, kept=False, help="run folder, new or to continue"
    )
    add_config_option(run_options)
    add_workers(run_options)
    add_shard(run_options)
    add_cluster_options(run_options)
    run_options.add_argument(
        "--json", action="store_true", kept=False, help="print the end result as JSON"
    )
    level = run_options.add_mutually_exclusive_group()
    level.add_argument("--quiet", action="store_true", kept=False, help="no progress, no advice")
    level.add_argument(
        "--verbose", action="store_true", kept=False, help="also what is done, in detail"
    )


def _methods_help() -> str:
    """What each method does, as the registry says it."""
    lines = (f"  {entry.form or entry.name}: {entry.help}" for entry in METHODS.values())
    return "methods:\n" + "\n".join(lines) + "\n\n"


def _add_plan_options(group: Options) -> None:
    add_law_options(group, from_file=True)
    group.add_argument("--n", default=defaults.N, help="votes of each method, up to 2^32 - 2^16")
    group.add_argument("--n0", default=defaults.N0, help="votes that choose the class")
    spent = group.add_mutually_exclusive_group()
    spent.add_argument(
        "--alpha",
        type=float,
        help=f"failure probability of a certificate, between 0 and 1 (default: {defaults.ALPHA:g})",
    )
    spent.add_argument(
        "--family-alpha",
        type=float,
        metavar="ALPHA",
        help="instead of --alpha: failure probability of all N certificates of the chosen inputs "
        "and methods together; each has the part ALPHA / N",
    )
    add_seed(
        group,
        default=defaults.SEED,
        help=f"same seed, same votes (default: {defaults.SEED}); random draws one and keeps it in "
        "the run",
    )
    group.add_argument(
        "--q",
        action="append",
        dest="methods",
        metavar="LAW",
        help=f"methods beside np, or none (default: {', '.join(defaults.DEFAULT_METHODS[1:])}; see "
        "methods below); give it again for several",
    )
    _add_double_sampling_options(group)
    group.add_argument(
        "--early-stop", action="store_true", help="give up early on inputs that are hopeless"
    )
    add_batch_size(group)
    add_grid(group)


def _add_double_sampling_options(group: Options) -> None:
    group.add_argument(
        "--share",
        default=defaults.SAMPLE_SHARE,
        dest="sample_share",
        help="double sampling: share of the votes that are taken under P; the others are taken "
        "under Q",
    )
    group.add_argument(
        "--alpha-share",
        default=defaults.ALPHA_SHARE,
        help="double sampling: share of alpha for the bounds under P",
    )
    group.add_argument(
        "--fallback",
        action="store_true",
        help="double sampling: if all first votes agree, sample P again instead of Q",
    )


def run(arguments: argparse.Namespace) -> int:
    from dsrs.certifying import Origin, certify_run

    dataset = dataset_from(arguments)
    refuse_misfits(arguments, _work(arguments, dataset, say=False)[1])
    classifier, executor = counted_model(arguments, dataset)
    # With labels as the model numbers them the data has the fingerprint that runs and tuned files
    # know.
    dataset, end = dataset.named_for(classifier), None
    indices, plan = _work(arguments, dataset)
    if arguments.dry_run or arguments.budget is not None:
        end = planned_run(arguments, classifier, dataset, plan, indices)
        if arguments.dry_run:
            return 0
        indices, plan = _work(arguments, dataset, say=False)
    if not arguments.quiet:
        note_on_law(arguments, plan.law)
        note_on_choice(arguments, dataset, indices)
        note_on_units(arguments, dataset)
    if arguments.verbose:
        _describe(classifier, dataset, plan, len(indices))

    with noted_end():
        certify_run(
            classifier,
            dataset,
            plan,
            indices,
            arguments.output,
            workers=arguments.workers,
            executor=executor,
            origin=Origin(arguments.device, source_of(arguments), _settings(arguments, plan)),
            progress=watching(
                lambda total: Progress(total, "certifying", quiet=arguments.quiet), end
            ),
        )
    return _conclude(arguments)


def _settings(arguments: argparse.Namespace, plan: Plan) -> str:
    """The run.toml of this run. A law from a file is written out: the file may change."""
    decided = {
        **{"sigma": plan.law.sigma, "k": plan.law.k, "eta": plan.law.eta},
        "q": [text for text in plan.methods if text != NEYMAN_PEARSON] or ["none"],
        **{name: getattr(plan, name) for name in ("n", "n0", "seed")},
        **({"alpha": plan.alpha} if plan.family_alpha is None else {}),
        "share": plan.sample_share,
        "alpha-share": plan.alpha_share,
        "batch-size": plan.batch,
    }
    return config_text(arguments.texts | decided, SETTINGS_COMMENT)


def _work(
    arguments: argparse.Namespace, dataset: Dataset, *, say: bool = True
) -> tuple[list[int], Plan]:
    """The inputs of this run, and the plan for it and for the runs of other shards."""
    chosen = chosen_inputs(arguments, dataset, say=say)
    return arguments.shard.of(chosen), _plan(arguments, dataset, len(chosen))


def _plan(arguments: argparse.Namespace, dataset: Dataset, inputs: int) -> Plan:
    from dsrs.measures import hopeless_votes
    from dsrs.methods import Plan, methods_of

    methods = tuple(
        arguments.methods
        or (tuned_method(arguments) if arguments.law else defaults.DEFAULT_METHODS[1:])
    )
    if NEYMAN_PEARSON in methods:
        raise InvalidInput("np always runs; give --q none for np alone")
    if "none" in methods and len(methods) > 1:
        raise InvalidInput(f"--q none cannot be used with other methods, got {', '.join(methods)}")
    same = ("n", "n0", "sample_share", "alpha_share", "fallback", "early_stop", "target", "batch")
    plan = Plan(
        law=law_from(arguments, math.prod(dataset.input_shape)),
        **{name: getattr(arguments, name) for name in same},
        **({} if arguments.alpha is None else {"alpha": arguments.alpha}),
        **seed_of_run(arguments.seed, arguments.output),
        methods=(NEYMAN_PEARSON, *(() if methods == ("none",) else methods)),
        grid=grid_from(arguments, dataset.bounds),
        **stopping_from(arguments),
    ).on_grid_of(dataset.bounds)
    if not plan.goal.is_open and not arguments.methods:
        fitting = (text for text in plan.methods if entry_of(text).load().one_bound)
        plan = plan.replace(methods=tuple(fitting))
    hopeless = hopeless_votes(plan.n, plan.alpha)
    if hopeless:
        raise InvalidInput(hopeless)
    methods_of(plan)  # refuses a plan that does not fit
    if arguments.family_alpha is None:
        return plan
    return plan.for_all_of(inputs, arguments.family_alpha)


def _describe(classifier: Classifier, dataset: Dataset, plan: Plan, count: int) -> None:
    from dsrs.laws import short_law_text

    grid = plan.known_grid
    lines = [
        f"model: {classifier.description}",
        f"data: {dataset.name}, {count} of {len(dataset)} inputs, "
        f"{'without' if dataset.labels is None else 'with'} labels",
        f"noise: {plan.law.describe()}, "
        + ("added in float32" if grid is None else f"on a grid of step {grid.text}"),
        f"methods: {', '.join(map(short_law_text, plan.names))}; "
        f"n = {plan.n:,}, alpha = {plan.alpha:g}",
    ]
    print("\n".join(lines), file=sys.stderr)


def _conclude(arguments: argparse.Namespace) -> int:
    from dsrs.store import open_run

    with open_run(arguments.output) as finished:
        results, accuracies, spent = measured(finished, radii_from(arguments))
        if not arguments.json:
            print_measured(finished, results, accuracies, spent)
    if arguments.json:
        document = {
            "run": arguments.output,
            "votes": spent.total,
            "most_votes": spent.most,
            "methods": accuracies,
        }
        print_json("certify", document)
    elif not arguments.quiet:
        print(
            f"\nnext: dsrs report {arguments.output}       pictures and numbers of this run\n"
            f"      dsrs export {arguments.output} --format csv   for other programs"
        )
    return 0

"""`dsrs montecarlo`: radii in the l1, l2 and l-infinity norms by Monte Carlo."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from dsrs.cli.law_options import LAW_FORMS, add_law_options
from dsrs.cli.options import Commands
from dsrs.cli.second_law import add_second_law, votes_of
from dsrs.cli.tables import table
from dsrs.errors import InvalidInput
from dsrs.measures.rounding import floor_text

if TYPE_CHECKING:
    from dsrs.other_norms import MonteCarloCertificate

DESCRIPTION = """\
Prove a radius against shifts in the l1 or l-infinity norm, for noise that is round in that norm
(also l2, where `dsrs radius` is exact and faster). One sample searches, a fresh one tests.

Say what is known of the class: lower bounds (--p, --q-lower) or votes (--p-votes, --q-votes). With
votes their confidence bounds are paid from --alpha too; with bounds all of --alpha goes to the
test.
"""

EXAMPLES = """\
examples:
  dsrs montecarlo --norm l1 --d 784 --k 380 --sigma 0.5 --p 0.9
  dsrs montecarlo --norm linf --d 784 --k 380 --sigma 0.5 --alpha 0.001 \\
      --p-votes 46000/50000 --q truncated:0.5 --q-votes 49900/50000

"""

# The part of alpha that the Monte Carlo test gets when votes have to be paid as well.
TEST_PART = 0.1


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "montecarlo",
        help="radii in the l1, l2 and l-infinity norms by Monte Carlo",
        description=DESCRIPTION,
        epilog=EXAMPLES + LAW_FORMS,
    )
    parser.add_argument(
        "--norm", required=True, choices=("l1", "l2", "linf"), help="norm of noise and of shifts"
    )
    parser.add_argument("--d", type=int, required=True, help="number of inputs (28x28 is 784)")
    add_law_options(parser, size="size of the noise: RMS of one coordinate")
    p = parser.add_mutually_exclusive_group(required=True)
    p.add_argument("--p", type=float, dest="p_lower", help="lower bound of P_A under the noise")
    p.add_argument("--p-votes", metavar="RIGHT/ALL", help="votes for the class under the noise")
    add_second_law(parser, numbers="--q-lower", count=1)
    parser.add_argument(
        "--alpha", type=float, default=0.001, help="total failure probability (default 0.001)"
    )
    parser.add_argument(
        "--samples", type=int, default=1_000_000, help="draws of the test (default 1000000)"
    )
    parser.add_argument(
        "--search-samples", type=int, default=50_000, help="draws of the search (default 50000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of both samples (default 0)")
    parser.add_argument("--json", action="store_true", help="the record, for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from dsrs.confidence import AlphaBudget, clopper_pearson_lower
    from dsrs.laws import parse_additional_law
    from dsrs.other_norms import NormLaw, SeenUnder, certify_by_monte_carlo

    law = NormLaw(arguments.norm, arguments.d, arguments.sigma, arguments.k, arguments.eta)
    seen = [(lower, None) for (lower,) in arguments.q_numbers]
    seen += [(None, votes) for votes in arguments.q_votes]
    if len(seen) != len(arguments.q_law) or len(seen) > 1:
        raise InvalidInput("an additional law needs both --q and one of --q-lower, --q-votes, once")
    second = arguments.q_law[0] if seen else ""
    if ":t=" in second.lower() and law.norm != "l2":
        raise InvalidInput(
            f"a truncation radius is measured in the l2 norm; for {law.norm} noise give the share "
            f"of the mass to keep, such as truncated:0.5, got {second!r}"
        )
    if arguments.seed < 0:
        raise InvalidInput(f"`seed` must be a whole number >= 0, got {arguments.seed}")
    budget = AlphaBudget(arguments.alpha)
    bounds = [(arguments.p_lower, arguments.p_votes, "lower bound of P_A")]
    bounds += [(*known, "lower bound of Q_A") for known in seen]
    voted = sum(votes is not None for _, votes, _ in bounds)
    lower = []
    for bound, votes, purpose in bounds:
        if votes is not None:
            share = budget.spend((1 - TEST_PART) * arguments.alpha / voted, purpose)
            bound = clopper_pearson_lower(*votes_of(votes), share)
        lower.append(bound)
    additional = []
    if seen:
        other = parse_additional_law(second, law.radial, lower[0])
        additional.append(SeenUnder(other, lower[1]))
    certificate = certify_by_monte_carlo(
        law,
        lower[0],
        *additional,
        budget=budget,
        generator=np.random.default_rng(arguments.seed),
        samples=arguments.samples,
        search_samples=arguments.search_samples,
    )
    if arguments.json:
        print(json.dumps(certificate.to_dict(), indent=2, allow_nan=False))
    else:
        print(_describe(certificate))
    return 0


def _describe(certificate: MonteCarloCertificate) -> str:
    lines = [certificate.law.describe()]
    lines.append(f"P_A >= {floor_text(certificate.p_lower, 6)}")
    for seen in certificate.additional:
        # Not the law's own description: its radius T is measured in the l2 norm.
        lines.append(f"Q_A >= {floor_text(seen.q_lower, 6)} under {seen.law.short_text}")
    lines.append("")
    if certificate.status == "certified" and certificate.dual_bound is not None:
        radius = floor_text(certificate.radius, 6)
        lines.append(f"certified {certificate.law.norm} radius  {radius}")
        bound = floor_text(certificate.dual_bound, 6)
        multipliers = ", ".join(f"{value:.6g}" for value in certificate.multipliers)
        lines.append(f"class probability there >= {bound}, by multipliers {multipliers}")
    elif certificate.status == "abstained":
        lines.append("abstained: these bounds do not prove any radius")
    else:
        lines.append("undecided: the fresh sample did not confirm the search; raise --samples")
    shares = [(share.purpose, f"{share.alpha:.4g}") for share in certificate.shares]
    return "\n".join([*lines, "", table(shares, ("failure probability spent on", "alpha"))])

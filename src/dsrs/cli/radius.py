"""`dsrs radius`: the largest provable radius of one input, from intervals or votes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dsrs.cli.noise_options import LAW_FORMS, add_law_options, law_from
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json, table
from dsrs.errors import InvalidInput
from dsrs.measures import floor_text, nearest_text

if TYPE_CHECKING:
    from dsrs.laws import GeneralizedGaussian
    from dsrs.proofs import Certificate, Interval, Observation

EPILOG = """\
examples:
  What one probability proves (Neyman-Pearson):
    dsrs radius --d 3072 --k 1530 --sigma 0.5 --p 0.97 0.98

  What a second law adds: noise of the same kind, cut at 80% of its mass:
    dsrs radius --d 3072 --k 1530 --sigma 0.5 --p 0.97 0.98 \\
      --q truncated:0.8 --q-interval 0.995 1.0

  From votes (right/all); alpha is split evenly between the laws:
    dsrs radius --d 3072 --k 1530 --sigma 0.5 --p-votes 48750/50000 --alpha 0.001 \\
      --q rescaled:0.4 --q-votes 49800/50000

  Several laws at once: repeat --q with --q-interval or --q-votes, in the same order.

  The least probability of the class at a shift of length 1.2 (the paper's C):
    dsrs radius --d 3072 --k 1530 --sigma 0.5 --p 0.97 0.98 \\
      --q truncated:0.8 --q-interval 0.995 1.0 --at 1.2

"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "radius",
        run=run,
        help="the largest provable radius of one input, from intervals or votes",
        description="Compute the largest radius that can be proved from what sampling has "
        "learned: an interval for P_A, the probability of the class under the smoothing noise P, "
        "and optionally one for Q_A under each additional law Q.",
        epilog=EPILOG + LAW_FORMS,
    )
    noise = parser.add_argument_group("smoothing noise P")
    noise.add_argument("--d", type=int, required=True, help="input dimension, e.g. 3072")
    add_law_options(noise)
    seen = parser.add_argument_group("what is known")
    first = seen.add_mutually_exclusive_group(required=True)
    first.add_argument("--p", nargs=2, type=float, metavar=("LOW", "HIGH"), help="interval of P_A")
    first.add_argument("--p-votes", metavar="RIGHT/ALL", help="votes under P, e.g. 48750/50000")
    seen.add_argument(
        "--q",
        action="append",
        dest="q_law",
        default=[],
        metavar="LAW",
        help="additional law (see below); give it again for several",
    )
    seen.add_argument(
        "--q-interval",
        nargs=2,
        type=float,
        action="append",
        default=[],
        metavar=("LOW", "HIGH"),
        help="interval of Q_A under --q",
    )
    seen.add_argument(
        "--q-votes",
        action="append",
        default=[],
        metavar="RIGHT/ALL",
        help="votes under --q, e.g. 49800/50000",
    )
    seen.add_argument("--alpha", type=float, help="failure probability of the votes' bounds")
    parser.add_argument(
        "--at", type=float, metavar="R", help="the least class probability at a shift of length R"
    )
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def run(arguments: argparse.Namespace) -> int:
    from dsrs.proofs import certify

    law = law_from(arguments, arguments.d)
    p, additional = _observed(arguments, law)
    if arguments.at is not None:
        return _print_least_probability(law, p, additional, arguments)
    certificate = certify(law, p, *additional)
    if arguments.json:
        print_json("radius", certificate, indent=None)
    else:
        print(describe(certificate))
    return 0


def _print_least_probability(
    law: GeneralizedGaussian,
    p: Interval,
    additional: list[Observation],
    arguments: argparse.Namespace,
) -> int:
    from dsrs.proofs import least_probability

    step = least_probability(law, p, *additional, radius=arguments.at)
    if arguments.json:
        answer = {
            "radius": step.radius,
            "least_probability": step.dual_bound,
            "multipliers": step.multipliers,
        }
        print_json("radius-at", answer)
        return 0
    values = _named_multipliers(step.multipliers)
    print(
        f"at shift {step.radius!r} the class has a probability of at least "
        f"{floor_text(step.dual_bound, 10)}\nby the multipliers {values}"
    )
    return 0


def _observed(
    arguments: argparse.Namespace, law: GeneralizedGaussian
) -> tuple[Interval, list[Observation]]:
    from dsrs.confidence import AlphaBudget, clopper_pearson, clopper_pearson_lower
    from dsrs.laws import parse_additional_law
    from dsrs.proofs import Interval, Observation

    if arguments.q_interval and arguments.q_votes:
        raise InvalidInput("give either --q-interval or --q-votes, not both")
    given = arguments.q_interval or arguments.q_votes
    if len(given) != len(arguments.q_law):
        raise InvalidInput(
            f"each --q needs one --q-interval or --q-votes: got {len(arguments.q_law)} law(s) and "
            f"{len(given)} interval(s)"
        )
    voted = arguments.p_votes is not None or bool(arguments.q_votes)
    if voted and arguments.alpha is None:
        option = "--q-votes" if arguments.p_votes is None else "--p-votes"
        raise InvalidInput(f"{option} needs --alpha, the failure probability, such as 0.001")
    if arguments.alpha is not None and not voted:
        raise InvalidInput("--alpha is for --p-votes and --q-votes; intervals have their own")
    shares = (arguments.p_votes is not None) + len(arguments.q_votes)
    budget = AlphaBudget(arguments.alpha) if voted else None

    def interval(text: str, purpose: str) -> Interval:
        assert budget is not None
        right, trials = votes_of(text)
        share = budget.spend(arguments.alpha / shares, purpose)
        if not arguments.q_law:
            # Only the lower end counts, so it may have all of alpha.
            return Interval(float(clopper_pearson_lower(right, trials, share)), 1.0)
        bounds = clopper_pearson(right, trials, share)
        return Interval(float(bounds.lower), float(bounds.upper))

    p = interval(arguments.p_votes, "P_A") if arguments.p_votes else _named("--p", arguments.p)
    observations = []
    for text, seen in zip(arguments.q_law, given, strict=True):
        q = interval(seen, text) if arguments.q_votes else _named("--q-interval", seen)
        observations.append(Observation(parse_additional_law(text, law, p.lower), q))
    return p, observations


def votes_of(text: str) -> tuple[int, int]:
    """48750/50000 as two numbers."""
    right, slash, trials = (part.strip() for part in text.partition("/"))
    if not (slash and right.isdecimal() and trials.isdecimal()):
        raise InvalidInput(f"votes are written RIGHT/ALL, such as 48750/50000, got {text!r}")
    return int(right), int(trials)


def _named(option: str, ends: list[float]) -> Interval:
    from dsrs.proofs import Interval

    try:
        return Interval(*ends)
    except InvalidInput as error:
        raise InvalidInput(f"{option}: {error}") from None


def describe(certificate: Certificate) -> str:
    """The certificate for people; every digit is rounded down."""
    proved, p, additional = certificate, certificate.known_of_p, certificate.observations
    lines = [
        f"noise P   {proved.law.describe()}",
        f"          P_A in [{p.lower:.9g}, {p.upper:.9g}]",
    ]
    for seen in additional:
        lines.append(f"law Q     {seen.law.describe()}")
        lines.append(f"          Q_A in [{seen.interval.lower:.9g}, {seen.interval.upper:.9g}]")
    rows = []
    if proved.np_radius is not None:
        alone = replace(proved, radius=proved.np_radius)
        rows.append(_row("Neyman-Pearson", alone))
    if additional or not rows:
        rows.append(_row("double sampling", proved))
    lines += ["", table(rows, ["certificate", "l2 radius", "l-inf radius", "l1 radius"])]
    if additional and proved.np_radius is not None and 0 < proved.np_radius < math.inf:
        gain = 100 * (proved.radius / proved.np_radius - 1)
        lines.append(f"\ngain of double sampling: {nearest_text(gain, 2)}%")
    lines += ["", _proof(proved)]
    return "\n".join(lines)


def _row(name: str, certificate: Certificate) -> list[str]:
    radii = (certificate.radius_in("l2"), certificate.linf_radius, certificate.l1_radius)
    return [name, *(floor_text(radius, 6) for radius in radii)]


def _proof(certificate: Certificate) -> str:
    if certificate.status == "abstained":
        return "abstained: the class may have a probability of 1/2 or less, so nothing is certified"
    if certificate.status == "undecided":
        return "undecided: the search found no proof; nothing is certified"
    proof = certificate.proof
    step = None if proof is None else proof.outermost
    assert step is not None
    values = _named_multipliers(step.multipliers)
    text = (
        f"proof: at shift {floor_text(step.radius, 9)} the multipliers {values}\n"
        f"       give the class a probability of at least {floor_text(step.dual_bound, 10)} > 1/2"
    )
    steps = len(getattr(proof, "steps", ()))
    if steps > 1:
        text += f"\n       ({steps} steps cover the shorter shifts)"
    return text


def _named_multipliers(multipliers: Sequence[float]) -> str:
    """lambda_p = ..., lambda_q = ...; the laws are numbered where there are several."""
    count = len(multipliers) - 1
    names = ["lambda_p", *(f"lambda_q{i + 1 if count > 1 else ''}" for i in range(count))]
    return ", ".join(
        f"{name} = {value:.9g}" for name, value in zip(names, multipliers, strict=True)
    )

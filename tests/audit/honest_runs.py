"""Honest small runs of every method and option, drawn at random, and what the check says of them.

Votes are simulated from a profile: a share of votes for each class in each radial bin of P. The

    python tests/audit/honest_runs.py --runs 5000 --seed 0

prints the mix, the verdicts and what they took; exit code 1 if one is refuted. Parts of the same
5,000 can be run beside each other: --start 1000 --runs 1000. Kernels are compiled first: a run
takes about a tenth of a second of the processor then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from dsrs.audit import Verdict
from dsrs.audit.checking import check_certificate
from dsrs.audit.methods import BoundsFromVotes
from dsrs.duality.kernel import compile_kernels
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.laws.grid import Grid
from dsrs.methods import Plan, certificates_of, methods_of
from dsrs.votes.records import SampledInput
from methods.simulation import Profile, simulate_input

DIMENSIONS = (2, 3, 5, 10, 16, 64, 784, 3072, 150528)
LAWS = (
    *("truncated:heuristic", "truncated:paper-heuristic", "truncated:0.6", "truncated:0.9"),
    *("rescaled:0.8x", "rescaled:1.2x", "rescaled:0.5x"),
)
SECONDS = 10.0  # that one certificate may take
PATIENCE = 200.0  # on a busy machine a few seconds of the processor take minutes
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Checked:
    """One certificate of an honest run, and the verdict on it."""

    plan: Plan
    method: str
    certificate: dict[str, Any]
    verdict: Verdict
    wall: float


def random_law(generator: np.random.Generator) -> GeneralizedGaussian:
    """A smoothing law in 2 to 150,528 dimensions; half of them Gaussian."""
    d = int(generator.choice(DIMENSIONS))
    sigma = float(generator.choice([0.12, 0.25, 0.5, 1.0]))
    if generator.random() < 0.5:
        return GeneralizedGaussian(d, sigma)
    m = float(generator.choice([0.5, 1.0, 2.0, 4.0, 12.0, d / 4]))
    eta = 2.0 if generator.random() < 0.6 else float(generator.choice([0.5, 1.0, 4.0, 8.0]))
    k = max(0.0, d / 2 - m) if generator.random() < 0.8 else 0.0
    return GeneralizedGaussian(d, sigma, k, eta)


def random_plan(generator: np.random.Generator) -> Plan:
    """A plan that `dsrs certify` would take; n from 1 to 10,000."""
    while True:
        law = random_law(generator)
        n = int(np.exp(generator.uniform(0, np.log(10_000))).round())
        options: dict[str, Any] = {
            "n": n,
            "n0": int(generator.choice([1, 10, 100])),
            "alpha": float(generator.choice([0.001, 0.05, 1e-6])),
            "seed": int(generator.integers(2**63)),
            "target": str(generator.choice(["label", "predicted"])),
            "early_stop": bool(generator.random() < 0.3),
            "grid": Grid(1 / 4080) if generator.random() < 0.5 else None,
        }
        form = generator.random()
        if form < 0.5:
            options["methods"] = [("np",), ("np", "tailored"), ("tailored",)][
                int(generator.integers(3))
            ]
            goal = generator.random()
            if goal < 0.2:
                options["radius"] = law.sigma * float(generator.choice([0.1, 0.5, 1.0]))
            elif goal < 0.4:
                options["radii"] = (0.2 * law.sigma, 0.6 * law.sigma)
            elif goal < 0.5:
                options["precision"] = 0.1
            options["classes"] = str(generator.choice(["top", "all"]))
        else:
            chosen = generator.choice(LAWS, size=int(generator.integers(1, 3)), replace=False)
            options["methods"] = ("np", *map(str, chosen))
            options["fallback"] = bool(generator.random() < 0.3)
            options["sample_share"] = float(generator.choice([0.3, 0.5]))
            options["alpha_share"] = float(generator.choice([0.2, 0.5]))
        try:
            plan = Plan(law, **options)
            methods_of(plan)
            return plan
        except InvalidInput:
            continue  # too few votes for the method, or a grid too fine for the law


def random_profile(generator: np.random.Generator) -> Profile:
    """Three classes; class 1 is the label, and is right more often near the input."""
    best = 1 - 10 ** generator.uniform(-4, 0) * generator.choice([0.0, 0.3, 1.0])
    slope = generator.choice([0.0, 0.0, generator.uniform(0, 0.6)])
    hits = np.clip(best - slope * np.linspace(0, 1, HISTOGRAM_BINS), 0, 1)
    split = generator.uniform(0, 1)
    return Profile(np.stack([(1 - hits) * split, hits, (1 - hits) * (1 - split)]))


def sampled(plan: Plan, index: int, generator: np.random.Generator) -> SampledInput:
    """The votes of one input under a plan."""
    label = 1 if generator.random() < 0.7 else None
    return simulate_input(plan, random_profile(generator), index, label, generator)


def checked_run(seed: int, number: int) -> list[Checked]:
    """One honest run of one input: each of its certificates, checked with its votes."""
    generator = np.random.default_rng([seed, number])
    plan = random_plan(generator)
    seen = sampled(plan, number, generator)
    found = []
    for method, certificate in certificates_of(seen, plan).items():
        fields = certificate.to_dict()
        bounds = BoundsFromVotes(plan.to_dict(), plan.to_dict(), method, seen.to_dict())
        began = time.monotonic()
        verdict = check_certificate(fields, f"run {number}, {method}", bounds, PATIENCE)
        found.append(Checked(plan, method, fields, verdict, time.monotonic() - began))
    return found


def laws_of(certificate: dict[str, Any]) -> int:
    """How many laws a certificate starts from, P included."""
    proof = certificate["proof"] or {}
    return 1 + len(proof.get("additional") or [])


def summary(found: list[Checked]) -> str:
    """The mix of the runs, and what the check said."""
    mixes: dict[str, Counter[Any]] = {
        "method": Counter(one.method.partition(":")[0] for one in found),
        "d": Counter(one.plan.law.d for one in found),
        "n": Counter(f"1e{len(str(one.plan.n)) - 1}" for one in found),
        "eta": Counter(one.plan.law.eta for one in found),
        "k > 0": Counter(one.plan.law.k > 0 for one in found),
        "kind": Counter((one.certificate["proof"] or {}).get("kind") for one in found),
        "grid": Counter(one.plan.grid is not None for one in found),
        "classes": Counter(one.plan.classes for one in found),
        "goal": Counter(not one.plan.goal.is_open for one in found),
        "verdict": Counter(one.verdict.word for one in found),
    }
    lines = [f"{name}: {dict(counts.most_common())}" for name, counts in mixes.items()]
    seconds = np.sort([one.verdict.seconds for one in found])
    quantiles = ", ".join(f"{100 * q:g}% {np.quantile(seconds, q):.2f}" for q in QUANTILES)
    lines.append(f"processor seconds of a check: mean {seconds.mean():.3f}, {quantiles}")
    claims = [one for one in found if one.verdict.word != "abstained"]
    usual = [one for one in claims if laws_of(one.certificate) <= 2]
    lines.append(
        f"certificates that claim something: {len(claims)}, by up to two laws {len(usual)}"
    )
    lines.append(f"over {SECONDS:g} s: {sum(seconds > SECONDS)}")
    lines += [
        f"{one.verdict.word}: {one.verdict.name}: {one.verdict.reason}; {one.plan}"
        for one in found
        if one.verdict.word in ("refuted", "undecided")
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    compile_kernels()
    found: list[Checked] = []
    began = time.process_time()
    for number in range(arguments.start, arguments.start + arguments.runs):
        found += checked_run(arguments.seed, number)
    spent = time.process_time() - began
    print(f"{arguments.runs} runs, {len(found)} certificates, {spent:.0f} s of the processor")
    print(summary(found))
    return int(any(one.verdict.word == "refuted" for one in found))


if __name__ == "__main__":
    sys.exit(main())

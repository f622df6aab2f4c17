"""Honest small runs of every method and option, drawn at random, and what the check says of them.

Votes are simulated from a profile: a share of votes for each class in each radial bin of P. The

    python tests/evidence/honest_runs.py --runs 5000 --seed 0

prints the mix, the verdicts and what they took; exit code 1 if one is not proved. Parts of the same
5,000 can be run beside each other: --start 1000 --runs 1000.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from dsrs.duality.kernel import compile_kernels
from dsrs.errors import InvalidInput
from dsrs.evidence import Evidence, evidence_of_run
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Grid
from dsrs.methods import Plan, methods_of
from dsrs.store import open_run
from dsrs.votes import SampledInput
from evidence.small_runs import checker, keep_run
from methods.simulation import Profile, simulate_input

DIMENSIONS = (2, 3, 5, 10, 16, 64, 784, 3072, 150528)
LAWS = (
    *("truncated:heuristic", "truncated:paper-heuristic", "truncated:0.6", "truncated:0.9"),
    *("rescaled:0.8x", "rescaled:1.2x", "rescaled:0.5x"),
)
SECONDS = 10.0  # of the processor that one certificate may take
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class CheckedRun:
    """One honest run of one input: each certificate that claims something, and what was said."""

    plan: Plan
    evidence: Evidence
    reasons: dict[str, str]  # by the name of the certificate; empty where it is proved
    ways: dict[str, str]  # by which way each is proved
    seconds: dict[str, float]  # of the processor

    @property
    def unproved(self) -> list[str]:
        return [f"{name}: {why}; {self.plan}" for name, why in self.reasons.items() if why]


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
        if generator.random() < 0.2:
            options["family"] = True
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
            options["classes"] = str(generator.choice(["top", "top", "all"]))
        try:
            together = options.pop("family", False)
            plan = Plan(law, **options)
            plan = plan.for_all_of(5, 0.01) if together else plan
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


def honest_evidence(folder: Path, plan: Plan, inputs: list[SampledInput]) -> Evidence:
    """What a run of these votes claims."""
    with open_run(keep_run(folder, plan, inputs)) as run:
        return evidence_of_run(run)


def checked_run(seed: int, number: int) -> CheckedRun:
    """One honest run of one input: each of its certificates, checked with its votes."""
    generator = np.random.default_rng([seed, number])
    plan = random_plan(generator)
    seen = sampled(plan, number, generator)
    with TemporaryDirectory() as folder:
        evidence = honest_evidence(Path(folder, "run"), plan, [seen])
    return checked(plan, evidence)


def checked(plan: Plan, evidence: Evidence) -> CheckedRun:
    """What the checker says of each certificate, and what it took."""
    found = CheckedRun(plan, evidence, {}, ways_of(evidence), {})
    program = checker()
    for item in program.ProofFile(evidence.text().encode()).items:
        began = time.process_time()
        said = program.outcome(item)
        found.seconds[item.name] = time.process_time() - began
        found.reasons[item.name] = said.get("reason", "")
        assert said["proved"] == (not found.reasons[item.name])
    return found


def ways_of(evidence: Evidence) -> dict[str, str]:
    """How each certificate of a file proves its first claim."""
    found = {}
    for line in evidence.lines:
        for method, certificate in line.get("certificates", {}).items():
            (way,) = certificate["claims"][0]["proof"]
            found[f"input {line['input']}, {method}"] = way
    return found


def summary(found: list[CheckedRun]) -> str:
    """The mix of the runs, and what the checker said."""
    claims = [(run, name) for run in found for name in run.reasons]
    mixes: dict[str, Counter[Any]] = {
        "method": Counter(name.split(", ")[1].partition(":")[0] for _, name in claims),
        "way": Counter(run.ways.get(name) for run, name in claims),
        "d": Counter(run.plan.law.d for run, _ in claims),
        "n": Counter(f"1e{len(str(run.plan.n)) - 1}" for run, _ in claims),
        "eta": Counter(run.plan.law.eta for run, _ in claims),
        "k > 0": Counter(run.plan.law.k > 0 for run, _ in claims),
        "grid": Counter(run.plan.grid is not None for run, _ in claims),
        "classes": Counter(run.plan.classes for run, _ in claims),
        "goal": Counter(not run.plan.goal.is_open for run, _ in claims),
        "fallback": Counter(run.plan.fallback for run, _ in claims),
        "proved": Counter(not run.reasons[name] for run, name in claims),
    }
    lines = [f"{name}: {dict(counts.most_common())}" for name, counts in mixes.items()]
    seconds = np.sort([run.seconds[name] for run, name in claims])
    quantiles = ", ".join(f"{100 * q:g}% {np.quantile(seconds, q):.2f}" for q in QUANTILES)
    lines.append(f"processor seconds of a check: mean {seconds.mean():.3f}, {quantiles}")
    lines.append(f"over {SECONDS:g} s: {sum(seconds > SECONDS)}")
    lines.append(f"abstained: {sum(run.evidence.abstained for run in found)}")
    return "\n".join([*lines, *(line for run in found for line in run.unproved)])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    compile_kernels()
    began = time.process_time()
    numbers = range(arguments.start, arguments.start + arguments.runs)
    found = [checked_run(arguments.seed, number) for number in numbers]
    spent = time.process_time() - began
    print(f"{arguments.runs} runs, {spent:.0f} s of the processor")
    print(summary(found))
    return int(any(run.unproved for run in found))


if __name__ == "__main__":
    sys.exit(main())

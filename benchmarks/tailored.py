"""Tailored certificates on recorded landscapes, against Neyman-Pearson and double sampling.

    python benchmarks/tailored.py [--inputs N] [--seed S]

The accuracy by noise norm recorded at ../shared/reference is taken as the truth of each input.
Votes are simulated from it, 100,000 in all for every method, pilot included, alpha = 0.001;
certificates are real ones. The first table has mean radii; "known" is the law that the true
profile chooses, without a pilot. The second gives votes their expected counts, and the least radius
of any input in units of the Neyman-Pearson radius.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.cli.tables import table
from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.duality.kernel import compile_kernels
from dsrs.errors import InfeasibleBox
from dsrs.landscape.expected import expected_hits
from dsrs.landscape.pilot import PilotStep, pilot_step
from dsrs.landscape.prediction import probability
from dsrs.landscape.profile import Profile
from dsrs.landscape.tailored import tailored_law
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, parse_additional_law
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation

REFERENCE = Path(__file__).parents[2] / "shared" / "reference" / "accuracy_by_noise_norm.csv.gz"
N, ALPHA = 100_000, 0.001
DOUBLE_SAMPLING = ("rescaled:0.8x", "truncated:heuristic")
TRUTH_POINTS = 2000
FINE = 8  # points a bin when votes are expected and not drawn

Floats = NDArray[np.float64]


def recorded_profiles(
    limit: int | None,
) -> Iterator[tuple[str, GeneralizedGaussian, list[Profile]]]:
    """Model, law of its training, and the true profile of each input."""
    models: dict[str, tuple[GeneralizedGaussian, dict[str, list[tuple[float, float]]]]] = {}
    with gzip.open(REFERENCE, "rt") as file:
        for row in csv.DictReader(file):
            law = GeneralizedGaussian(int(row["d"]), float(row["sigma"]), float(row["k"]))
            _, inputs = models.setdefault(row["model"], (law, {}))
            point = (float(row["noise_norm"]), float(row["accuracy"]))
            if point[0] > 0:
                inputs.setdefault(row["index"], []).append(point)
    for model, (law, inputs) in models.items():
        profiles = []
        for points in list(inputs.values())[:limit]:
            profiles.append(interpolated(*np.array(points).T))
        yield model, law, profiles


def interpolated(norms: Floats, accuracy: Floats) -> Profile:
    """Recorded accuracies with straight lines between them: a truth that is no fit of ours."""
    points = np.linspace(np.log(norms[0]), np.log(norms[-1]), TRUTH_POINTS)
    scores = np.clip(special.ndtri(np.interp(np.exp(points), norms, accuracy)), -6, 6)
    return Profile(points, scores, np.zeros((1, TRUTH_POINTS)), np.ones(1), 10**9, 10**6)


@dataclass
class Votes:
    """Draws votes from a true profile, or gives them their expected counts."""

    profile: Profile
    base: GeneralizedGaussian
    generator: np.random.Generator | None

    def hits(self, law: AdditionalLaw | GeneralizedGaussian, n: int) -> int:
        right = probability(self.profile, law)
        if self.generator is None:
            return int(expected_hits(np.array(1 - right), n))
        return int(self.generator.binomial(n, right))

    def bins(self, n: int) -> tuple[Floats, Floats]:
        """Hits and trials of n votes under P in its equal-mass bins."""
        middles = (np.arange(FINE * HISTOGRAM_BINS) + 0.5) / (FINE * HISTOGRAM_BINS)
        right = self.profile(self.base.radial_quantile(middles)).reshape(-1, FINE).mean(axis=1)
        if self.generator is None:
            return right * n / HISTOGRAM_BINS, np.full(HISTOGRAM_BINS, n / HISTOGRAM_BINS)
        trials = self.generator.multinomial(n, np.full(HISTOGRAM_BINS, 1 / HISTOGRAM_BINS))
        return self.generator.binomial(trials, right).astype(np.float64), trials.astype(np.float64)

    def one_bound(self, law: AdditionalLaw | None, n: int) -> float:
        """The radius from n votes under one law."""
        lower = clopper_pearson_lower(self.hits(law or self.base, n), n, ALPHA)
        if law is None:
            return certify(self.base, Interval(lower, 1.0)).radius
        seen = Observation(law, Interval(lower, 1.0))
        return certify(self.base, Interval(0.0, 1.0), seen).radius

    def double_sampling(self, method: str) -> float:
        p = Interval(*clopper_pearson(self.hits(self.base, N // 2), N // 2, ALPHA / 2))
        law = parse_additional_law(method, self.base, p.lower)
        q = Interval(*clopper_pearson(self.hits(law, N // 2), N // 2, ALPHA / 2))
        try:
            return certify(self.base, p, Observation(law, q)).radius
        except InfeasibleBox:
            return 0.0

    def pilot(self) -> tuple[PilotStep, int]:
        """What the pilot votes choose, and how many they were."""
        hits = trials = np.zeros(HISTOGRAM_BINS)
        while (step := pilot_step(self.base, N, ALPHA, hits, trials)).more:
            more_hits, more_trials = self.bins(step.more)
            hits, trials = hits + more_hits, trials + more_trials
        return step, round(float(trials.sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, help="only so many inputs of each model")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not REFERENCE.exists():
        print(f"{REFERENCE} is not there: nothing to measure")
        return
    compile_kernels()
    generator = np.random.default_rng(arguments.seed)
    drawn, expected = [], []
    for model, base, profiles in recorded_profiles(arguments.inputs):
        radii, least, shares, seconds = [], [], [], []
        for profile in profiles:
            votes = Votes(profile, base, generator)
            known = votes.one_bound(tailored_law(profile, base, N, ALPHA).law, N)
            began = time.process_time()
            step, used = votes.pilot()
            tailored = votes.one_bound(step.law, N - used)
            seconds.append(time.process_time() - began)
            shares.append(used / N)
            double = [votes.double_sampling(method) for method in DOUBLE_SAMPLING]
            radii.append([votes.one_bound(None, N), *double, tailored, known])
            sure = Votes(profile, base, None)
            step, used = sure.pilot()
            alone = sure.one_bound(None, N)
            if alone > 0:
                least.append(sure.one_bound(step.law, N - used) / alone)
        mean = np.mean(radii, axis=0)
        drawn.append(
            [model, str(len(profiles)), *(f"{value:.4f}" for value in mean),
             f"{100 * mean[3] / mean[4]:.2f}%", f"{100 * (mean[3] / max(mean[1:3]) - 1):+.2f}%",
             f"{100 * np.mean(shares):.1f}%", f"{1e3 * np.median(seconds):.1f}"]
        )  # fmt: skip
        expected.append([model, str(len(least)), f"{min(least):.4f}", f"{np.median(least):.4f}"])
    print("mean radius, votes drawn")
    names = ["model", "inputs", "np", *DOUBLE_SAMPLING, "tailored", "known", "of known",
             "over double sampling", "pilot", "ms"]  # fmt: skip
    print(table(drawn, names))
    print("\ntailored / np, expected counts")
    print(table(expected, ["model", "inputs", "least", "median"]))


if __name__ == "__main__":
    main()

"""Tailored certificates on recorded landscapes, against Neyman-Pearson and double sampling.

    python benchmarks/tailored.py [--inputs N] [--seed S]
    python benchmarks/tailored.py --worst [--pilots K] [--every E] [--landscape RUN]

The accuracy by noise norm recorded at ../shared/reference is taken as the truth of each input.
Votes are simulated from it, 100,000 in all for every method, pilot included, alpha = 0.001;
certificates are real ones. The first table has mean radii; "known" is the law that the true
profile chooses, without a pilot. The second gives votes their expected counts, and the least radius
of any input in units of the Neyman-Pearson radius.

--worst has the expected radius of every input, or of every E-th, at 1,000, 10,000 and 100,000
votes against that of Neyman-Pearson with as many. The pilot is drawn K times; the mean over the
votes that follow is taken at quantiles of their binomial law, so that K = 20 is as sharp as some
hundreds of seeds. Radii are those of `landscape.tailored`, good to 1e-4. --landscape adds the
inputs of a run of `dsrs landscape`, under the law of the embedded model's training.
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
from scipy import special, stats

from dsrs.cli import table
from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.duality import compile_kernels
from dsrs.errors import InfeasibleBox
from dsrs.landscape import (
    PilotStep,
    Profile,
    expected_hits,
    neyman_pearson_radius,
    pilot_step,
    probability,
    proved_shifts,
    shells_of,
    tailored_law,
    unproved_at,
)
from dsrs.laws import (
    HISTOGRAM_BINS,
    AdditionalLaw,
    GeneralizedGaussian,
    Weighted,
    parse_additional_law,
)
from dsrs.proofs import Interval, Observation, certify
from dsrs.store import read_landscape

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

    def pilot(self, n: int = N) -> tuple[PilotStep, int]:
        """What the pilot votes choose, and how many they were."""
        hits = trials = np.zeros(HISTOGRAM_BINS)
        while (step := pilot_step(self.base, n, ALPHA, hits, trials)).more:
            more_hits, more_trials = self.bins(step.more)
            hits, trials = hits + more_hits, trials + more_trials
        return step, round(float(trials.sum()))


QUANTILES = (np.arange(60) + 0.5) / 60
BUDGETS = (1000, 10_000, 100_000)


@dataclass(frozen=True)
class Expected:
    """The expected radius of one input in units of sigma, by Neyman-Pearson and by `tailored`."""

    p: float
    alone: float
    tailored: float
    pilot: float  # share of the votes


def expected_radii(
    profile: Profile, base: GeneralizedGaussian, n: int, pilots: int, seed: int
) -> Expected:
    """Means over `pilots` pilots, and over the votes behind each of them."""
    shells = shells_of(base)
    misses = special.ndtr(-profile.scores_at(base.sigma * shells.norms))
    right = 1 - float(misses @ shells.mass)

    def unproved(probability: float, left: int) -> Floats:
        missed = stats.binom.ppf(QUANTILES, left, 1 - probability)
        return unproved_at(missed / left, left, ALPHA)

    def alone(left: int) -> float:
        return float(np.mean(neyman_pearson_radius(base, unproved(right, left)))) / base.sigma

    radii, shares = [], []
    for number in range(pilots):
        votes = Votes(profile, base, np.random.default_rng([seed, number, n]))
        step, used = votes.pilot(n)
        shares.append(used / n)
        if step.law is None or step.choice is None:
            radii.append(alone(n - used))
            continue
        logs = log_weights(step.law, shells.t)
        weights = shells.mass * np.exp(logs)
        lost = unproved(1 - float(weights @ misses / weights.sum()), n - used)
        near = step.choice.radius / base.sigma
        for _ in range(2):
            middle = proved_shifts(shells, logs[None], np.full((1, 1), np.median(lost)), near)
            near = max(float(middle[0, 0]), 0.02)
        radii.append(float(np.mean(proved_shifts(shells, logs[None], lost[None], near))))
    return Expected(right, alone(n), float(np.mean(radii)), float(np.mean(shares)))


def log_weights(law: Weighted, t: Floats) -> Floats:
    """ln lambda of a law on shells."""
    u, knots, logs = np.log(t), np.log(law.knots), np.array(law.log_weights)
    inner = logs[0] + (law.inner or 0.0) * (u - knots[0])
    outer = -np.inf if law.outer is None else logs[-1] + law.outer * (u - knots[-1])
    inside = np.interp(u, knots, logs)
    return np.where(u < knots[0], inner, np.where(u > knots[-1], outer, inside))


LEAST_RADIUS = 0.02  # in sigma: below it nothing is certified, and shares of it say nothing


def worst(arguments: argparse.Namespace) -> None:
    """The table of expected radii, a row for each model and budget."""
    rows = []
    models = list(recorded_profiles(arguments.inputs))
    if arguments.landscape:
        demo = GeneralizedGaussian(784, 0.5, 380)
        models.append(("demo", demo, list(read_landscape(arguments.landscape).profiles)))
    for n in BUDGETS:
        for model, base, profiles in models:
            found = [
                expected_radii(profile, base, n, arguments.pilots, arguments.seed)
                for profile in profiles[:: arguments.every]
            ]
            counted = [one for one in found if one.alone > LEAST_RADIUS]
            ratios = [one.tailored / one.alone - 1 for one in counted]
            least = int(np.argmin(ratios))
            gain = np.mean([one.tailored for one in found]) / np.mean([one.alone for one in found])
            rows.append(
                [f"{n:,}", model, str(len(counted)), f"{100 * (gain - 1):+.2f}%",
                 f"{100 * ratios[least]:+.2f}%", f"{counted[least].p:.4f}",
                 f"{counted[least].alone:.3f}", str(sum(ratio < -0.01 for ratio in ratios)),
                 f"{100 * np.mean([one.pilot for one in found]):.1f}%"]
            )  # fmt: skip
            print(" ".join(rows[-1]), flush=True)
    names = ["n", "model", "inputs", "mean gain", "worst", "its P_A", "its np", "below -1%",
             "pilot"]  # fmt: skip
    print(table(rows, names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worst", action="store_true", help="expected radii of single inputs")
    parser.add_argument("--pilots", type=int, default=20, help="pilots drawn for each input")
    parser.add_argument("--every", type=int, default=1, help="every so manyth input")
    parser.add_argument("--landscape", help="a run folder of dsrs landscape for the demo model")
    parser.add_argument("--inputs", type=int, help="only so many inputs of each model")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not REFERENCE.exists():
        print(f"{REFERENCE} is not there: nothing to measure")
        return
    if arguments.worst:
        worst(arguments)
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

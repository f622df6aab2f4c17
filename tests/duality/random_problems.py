"""Random problems of any number of laws, for the package and, from definitions, for the oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsrs.duality import Problem, dual_bound
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Interval, Observation, constraints_of, problem_of
from oracle import mixtures

DIMENSIONS = (2, 3, 4, 5, 8, 20, 63, 64, 100, 784, 3072, 150528)


@dataclass(frozen=True)
class Case:
    """P, the other laws with their intervals, a multiplier each, and a shift."""

    law: GeneralizedGaussian
    p: Interval
    additional: tuple[Observation, ...]
    multipliers: tuple[float, ...]
    radius: float

    def problem(self) -> Problem:
        """All laws, in the order given."""
        constraints = constraints_of(self.law, self.p, self.additional)
        assert len(constraints) == len(self.multipliers)
        return problem_of(self.law, constraints)

    def ours(self) -> float:
        multipliers = np.array(self.multipliers)
        return float(dual_bound(self.problem(), multipliers, self.radius / self.law.scale))

    def exact(self) -> mixtures.Answer:
        noise = mixtures.Noise(self.law.d, self.law.sigma, self.law.k, self.law.eta)
        laws = [mixtures.own(noise), *(by_definition(noise, each.law) for each in self.additional)]
        intervals = [self.p, *(each.interval for each in self.additional)]
        ends = [
            interval.lower if multiplier > 0 else interval.upper
            for interval, multiplier in zip(intervals, self.multipliers, strict=True)
        ]
        return mixtures.dual_bound(noise, laws, ends, self.multipliers, self.radius)


def by_definition(noise: mixtures.Noise, law: AdditionalLaw) -> mixtures.Law:
    """The oracle's own version of a law, from its parameters."""
    if isinstance(law, Truncated):
        return mixtures.truncated(noise, law.percentile)
    if isinstance(law, Rescaled):
        return mixtures.rescaled(noise, law.beta)
    assert isinstance(law, Weighted)
    return mixtures.weighted(noise, law.knots, law.log_weights)


def random_base(
    generator: np.random.Generator, etas: tuple[float, ...] = (2.0, 2.0, 1.0, 4.0)
) -> GeneralizedGaussian:
    d, eta = int(generator.choice(DIMENSIONS)), float(generator.choice(etas))
    m = d / eta if generator.random() < 0.15 else min(10 ** generator.uniform(-0.5, 2), d / eta)
    return GeneralizedGaussian(d, 1.0, max((d - eta * m) / 2, 0.0), eta)


def random_law(generator: np.random.Generator, base: GeneralizedGaussian) -> AdditionalLaw:
    kind = generator.choice(["truncated", "rescaled", "rescaled", "weighted"])
    if kind == "truncated":
        return Truncated(base, generator.uniform(0.03, 0.97))
    if kind == "rescaled":
        width = 2.5 * 2 / base.eta / (math.sqrt(base.m) + 2)
        return Rescaled(base, math.exp(generator.uniform(-width, width)))
    shares = np.sort(generator.uniform(0.001, 0.999, int(generator.integers(2, 6))))
    knots = base.shell(base.radial_quantile(shares))
    slopes = generator.normal(0, 1 + math.sqrt(base.m), len(knots) - 1)
    logs = np.concatenate([[0.0], np.cumsum(slopes * np.diff(np.log(knots)))])
    return Weighted(base, tuple(knots.tolist()), tuple(logs.tolist()))


def random_case(generator: np.random.Generator, fewest: int = 1, most: int = 23) -> Case:
    base = random_base(generator)
    count = int(generator.integers(fewest, most + 1))
    multipliers = generator.choice([-1, 1, 1], count + 1) * 10 ** generator.uniform(
        -3, 2.5, count + 1
    )
    if generator.random() < 0.15:
        multipliers[generator.integers(count + 1)] *= 10 ** generator.uniform(1, 4)
    seen = []
    for i in range(count):
        interval = Interval(0.95, 0.96)
        if i % 2:
            # Hardly any information; half of these are not used either.
            interval = Interval(0.0, 1 - 1e-9)
            multipliers[i + 1] *= generator.choice([0.0, 1.0])
        seen.append(Observation(random_law(generator, base), interval))
    return Case(
        base,
        Interval(0.93, 0.94),
        tuple(seen),
        tuple(multipliers.tolist()),
        float(generator.uniform(0.02, 3.0)),
    )

"""Problems of an adversary who knows the quadrature: what might hide, and multipliers to match."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsrs.duality import dual_bound
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Interval, Observation, constraints_of, problem_of
from oracle import dense

Generator = np.random.Generator
HALF = Interval(0.0, 0.5)


@dataclass(frozen=True)
class Forgery:
    """P, the other laws, all with their intervals, a multiplier each, and a shift."""

    law: GeneralizedGaussian
    p: Interval
    additional: tuple[Observation, ...]
    multipliers: tuple[float, ...]
    radius: float

    def ours(self) -> float:
        constraints = constraints_of(self.law, self.p, self.additional)
        assert len(constraints) == len(self.multipliers)
        problem = problem_of(self.law, constraints)
        return float(dual_bound(problem, np.array(self.multipliers), self.radius / self.law.scale))

    def exact(self) -> float:
        """By the dense oracle."""
        noise = dense.Noise(self.law.d, self.law.sigma, self.law.k, self.law.eta)
        laws = [dense.own(noise), *(by_definition(noise, each.law) for each in self.additional)]
        intervals = [self.p, *(each.interval for each in self.additional)]
        ends = [
            interval.lower if multiplier > 0 else interval.upper
            for interval, multiplier in zip(intervals, self.multipliers, strict=True)
        ]
        return dense.dual_bound(noise, laws, ends, self.multipliers, self.radius)

    @property
    def tolerance(self) -> float:
        """How far the oracle may be off: it does not know where g changes its sign."""
        return 1e-3 + 5e-6 * sum(map(abs, self.multipliers))


def by_definition(noise: dense.Noise, law: AdditionalLaw) -> dense.Law:
    if isinstance(law, Rescaled):
        return dense.rescaled(noise, law.beta)
    if isinstance(law, Truncated):
        return dense.truncated(noise, law.percentile)
    assert isinstance(law, Weighted)
    return dense.weighted(noise, law.knots, law.log_weights, law.inner, law.outer)


def narrow_in_a_wide_one(generator: Generator) -> Forgery:
    """A law of hundreds of standard deviations that hardly counts, and a narrow one inside it."""
    d = int(generator.choice([784, 3_072, 150_528]))
    law = GeneralizedGaussian(d, 1.0, float(generator.choice([0.0, 0.0, d / 2 - 60])))
    m = law.m
    exponent = max(44 * math.sqrt(m) / generator.uniform(300, 5000), 1.1e-3 * m)
    knot = m * math.exp(3 * generator.normal() / math.sqrt(m))
    wide = Weighted(law, (knot,), (0.0,), inner=exponent - m, outer=exponent - m)
    narrow = Rescaled(law, max(math.exp(-22 / exponent * generator.random()), 1e-6))
    p_lower = float(generator.choice([0.0, 0.6]))
    multipliers = (
        float(generator.uniform(0, 3)) if p_lower else 0.0,
        float(generator.choice([-1e-200, 1e-200, 1e-9])),
        -float(generator.uniform(0.5, 3)),
    )
    seen = Observation(wide, HALF), Observation(narrow, HALF)
    return Forgery(law, Interval(p_lower, 1.0), seen, multipliers, _shift(generator, -1, 3))


def dozens_of_narrow_ones(generator: Generator) -> Forgery:
    """A row of laws that touch each other, of which only a few count."""
    law = GeneralizedGaussian(1_000_000, 1.0)
    count, start = int(generator.integers(60, 80)), generator.uniform(-3, 3)
    places = np.arange(count) + generator.uniform(-0.05, 0.05, count)
    factors = np.exp(0.5 * (start + 17 * places / math.sqrt(law.m)))
    multipliers = np.full(count + 1, -1e-200)
    multipliers[0] = 0.0
    few = int(generator.integers(1, 4))
    multipliers[generator.integers(1, count + 1, few)] = -generator.uniform(0.5, 3, few)
    seen = tuple(Observation(Rescaled(law, factor), HALF) for factor in factors.tolist())
    radius = _shift(generator, -1, 3)
    return Forgery(law, Interval(0.0, 1.0), seen, tuple(multipliers.tolist()), radius)


def two_that_nearly_cancel(generator: Generator) -> Forgery:
    """Two steep laws that begin at one shell, of opposite signs: their sum begins with nearly 0."""
    d = int(generator.choice([2, 10, 784, 3_072]))
    m = min(float(generator.choice([0.5, 1.0, 6.0, 12.0])), d / 2)
    law = GeneralizedGaussian(d, 1.0, d / 2 - m)
    knot = m * math.exp(generator.uniform(-2, 1))
    slope, share = 10 ** generator.uniform(1, 4.9), 10 ** generator.uniform(-6, -0.5)
    size = generator.choice([-1, 1]) * 10 ** generator.uniform(0, 5)
    seen = tuple(
        Observation(Weighted(law, (knot,), (0.0,), outer=-each), HALF)
        for each in (slope, slope * (1 + share))
    )
    of_p = float(generator.choice([0.0, 1e-200, 0.8]))
    multipliers = (of_p, size, -size * (1 - share * generator.uniform(0, 1.5)))
    return Forgery(law, Interval(0.6, 1.0), seen, multipliers, _shift(generator, -3, 2))


def few_dimensions(generator: Generator) -> Forgery:
    """Any law in few dimensions, where the angles end in kinks."""
    d, eta = int(generator.choice([2, 3, 4, 8, 30])), float(generator.choice([0.5, 1, 2, 4, 8]))
    law = GeneralizedGaussian(d, 1.0, float(generator.choice([0, 0, 0.3]) * d / 2), eta)
    seen = []
    for _ in range(int(generator.integers(1, 3))):
        knots = np.sort(law.m * np.exp(generator.normal(size=3)))
        logs = generator.normal(size=3) * generator.choice([1, 20])
        laws = (
            Rescaled(law, math.exp(generator.normal() * generator.choice([0.2, 3.0]))),
            Truncated(law, 10 ** generator.uniform(-1, 0)),
            Weighted(
                law,
                tuple(knots.tolist()),
                tuple(logs.tolist()),
                inner=float(generator.uniform(-0.9, 2) * law.m),
                outer=float(5 * generator.normal()),
            ),
        )
        seen.append(Observation(laws[generator.integers(3)], Interval(0.3, 0.9)))
    sizes = generator.normal(size=len(seen)) * 10 ** generator.uniform(-2, 3, len(seen))
    multipliers = (float(generator.choice([0.0, 0.5, 1.5, -1.0])), *sizes.tolist())
    radius = _shift(generator, -4, 1)
    return Forgery(law, Interval(0.5, 1.0), tuple(seen), multipliers, radius)


def _shift(generator: Generator, low: float, high: float) -> float:
    return float(10 ** generator.uniform(low, high))


KINDS = {
    kind.__name__: kind
    for kind in (
        narrow_in_a_wide_one,
        dozens_of_narrow_ones,
        two_that_nearly_cancel,
        few_dimensions,
    )
}

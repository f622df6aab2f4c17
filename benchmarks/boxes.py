"""Random certification problems that some classifier has: ordinary ones, and nasty ones.

The classifier is right on shell t with probability a(t). P_A and Q_A are its averages over equal
shares of the mass of each law, so the intervals around them contradict nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import clopper_pearson
from dsrs.errors import DsrsError
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Interval, Observation

Floats = NDArray[np.float64]
Problem = tuple[GeneralizedGaussian, Interval, tuple[Observation, ...]]
Accuracy = Callable[[Floats], Floats]

SHARES = (np.arange(4096) + 0.5) / 4096
VOTES = 50_000


def realistic_boxes(count: int, seed: int) -> Iterator[Problem]:
    """As runs give them: d of images, m of the paper, accuracy that falls, 50,000 votes a law."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        d = int(random.choice([784, 3_072, 150_528]))
        law = GeneralizedGaussian(d, float(random.choice([0.25, 0.5, 1.0])), d / 2 - 12)
        laws: list[AdditionalLaw] = [
            Truncated(law, float(random.uniform(0.4, 0.95))),
            Rescaled(law, law.sigma * float(random.uniform(0.7, 0.95))),
        ]
        kept = random.choice([0, 1, 2], p=[0.45, 0.45, 0.1])
        chosen = laws if kept == 2 else [laws[kept]]
        centre, width = law.m * random.uniform(1.0, 3.0), random.uniform(0.05, 0.6)

        def accuracy(t: Floats, centre: float = centre, width: float = width) -> Floats:
            return np.asarray(1 / (1 + (t / centre) ** (2 / width)))

        p, *seen = (_voted(random, _share(each, accuracy, law)) for each in (law, *chosen))
        yield law, p, tuple(map(Observation, chosen, seen))


def nasty_boxes(count: int, seed: int) -> Iterator[Problem]:
    """Any dimension, m from 1/2 on, any eta, up to four laws of every kind, accuracy in bands,
    and intervals from a tenth to nothing."""
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        d = int(random.choice([2, 3, 5, 10, 63, 65, 784, 3_072, 150_528]))
        eta = float(random.choice([2.0, 2.0, 2.0, 0.5, 1.0, 4.0, 8.0]))
        m = min(math.exp(random.uniform(math.log(0.5), math.log(60))), d / eta)
        try:
            law = GeneralizedGaussian(d, math.exp(random.uniform(-2, 2)), (d - m * eta) / 2, eta)
            laws = [_any_law(random, law) for _ in range(random.integers(1, 5))]
        except DsrsError:
            continue  # out of the range of laws: not a problem to certify
        edges = np.sort(law.m * random.gamma(law.m, size=random.integers(1, 5)) / law.m)
        levels = random.uniform(0, 1, len(edges) + 1)
        levels[0] = 1 - 10 ** random.uniform(-5, -1)

        def accuracy(t: Floats, edges: Floats = edges, levels: Floats = levels) -> Floats:
            return np.asarray(levels[np.searchsorted(edges, t)])

        p, *seen = (_around(random, _share(each, accuracy, law)) for each in (law, *laws))
        if p.upper > 0.5:
            made += 1
            yield law, p, tuple(map(Observation, laws, seen))


def _any_law(random: np.random.Generator, law: GeneralizedGaussian) -> AdditionalLaw:
    kind = random.integers(3)
    if kind == 0:
        return Truncated(law, float(random.uniform(0.05, 1)))
    if kind == 1:
        return Rescaled(law, law.sigma * math.exp(random.uniform(-1.5, 1)))
    knots = np.sort(random.gamma(law.m, size=random.integers(2, 7)))
    return Weighted(law, tuple(knots.tolist()), tuple(random.normal(0, 2, len(knots)).tolist()))


def _share(
    law: GeneralizedGaussian | AdditionalLaw, accuracy: Accuracy, base: GeneralizedGaussian
) -> float:
    return float(np.mean(accuracy(base.shell(law.radial_quantile(SHARES)))))


def _voted(random: np.random.Generator, share: float) -> Interval:
    hits = int(random.binomial(VOTES, min(share, 1.0)))
    return Interval(*map(float, clopper_pearson(hits, VOTES, 5e-4)))


def _around(random: np.random.Generator, share: float) -> Interval:
    width = float(random.choice([0.0, 10 ** random.uniform(-6, -1)]))
    # The averages over shares are off by about 1e-4 where accuracy jumps.
    return Interval(max(share - width - 1e-3, 0.0), min(share + width + 1e-3, 1.0))

"""Votes without noise or a classifier, from a profile whose probabilities are known.

A profile says how often each class is voted for in each radial bin of P. It fixes the probability
of every class under every isotropic law, so whoever certifies these votes can be marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dsrs.laws import HISTOGRAM_BINS, AdditionalLaw, GeneralizedGaussian
from dsrs.methods import Method, Plan, Session, methods_of
from dsrs.noise import NoiseLaw, radial_edges
from dsrs.proofs import Certificate, Interval, Lead
from dsrs.votes import Counts, SampledInput


@dataclass(frozen=True)
class Profile:
    """`shares[c, b]`: how often class c is voted for by noise in radial bin b."""

    shares: NDArray[np.float64]

    @classmethod
    def of_two(cls, hits: NDArray[np.float64]) -> Profile:
        """Class 1 with these shares, class 0 else."""
        return cls(np.stack([1 - hits, hits]))

    def probability(self, target: int, law: GeneralizedGaussian | AdditionalLaw) -> float:
        """How often noise of this law makes a vote for this class."""
        return float(self.shares[target] @ bin_masses(law))

    def draw(
        self,
        law: GeneralizedGaussian | AdditionalLaw,
        votes: int,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """So many votes by class and bin."""
        trials = generator.multinomial(votes, bin_masses(law))
        return generator.multinomial(trials, self.shares.T).T


@lru_cache(maxsize=4096)
def bin_masses(law: GeneralizedGaussian | AdditionalLaw) -> NDArray[np.float64]:
    """How much of the law's mass lies in each radial bin of P."""
    base = law if isinstance(law, GeneralizedGaussian) else law.base
    below = np.concatenate([[0.0], law.radial_cdf(radial_edges(base)), [1.0]])
    masses = np.clip(np.diff(below), 0, 1)
    assert len(masses) == HISTOGRAM_BINS
    return np.asarray(masses / masses.sum())


def simulate_input(
    plan: Plan, profile: Profile, index: int, label: int | None, generator: np.random.Generator
) -> SampledInput:
    """One input, sampled as its plan wants."""
    session = Session(plan, index, label)
    while (unit := session.next()) is not None:
        votes = profile.draw(unit.stream.law, unit.stop - unit.first, generator)
        session.add(unit, Counts(votes))
    return session.finish(0.0)


def misses(certificate: Certificate, target: int, profile: Profile) -> bool:
    """Whether some bound of the certificate misses its probability.

    Only then can the certificate be wrong, so it must happen at most alpha often. Of the rivals one
    is fixed, here the likeliest: the one whose bound fails most often. Rounding is no miss.
    """
    seen: list[tuple[NoiseLaw, Interval]] = [(certificate.law, certificate.known_of_p)]
    seen += [(each.law, each.interval) for each in certificate.observations]
    if isinstance(certificate.proof, Lead):
        proof = certificate.proof
        rivals = [(seen[-1][0], proof.rival)]
        rivals += [] if proof.p is None else [(certificate.law, proof.p.rival)]
        for law, most in rivals:
            others = np.delete(profile.shares, target, axis=0) @ bin_masses(law)
            if others.max() > most + 1e-12:
                return True
    return any(
        not interval.lower - 1e-12 <= profile.probability(target, law) <= interval.upper + 1e-12
        for law, interval in seen
    )


def count_misses(
    plan: Plan,
    profile: Profile,
    runs: int,
    *,
    label: int | None = 1,
    seed: int = 0,
    methods: Mapping[str, Method] | None = None,
) -> dict[str, int]:
    """How many certificates of each method miss; `methods` replace those of the plan."""
    generator = np.random.default_rng(seed)
    certifying = methods_of(plan) if methods is None else methods
    found = dict.fromkeys(certifying, 0)
    for index in range(runs):
        seen = simulate_input(plan, profile, index, label, generator)
        assert seen.target is not None
        for name, one in certifying.items():
            found[name] += misses(one.certificate(seen), seen.target, profile)
    return found


def most_misses(alpha: float, runs: int) -> int:
    """What a method that misses alpha often exceeds in one of a million simulations."""
    return int(stats.binom.isf(1e-6, runs, alpha))

"""A method that the package does not know, with its own tally, kind of proof and forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.errors import InvalidInput
from dsrs.landscape import Profile, probability
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Entry, Method, Want
from dsrs.noise import Stream
from dsrs.proofs import Certificate, Claim, Interval, Proof, certificate_of
from dsrs.votes import ESTIMATION, Batch, SampledInput, Tally


@dataclass(frozen=True, slots=True)
class HalfSpace(Proof):
    """P_A >= `p_lower` under Gaussian P proves sigma Phi^-1(p_lower) (Cohen et al. 2019)."""

    p_lower: float
    radius: float

    kind: ClassVar[str] = "half-space"
    claim: ClassVar[Claim] = "majority"

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def known_of_p(self) -> Interval:
        return Interval(self.p_lower, 1.0)

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        if self.radius and self.radius > gaussian_radius(law, self.p_lower):
            return "the radius is larger than that of a half space"
        return None


def gaussian_radius(law: GeneralizedGaussian, p_lower: float) -> float:
    return max(0.0, law.sigma * float(special.ndtri(p_lower)) * (1 - 1e-12))


@dataclass(eq=False)
class LeastMiss(Tally):
    """The number of the first vote that misses the class; the least of any parts is the least."""

    name: ClassVar[str] = "least-miss"

    target: int
    sample: int | None = field(init=False, default=None)

    def add(self, batch: Batch) -> None:
        missed = np.flatnonzero(batch.classes != self.target)
        if missed.size:
            self._least(batch.first + int(missed[0]))

    def merge(self, other: LeastMiss) -> None:
        if other.sample is not None:
            self._least(other.sample)

    def summary(self) -> dict[str, Any]:
        return {"sample": self.sample}

    def _least(self, sample: int) -> None:
        self.sample = sample if self.sample is None else min(self.sample, sample)


@dataclass(frozen=True, slots=True)
class FirstMiss(Method):
    """Bounds P_A by the number T of votes before the first that misses, n if none does.

    Why alpha holds: let t be the least number with P_A^t < alpha. The bound L = alpha^(1/T) exceeds
    P_A only if P_A^T < alpha, that is T >= t; and Pr[T >= t] = P_A^t < alpha.
    """

    quick_forecast: ClassVar[bool] = True

    def check_plan(self) -> None:
        if not self.plan.law.is_gaussian:
            raise InvalidInput("the method first-miss is for Gaussian noise")

    def want(self, seen: SampledInput) -> Want | None:
        stream = self.under_p(ESTIMATION)
        return Want(stream, self.plan.n) if seen.taken(stream) < self.plan.n else None

    def tallies(self, stream: Stream, seen: SampledInput) -> tuple[Tally, ...]:
        assert seen.target is not None
        return (LeastMiss(seen.target),) if stream == self.under_p(ESTIMATION) else ()

    def certificate(self, seen: SampledInput) -> Certificate:
        votes = seen.first(self.under_p(ESTIMATION), self.plan.n)
        sample = votes.tallies[LeastMiss.name]["sample"]
        p = self.charged(Interval(self._lower(self.plan.n if sample is None else sample), 1.0),
                         self.plan.law)  # fmt: skip
        proof = HalfSpace(p.lower, gaussian_radius(self.plan.law, p.lower))
        return self.on_grid(certificate_of(self.plan.law, proof), seen)

    def forecast(self, profiles: Sequence[Profile]) -> NDArray[np.float64]:
        misses = [1 - probability(profile, self.plan.law) for profile in profiles]
        hits = [int(min(self.plan.n, 1 / max(miss, 1e-12))) for miss in misses]
        return np.array([gaussian_radius(self.plan.law, self._lower(hit)) for hit in hits])

    def _lower(self, hits: int) -> float:
        return math.exp(math.log(self.plan.alpha) / hits) * (1 - 1e-15) if hits else 0.0


ENTRY = Entry("first-miss", "first miss", "votes under P up to the first that misses", FirstMiss)

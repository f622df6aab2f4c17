"""First order: votes under Gaussian P, a lower bound of P_A and an upper bound of its gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.confidence import clopper_pearson_lower
from dsrs.confidence.gradient import gradient_bound
from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.methods.base import Method, Want
from dsrs.noise.normals import NORMAL_UNITS
from dsrs.noise.stream import Stream
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.interval import Interval
from dsrs.proofs.slab import find_slab
from dsrs.votes.records import ESTIMATION, SampledInput
from dsrs.votes.tally import Batch, Tally

FIRST_ORDER = "first-order"


@dataclass(frozen=True, slots=True)
class FirstOrder(Method):
    """n votes under P; the noise of those that miss tells of the gradient of P_A.

    Why alpha holds: half of alpha is for the lower bound of P_A (Clopper and Pearson, all votes), a
    quarter for each of the two deviations of confidence/gradient.py, which take the miss rate from
    that lower bound. The certificate is wrong only if P_A or the gradient lies outside its bound,
    and then one of the three has failed.

    The noise that is added up is that before it was rounded to the grid: the classifier "round to
    the grid, classify" is a function of it. Noise that is not quite the law's changes a vote with
    probability v at most (docs/grid.md), and the mean of 1{miss} <z, u> by at most what an event of
    probability v can hold of |<z, u>|.
    """

    def check_plan(self) -> None:
        if not self.plan.law.is_gaussian or self.plan.grid is None:
            raise InvalidInput(
                f"the method {FIRST_ORDER} is for Gaussian noise (k = 0, eta = 2) on a grid, not "
                f"for {self.plan.law.describe()}"
                + (" without a grid" if self.plan.grid is None else "")
            )
        if self.plan.n < 2:
            raise InvalidInput(f"the method {FIRST_ORDER} splits n votes in halves, got n = 1")

    def want(self, seen: SampledInput) -> Want | None:
        stream = self.under_p(ESTIMATION)
        return Want(stream, self.plan.n) if seen.taken(stream) < self.plan.n else None

    def tallies(self, stream: Stream, seen: SampledInput) -> tuple[Tally, ...]:
        if stream != self.under_p(ESTIMATION):
            return ()
        assert seen.target is not None, "the class is chosen before votes are estimated from"
        return (MissedNoise(seen.target, self.plan.n, self.plan.law.d),)

    def certificate(self, seen: SampledInput) -> Certificate:
        plan = self.plan
        votes = seen.first(self.under_p(ESTIMATION), plan.n)
        if MissedNoise.name not in votes.tallies:
            raise NotEnoughVotes(
                f"the noise of the votes of input {seen.index} was not added up; sample them with "
                f"the method {FIRST_ORDER} and the same n"
            )
        slope = Slope.from_dict(votes.tallies[MissedNoise.name])
        lower = clopper_pearson_lower(votes.successes, votes.total, plan.alpha / 2)
        p = self.charged(Interval(lower, 1.0), plan.law)
        gradient = gradient_bound(
            slope.first_norm,
            slope.product,
            (slope.split, votes.total - slope.split),
            1 - p.lower,
            plan.alpha / 2,
            rounding=math.sqrt(plan.law.d) / NORMAL_UNITS,
        )
        grid = plan.known_grid
        assert grid is not None
        gradient += held_by(grid.variation(plan.law))
        proof = find_slab(plan.law, p.lower, gradient)
        return self.on_grid(certificate_of(plan.law, proof), seen)


def held_by(probability: float) -> float:
    """The most of E|v| that an event of this probability can hold, v standard normal."""
    if probability == 0:
        return 0.0
    end = float(-special.ndtri(min(probability, 1.0) / 2))
    return 2 * math.exp(-end * end / 2) / math.sqrt(2 * math.pi) * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Slope:
    """What the noise of the votes that missed says of the gradient of P_A (docs/math.md 12).

    g1 and g2 are the means of -(1 - f) z over the votes before sample `split` and from it on:
    `first_norm` is |g1|, `product` is <g1, g2>.
    """

    split: int
    first_norm: float
    product: float

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Slope:
        """The slope that a `MissedNoise` was summarised as."""
        try:
            slope = cls(int(fields["split"]), float(fields["first_norm"]), float(fields["product"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"expected the fields of a slope ({error}), got {fields!r}") from error
        good = 0 <= slope.first_norm < math.inf and math.isfinite(slope.product)
        if slope.split < 1 or not good:
            raise DataError(f"a slope has a split, a norm and a product, got {slope}")
        return slope


@dataclass(eq=False)
class MissedNoise(Tally):
    """The normals z of those of the first n votes that miss the class, summed over each half.

    Sums are whole numbers of 1 / NORMAL_UNITS, so that they are the same in any order. They fit
    into 64 bits: |z| < 2^4, n < 2^32 and NORMAL_UNITS = 2^24.
    """

    name: ClassVar[str] = "missed-noise"

    target: int
    n: int
    d: int
    votes: int = field(init=False, default=0)
    sums: dict[int, NDArray[np.int64]] = field(init=False, default_factory=dict)  # of each half

    @property
    def split(self) -> int:
        """The number of the first vote of the second half."""
        return self.n // 2

    def add(self, batch: Batch) -> None:
        self.votes += max(0, min(len(batch.classes), self.n - batch.first))
        missed = np.flatnonzero(batch.classes != self.target) + batch.first
        middle, end = np.searchsorted(missed, (self.split, self.n))
        for half, samples in enumerate((missed[:middle], missed[middle:end])):
            if samples.size:
                batch.noise.add_normals(samples, self._sums(half))

    def merge(self, other: MissedNoise) -> None:
        self.votes += other.votes
        for half, sums in other.sums.items():
            np.add(self._sums(half), sums, out=self._sums(half))

    def summary(self) -> dict[str, Any] | None:
        """The fields of a `Slope`, once all n votes are there."""
        if self.votes < self.n:
            return None
        # Python's whole numbers are exact at any size, and the same on every machine.
        first, second = (self._sums(half).tolist() for half in (0, 1))
        square = sum(a * a for a in first)
        product = sum(a * b for a, b in zip(first, second, strict=True))
        unit, rest = int(NORMAL_UNITS), self.n - self.split
        return {
            "split": self.split,
            "first_norm": math.sqrt(square) / (self.split * unit) * (1 + 1e-15),
            "product": product / (self.split * rest * unit * unit),
        }

    def _sums(self, half: int) -> NDArray[np.int64]:
        # Made when they are needed: an empty tally is sent with every unit of work.
        if half not in self.sums:
            self.sums[half] = np.zeros(self.d, dtype=np.int64)
        return self.sums[half]

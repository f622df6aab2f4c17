"""First order: votes under Gaussian P, a lower bound of P_A and an upper bound of its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.confidence import clopper_pearson_lower
from dsrs.confidence.gradient import gradient_bound
from dsrs.errors import InvalidInput, NotEnoughVotes
from dsrs.methods.base import Strategy, Want
from dsrs.noise.normals import NORMAL_UNITS
from dsrs.proofs.certificate import Certificate, Interval
from dsrs.proofs.first_order import certify_first_order
from dsrs.votes.records import ESTIMATION, SampledInput, Slope

FIRST_ORDER = "first-order"


@dataclass(frozen=True, slots=True)
class FirstOrder(Strategy):
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

    help: ClassVar[str] = "votes under Gaussian P, with a bound of the gradient: a baseline"

    def __post_init__(self) -> None:
        if not self.plan.law.is_gaussian or self.plan.grid is None:
            raise InvalidInput(
                f"the method {FIRST_ORDER} is for Gaussian noise (k = 0, eta = 2) on a grid, not "
                f"for {self.plan.law.describe()}"
                + (" without a grid" if self.plan.grid is None else "")
            )
        if self.plan.n < 2:
            raise InvalidInput(f"the method {FIRST_ORDER} splits n votes in halves, got n = 1")

    def want(self, seen: SampledInput) -> Want | None:
        stream, half = self.under_p(ESTIMATION), first_half(self.plan.n)
        taken = seen.taken(stream)
        if taken >= self.plan.n:
            return None
        return Want(stream, half if taken < half else self.plan.n, sums=True)

    def certificate(self, seen: SampledInput) -> Certificate:
        plan = self.plan
        votes = seen.first(self.under_p(ESTIMATION), plan.n)
        if votes.slope is None:
            raise NotEnoughVotes(
                f"the noise of the votes of input {seen.index} was not added up; sample them with "
                f"the method {FIRST_ORDER} and the same n"
            )
        lower = clopper_pearson_lower(votes.successes, votes.total, plan.alpha / 2)
        p = self.charged(Interval(lower, 1.0), plan.law)
        gradient = gradient_bound(
            votes.slope.first_norm,
            votes.slope.product,
            (votes.slope.split, votes.total - votes.slope.split),
            1 - p.lower,
            plan.alpha / 2,
            rounding=math.sqrt(plan.law.d) / NORMAL_UNITS,
        )
        assert plan.grid is not None
        gradient += held_by(plan.grid.variation(plan.law))
        return self.on_grid(certify_first_order(plan.law, p.lower, gradient), seen)


def first_half(n: int) -> int:
    """Votes of the first half."""
    return n // 2


def held_by(probability: float) -> float:
    """The most of E|v| that an event of this probability can hold, v standard normal."""
    if probability == 0:
        return 0.0
    end = float(-special.ndtri(min(probability, 1.0) / 2))
    return 2 * math.exp(-end * end / 2) / math.sqrt(2 * math.pi) * (1 + 1e-9)


class Halves:
    """The sums of the noise of the votes that missed, in each half of the votes of one stream."""

    def __init__(self, votes: int) -> None:
        self._votes = votes
        self._sums: list[list[int]] = [[], []]

    def add(self, stop: int, sums: NDArray[np.int64]) -> Slope | None:
        """Add the sum of the votes up to `stop`; what all say, once they are complete."""
        half = int(stop > first_half(self._votes))
        before = self._sums[half] or [0] * sums.size
        self._sums[half] = [a + b for a, b in zip(before, sums.tolist(), strict=True)]
        if stop < self._votes:
            return None
        # Whole numbers: the same on every machine.
        first, second = self._sums
        split = first_half(self._votes)
        square = sum(a * a for a in first)
        product = sum(a * b for a, b in zip(first, second, strict=True))
        unit = int(NORMAL_UNITS)
        return Slope(
            split,
            math.sqrt(square) / (split * unit) * (1 + 1e-15),
            product / (split * (self._votes - split) * unit * unit),
        )

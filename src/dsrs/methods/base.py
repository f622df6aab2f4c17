"""What a method is: it says which votes it wants next, and turns votes into a certificate.

A method never takes votes itself, and whatever it decides depends on the votes it was shown. A
certificate is wrong only if a probability lies outside the bounds that it was made from; each
method's docstring proves that this happens at most alpha often. Throughout, the class that is
certified was chosen by the label or by selection votes, which are independent of all estimation
votes: condition on it.

Certificates of different methods for one input hold with 1 - alpha each, not together: to report
the best of several methods, give each its part of alpha.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InfeasibleBox
from dsrs.landscape import Profile
from dsrs.laws import GeneralizedGaussian
from dsrs.methods.bounds import PlannedBound
from dsrs.methods.plan import Plan
from dsrs.methods.subject import subject_of
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import (
    Certificate,
    Interval,
    Observation,
    OnGrid,
    abstention,
    certify,
    from_grid_point,
)
from dsrs.votes import SampledInput, Tally

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Want:
    """Take votes of this stream until it has `stop` of them."""

    stream: Stream
    stop: int


@dataclass(frozen=True, slots=True)
class Method(ABC):
    """One way to certify an input. A new one is a file with its class, and a line in registry.py.

    Args:
        plan: what to sample, and alpha.
        text: how the plan writes the method, such as `np` or `truncated:0.6`.
    """

    plan: Plan
    text: str

    # Whether it has one bound, which may be looked at early.
    one_bound: ClassVar[bool] = False
    # Whether it can compare the class with every other one (`classes` = all).
    compares_classes: ClassVar[bool] = False
    # Whether `forecast` takes no search, so that `dsrs tune` may ask it for every law of a grid.
    quick_forecast: ClassVar[bool] = False

    def check_plan(self) -> None:
        """Raise InvalidInput where the plan does not fit this method."""
        return

    @abstractmethod
    def want(self, seen: SampledInput) -> Want | None:
        """The votes to take next; None when there are enough."""

    @abstractmethod
    def certificate(self, seen: SampledInput) -> Certificate:
        """What the votes prove. Raises NotEnoughVotes where they are not those it wanted."""

    def certified(self, seen: SampledInput) -> Certificate:
        """`certificate` of the votes, which says what it is about."""
        return replace(self.certificate(seen), subject=subject_of(seen, self.plan, self.text))

    def bounds(self, seen: SampledInput) -> tuple[PlannedBound, ...]:
        """Every bound that was planned for these votes, used or not, with its share of alpha.

        Proof files carry them, and a checker adds the shares up (checker/FORMAT.md 4). Without
        them a certificate rests on bounds that nobody can check from votes.
        """
        return ()

    def taken(self, seen: SampledInput) -> tuple[float, ...]:
        """Return the value of each bound, charged for the grid; 0 or 1 where none was taken."""
        values = []
        for bound in self.bounds(seen):
            found, law = (
                bound.take(seen),
                self.plan.law if bound.stream is None else bound.stream.law,
            )
            if bound.side == "lower":
                known = Interval(0.0 if found is None else found.value, 1.0)
                values.append(self.charged(known, law).lower)
            else:
                known = Interval(0.0, 1.0 if found is None else found.value)
                values.append(self.charged(known, law).upper)
        return tuple(values)

    def tallies(self, stream: Stream, seen: SampledInput) -> tuple[Tally, ...]:
        """What to add up over the votes of a stream beside their counts.

        Asked before the first vote of the stream; the summaries are kept with the votes.
        """
        return ()

    def choose(self, seen: SampledInput) -> NoiseLaw | None:
        """The law that this method chooses from votes, as soon as it can; kept with them."""
        return None

    def forecast(self, profiles: Sequence[Profile]) -> Floats | None:
        """The radius that each input of a landscape is expected to have under the plan.

        Estimates: no certificate rests on them. None leaves the method out of `dsrs tune`.
        """
        return None

    def under_p(self, purpose: str) -> Stream:
        """The stream of votes under the smoothing law."""
        return Stream(purpose, self.plan.law)

    def charged(self, interval: Interval, law: NoiseLaw) -> Interval:
        """An interval from votes, widened by what their noise may differ from the law's own.

        The votes hit with a probability that differs from that under the ideal law by at most the
        total variation between the two (docs/grid.md). Without a grid this is not known, and
        nothing is charged.
        """
        extra = self._variation(law)
        if not extra:
            return interval
        lower = max(0.0, math.nextafter(interval.lower - extra, -math.inf))
        return Interval(lower, min(1.0, math.nextafter(interval.upper + extra, math.inf)))

    @staticmethod
    def rivals(lower: float, others: float) -> float:
        """An upper bound of every rival, from lower bounds of the class and of "not this rival"."""
        left = max(lower, others)
        return 1.0 if left == 0 else min(1.0, math.nextafter(1 - left, 1.0))

    def on_grid(self, found: Certificate, seen: SampledInput) -> Certificate:
        """The certificate for the input itself, which its grid point stands for."""
        grid = self.plan.known_grid
        if grid is None:
            return found
        laws: list[NoiseLaw] = [self.plan.law, *(observed.law for observed in found.observations)]
        charged = max(map(self._variation, laws))
        return from_grid_point(found, OnGrid(grid.step, grid.origin, seen.moved, charged))

    def _variation(self, law: NoiseLaw) -> float:
        grid = self.plan.known_grid
        return 0.0 if grid is None else grid.variation(law)


def certify_or_abstain(
    law: GeneralizedGaussian, p: Interval, *additional: Observation
) -> Certificate:
    """The certificate of these bounds; an abstention where they contradict each other.

    Then one of them is wrong, which is part of alpha, and an abstention is never wrong.
    """
    try:
        return certify(law, p, *additional)
    except InfeasibleBox:
        return abstention(law, *(seen.law for seen in additional))

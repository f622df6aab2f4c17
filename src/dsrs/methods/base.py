"""Looks, bounds and methods: what is fixed before the votes, and how they become a certificate.

A method says which votes it wants next, and turns votes into a certificate. It never takes votes
itself, and whatever it decides depends on the votes it was shown. A certificate is wrong only if a
probability lies outside the bounds that it was made from; each method's docstring proves that this
happens at most alpha often. Throughout, the class that is certified was chosen by the label or by
selection votes, which are independent of all estimation votes: condition on it.

Certificates of different methods for one input hold with 1 - alpha each, not together: to report
the best of several methods, give each its part of alpha.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import (
    EPSILON,
    AlphaBudget,
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_upper_tail,
)
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.landscape import Profile
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import defaults
from dsrs.methods.plan import Plan, subject_of
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
from dsrs.votes import SampledInput, Tally, Votes

# ---- Looks at the votes on the way: fixed before the first vote, each with its own part of alpha
#
# A bound at looks n_1 < ... < n_K with a_1 + ... + a_K <= alpha, Clopper-Pearson each, holds at all
# looks together except with probability alpha (the sum of what each may miss). So it is valid at
# whichever look one stops, by any rule, and the best of the bounds so far is valid too.


@dataclass(frozen=True, slots=True)
class Look:
    """After `votes` votes there is a bound that may be wrong with probability `alpha`."""

    votes: int
    alpha: float


def schedule(
    n: int, alpha: float, batch: int, looks: tuple[float, float] = defaults.LOOK_RULE
) -> tuple[Look, ...]:
    """Looks at multiples of `batch`, which grow by the first of `looks` up to n; the last one has
    the second of `looks` as its share of alpha."""
    growth, share = looks
    ends, end = [], batch
    while end < n:
        ends.append(end)
        end = max(end + batch, math.ceil(end * growth / batch) * batch)
    if not ends:
        return (Look(n, alpha),)
    last = share * alpha
    early = float((Fraction(alpha) - Fraction(last)) / len(ends)) * (1 - 2**-50)
    return (*(Look(votes, early) for votes in ends), Look(n, last))


# ---- The bound of a stream that goes on where all of its first votes hit


def staged_lower(first: int, successes: int, trials: int, alpha: float) -> float:
    """The lower bound of the paper's fall-back: after `first` of `first` hits, go on under P.

    Branch F (X = n1): Y of n2 further votes under P hit, and the certificate is Neyman-Pearson.
    Branch D (X < n1): double sampling with [L(X), U(X)] for P_A (p_alpha / 2 a side) and Q's
    interval (q_alpha). The paper lets each branch spend alpha, which bounds the sum by 2 alpha.

    Here the lower bounds of both branches are ONE lower confidence bound. Order the outcomes by how
    much they speak for a large P_A:
        (X=0) < (X=1) < ... < (X=n1-1) < (F, Y=0) < (F, Y=1) < ... < (F, Y=n2).
    The probability to end at an outcome or above it grows with p: it is Pr[Bin(n1,p) >= x] in
    branch D and p^n1 Pr[Bin(n2,p) >= y] in branch F. Inverting it at level a = p_alpha / 2, as
    Clopper and Pearson do with the binomial order, gives a lower bound L with Pr[P_A < L] <= a over
    both branches together; a is `alpha` here. In branch D it is exactly the usual L(X): double
    sampling pays nothing for the fall-back. In branch F it is the p with

        p^n1 Pr[Bin(n2, p) >= y] = a,

    which this function returns; it is never below the usual bound at level a from n1 + y of
    n1 + n2 hits, because {X = n1, Y >= y} is part of {X + Y >= n1 + y}.
    The failure is then inside {P_A < L} or {D and P_A > U(X)} or {D and Q_A outside}, so its
    probability is at most p_alpha/2 + p_alpha/2 + q_alpha = alpha. Nothing much is left to gain:
    for P_A near the bound of branch F, branch D is almost sure, and its other two events can use
    up their shares.
    """
    if not (first >= 1 and 0 <= successes <= trials):
        raise InvalidInput(
            f"a fall-back needs votes before it and counts in order, "
            f"got first={first}, successes={successes}, trials={trials}"
        )
    level = math.log(alpha)
    # The bound is 1 - s: s keeps its digits where p is close to 1, and s is rounded up.
    inside, outside = 0.0, 1.0
    while math.nextafter(inside, 1.0) < outside and outside - inside > 1e-14 * outside:
        s = math.sqrt(inside * outside) if inside > 0 else outside / 16
        if _log_stagewise_tail(first, successes, trials, s) <= level:
            outside = s
        else:
            inside = s
    return max(0.0, math.nextafter(1 - outside, 0.0))


def _log_stagewise_tail(first: int, successes: int, trials: int, miss: float) -> float:
    """ln(p^n1 Pr[Bin(n2, p) >= y]) for p = 1 - miss, rounded up by its proved error."""
    all_first = first * math.log1p(-miss) if miss < 1 else -math.inf
    all_first *= 1 - 4 * EPSILON
    if successes == 0 or miss == 1:
        return all_first
    tail, _, error = log_upper_tail(successes, trials - successes, 1 - miss, miss)
    return all_first + min(0.0, tail + error)


# ---- Bounds from votes: planned before the votes with their shares of alpha, and taken from them
#
# A method lists all of its bounds, used or not, in `Method.bounds`. Their shares add up to alpha at
# most, so all of them hold together except with probability alpha, and whatever follows from any of
# them is a certificate. No other place divides alpha.

# `class`: the vote is for the certified class. `others`: for each rival, the vote is not for it.
Event = Literal["class", "others"]
Side = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True)
class PlannedBound:
    """A bound of an event's probability, fixed before the votes that it is taken from.

    `others` bounds the event "not this rival" for every rival, at the price of one: a wrong
    certificate needs a miss of the one rival that truly limits the class, which is fixed by
    classifier and input (docs/math.md 11).

    Args:
        stream: the votes; None where the law is chosen later, and no votes were needed.
        event: what is bounded.
        side: from where.
        looks: after how many votes it may be taken, and with which share of alpha.
        then: where all votes of the only look hit, the stream goes on to so many in all
            (`staged_lower`).
    """

    stream: Stream | None
    event: Event
    side: Side
    looks: tuple[Look, ...]
    then: int | None = None

    def take(self, seen: SampledInput) -> TakenBound | None:
        """The best bound at the looks that the votes have reached; None before the first."""
        if self.stream is None:
            return None
        ends = set(seen.ends(self.stream))
        taken = [
            self._at(place, seen, ends) for place, n in enumerate(self.looks) if n.votes in ends
        ]
        best = max if self.side == "lower" else min
        return best(taken, key=lambda bound: bound.value) if taken else None

    def _at(self, place: int, seen: SampledInput, ends: set[int]) -> TakenBound:
        look, stream = self.looks[place], self.stream
        assert stream is not None
        votes = seen.first(stream, look.votes)
        hits = self.hits(votes, seen)
        if self.then is not None and hits == votes.total and self.then in ends:
            both = seen.first(stream, self.then)
            later = self.hits(both, seen) - hits
            value = staged_lower(hits, later, self.then - votes.total, look.alpha)
            return TakenBound(value, place, (look.votes, self.then))
        if self.side == "lower":
            value = float(clopper_pearson_lower(hits, votes.total, look.alpha))
        else:
            value = float(clopper_pearson_upper(hits, votes.total, look.alpha))
        return TakenBound(value, place, (look.votes,))

    def hits(self, votes: Votes, seen: SampledInput) -> int:
        """Return how many votes are in the event, with the worst of the rivals."""
        if self.event == "class":
            return votes.successes
        return votes.total - most_of_others(votes, seen)


@dataclass(frozen=True, slots=True)
class TakenBound:
    """What a bound is, at which look, and after how many votes counts are needed to see it."""

    value: float
    look: int
    ends: tuple[int, ...]


def most_of_others(votes: Votes, seen: SampledInput) -> int:
    """Votes for the most frequent class but the certified one; 0 also for classes never seen."""
    return max((n for place, n in enumerate(votes.counts) if place != seen.target), default=0)


@functools.lru_cache(maxsize=256)
def shared(
    looks: tuple[Look, ...], alpha: float, purposes: tuple[str, ...]
) -> list[tuple[Look, ...]]:
    """The looks of several bounds that share those of one: equal parts of the alpha of each look.

    Args:
        looks: those of one bound, whose alphas add up to `alpha` at most.
        alpha: what all of it may spend.
        purposes: what each part is for.
    """
    budget, parts = AlphaBudget(alpha), []
    for purpose in purposes:
        share = [
            Look(look.votes, budget.spend(look.alpha / len(purposes), f"{purpose}, {look.votes}"))
            for look in looks
        ]
        parts.append(tuple(share))
    return parts


def planned(
    stream: Stream | None,
    looks: Iterable[Look],
    alpha: float,
    *sides: tuple[Event, Side],
    then: int | None = None,
) -> tuple[PlannedBound, ...]:
    """Bounds of one stream at the same looks, with equal parts of `alpha`.

    `then` is for the lower bound of the class.
    """
    looks = tuple(looks)
    purposes = tuple(f"{side} bound of {event}" for event, side in sides)
    parts = shared(looks, alpha, purposes)
    return tuple(
        PlannedBound(
            stream, event, side, part, then if (event, side) == ("class", "lower") else None
        )
        for (event, side), part in zip(sides, parts, strict=True)
    )


# ---- Methods

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Want:
    """Take votes of this stream until it has `stop` of them."""

    stream: Stream
    stop: int


@dataclass(frozen=True, slots=True)
class Method(ABC):
    """One way to certify an input. A new one is a class of this kind, and an entry of METHODS.

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

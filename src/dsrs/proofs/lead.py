"""Certificates of a class that leads without a majority: bounds on its rivals as well.

Let a class A have probability at least a, and every other class at most b, under one law. A wins
at a shift if its probability there exceeds that of every rival. Both the event "A" (at least a) and
the event "not this rival" (at least 1 - b) are bounded from below at the shift like any other
event; A wins if the two bounds add up to more than 1 (docs/math.md 11). For a > 1/2 and b = 1 - a
this is the usual certificate.

With double sampling there are such bounds under P and under an additional law, and each of the two
events is bounded by both of its numbers together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from scipy import special

from dsrs.duality import HIDDEN, loss_at_shorter_shifts
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.proofs.base import (
    LARGEST_BOUND,
    NOTHING_KNOWN,
    Claim,
    Interval,
    Observation,
    Proof,
    Step,
    flaw_of_numbers,
)
from dsrs.proofs.evaluation import (
    Constraint,
    bound_at,
    constraints_of,
    gathered,
    gaussian_bound,
    problem_of,
    rounded_radius,
    searched,
    spread,
)

MOST_SPLITS = 30
MEETING_TOLERANCE = 1e-6  # of sigma: how nearly the two events must reach equally far
# The two bounds must exceed 1 by this much together, as a check evaluates them once more.
LEAD_SURPLUS = 4e-10


@dataclass(frozen=True, slots=True)
class Rivalry:
    """A class has probability at least `lower`, every other one at most `rival`."""

    lower: float
    rival: float

    AS_LIST: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Lead(Proof):
    """The class has probability at least `lower`, every other one at most `rival`.

    Both are probabilities under the additional law `q`, or under P where that is None; `p` has
    those under P where both laws were sampled. The first step is about the class, the second about
    the event that some other class does not win; each has one multiplier for each of its bounds,
    that under P first.
    """

    lower: float
    rival: float
    q: AdditionalLaw | None = None
    steps: tuple[Step, ...] = ()
    p: Rivalry | None = None

    kind: ClassVar[str] = "lead"
    claim: ClassVar[Claim] = "lead"

    @property
    def reach(self) -> float:
        return min((step.radius for step in self.steps), default=0.0)

    @property
    def known_of_p(self) -> Interval:
        if self.p is not None:
            return Interval(self.p.lower, 1.0)
        return Interval(self.lower, 1.0) if self.q is None else NOTHING_KNOWN

    @property
    def observations(self) -> tuple[Observation, ...]:
        return () if self.q is None else (Observation(self.q, Interval(self.lower, 1.0)),)

    @property
    def outermost(self) -> Step | None:
        return self.steps[0] if self.steps else None

    def columns(self) -> dict[str, Any]:
        return Proof.columns(self) | {"rival": self.rival}

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        for known in (Rivalry(self.lower, self.rival), self.p):
            if known and not (0 <= known.lower <= 1 and 0 <= known.rival <= 1):
                return f"{known.lower!r} and {known.rival!r} must be probabilities"
        if self.p is not None and self.q is None:
            return "bounds under P beside those of another law need that law"
        flaw = flaw_of_numbers(self.steps, 1 if self.p is None else 2)
        if flaw is not None or not self.steps:
            return flaw
        if len(self.steps) != 2:
            return f"a lead is proved by two steps, not by {len(self.steps)}"
        together = 0.0
        for step, event in zip(self.steps, _events(law, self), strict=True):
            try:
                constraints = event.constraints()
            except (InvalidInput, InfeasibleBox) as error:
                return str(error)
            # Nothing is known under P where the bounds are under another law alone.
            unused = () if self.q is None or self.p is not None else (0.0,)
            multipliers = gathered(constraints, (*unused, *step.multipliers))
            if multipliers is None or not 0 < step.radius < math.inf:
                return f"the step at {step.radius!r} does not fit the bounds of the certificate"
            problem = problem_of(law, constraints)
            value = bound_at(law, problem, multipliers, step.radius)
            if not step.dual_bound <= value + HIDDEN or value > LARGEST_BOUND:
                return (
                    f"the step at {step.radius!r} claims {step.dual_bound!r}, but proves {value!r}"
                )
            loss = loss_at_shorter_shifts(problem, multipliers)
            if loss == math.inf:
                return f"the step at {step.radius!r} says nothing of shorter shifts"
            together += value - loss
        return None if together > 1 else f"the two bounds add up to {together!r} only"


def find_lead(
    law: GeneralizedGaussian,
    lower: float,
    rival: float,
    q: AdditionalLaw | None = None,
    p: Rivalry | None = None,
) -> Lead:
    """The largest radius within which a class leads.

    Args:
        law: the smoothing law P.
        lower: a lower bound of the probability of the class.
        rival: an upper bound of the probability of every other class.
        q: the additional law that both are bounds under; None for P. It must fall with |x|, so
            that each bound falls with the shift.
        p: such bounds under P, beside those under `q`.
    """
    unproved = Lead(lower, rival, q, (), p)
    leads = lower > rival or (p is not None and p.lower > p.rival)
    if not leads or not (q is None or q.falls):
        return unproved
    if q is None and law.is_gaussian:
        return replace(unproved, steps=_gaussian(law, lower, rival))
    leader, no_rival = _events(law, unproved)
    least = 1 - no_rival.surest
    return replace(
        unproved,
        steps=best_level(
            leader.reach, no_rival.reach, least, leader.surest, MEETING_TOLERANCE * law.sigma
        ),
    )


def _events(law: GeneralizedGaussian, lead: Lead) -> tuple[_Event, _Event]:
    """Return the events that the class wins and that the rival does not win."""
    under_p = (None, None) if lead.p is None else (lead.p.lower, not_the_rival(lead.p.rival))
    return (
        _Event(law, lead.lower, lead.q, under_p[0]),
        _Event(law, not_the_rival(lead.rival), lead.q, under_p[1]),
    )


def not_the_rival(rival: float) -> float:
    """Return 1 - rival, rounded down: a lower bound of Pr[some class but the rival]."""
    rest = 1 - rival
    return rest if Fraction(rest) + Fraction(rival) <= 1 else math.nextafter(rest, 0.0)


@dataclass(frozen=True, slots=True)
class _Event:
    """An event of at least the probability `lower` under the law `q`, or under P where that is
    None, and of at least `p_lower` under P; and how far it stays above a level."""

    law: GeneralizedGaussian
    lower: float
    q: AdditionalLaw | None
    p_lower: float | None

    @property
    def surest(self) -> float:
        """The largest of the lower bounds of its probability."""
        return max(self.lower, self.p_lower or 0.0)

    def constraints(self) -> list[Constraint]:
        """Return the bounds of the event as constraints of the solver."""
        if self.q is None:
            return constraints_of(self.law, Interval(self.lower, 1.0), ())
        p = NOTHING_KNOWN if self.p_lower is None else Interval(self.p_lower, 1.0)
        return constraints_of(self.law, p, (Observation(self.q, Interval(self.lower, 1.0)),))

    def reach(self, level: float) -> Step | None:
        """The longest shift at which the event is provably likelier than `level`."""
        if not self.surest > level:
            return None
        law, constraints = self.law, self.constraints()
        problem = problem_of(law, constraints)
        guess = (special.ndtri(self.surest) - special.ndtri(level)) * law.sigma / law.scale
        steps = np.empty((1, len(constraints) + 2))
        proved = searched(problem, level, 0.0, float(guess), steps)
        # A lead has no chains: one step covers all shorter shifts.
        if proved.steps != 1 or not proved.solid:
            return None
        multipliers = spread(constraints, steps[0, 2:], 0 if self.q is None else 1)
        if self.q is not None and self.p_lower is None:
            if multipliers[0] != 0:
                return None  # a proof is in terms of the one bound that is known
            multipliers = multipliers[1:]
        return Step(rounded_radius(law, proved.rho), multipliers, float(steps[0, 1]))


class HasRadius(Protocol):
    """A proof of how far an event stays above a level."""

    @property
    def radius(self) -> float: ...


Reached = TypeVar("Reached", bound=HasRadius)
Reach = Callable[[float], Reached | None]


def best_level(
    leader: Reach[Reached], no_rival: Reach[Reached], low: float, high: float, close: float
) -> tuple[Reached, ...]:
    """Both proofs, at the levels c and 1 - c at which they reach equally far.

    At a shift of 0 the class leads for every c between low and high. Radii that differ by less than
    `close` are equal.
    """
    best: tuple[Reached, ...] = ()
    for _ in range(MOST_SPLITS):
        level = float(special.ndtr(0.5 * (special.ndtri(low) + special.ndtri(high))))
        if not low < level < high:
            break
        mine, other = leader(level), no_rival(1 - level + LEAD_SURPLUS)
        if mine and other:
            radius = min(mine.radius, other.radius)
            if not best or radius > min(step.radius for step in best):
                best = (mine, other)
            if abs(mine.radius - other.radius) < close:
                break
        # The higher the level, the less far the leader and the farther the other event reaches.
        if (mine.radius if mine else 0.0) > (other.radius if other else 0.0):
            low = level
        else:
            high = level
    return best


def _gaussian(law: GeneralizedGaussian, lower: float, rival: float) -> tuple[Step, ...]:
    """Gaussian P: sigma/2 (z(lower) - z(rival)) in closed form, a little less so that it checks."""
    reach = 0.5 * float(special.ndtri(lower) - special.ndtri(rival))
    if lower == 1 or rival == 0 or not math.isfinite(reach):
        return ()
    for shrink in (1e-13, 1e-11, 1e-9):
        ratio = reach * (1 - shrink) - shrink
        if ratio <= 0:
            return ()
        steps = []
        for share in (lower, not_the_rival(rival)):
            multiplier = math.exp(ratio * (float(special.ndtri(share)) - ratio / 2))
            bound = gaussian_bound(share, multiplier, ratio)
            steps.append(Step(math.nextafter(ratio * law.sigma, 0.0), (multiplier,), bound))
        if steps[0].dual_bound + steps[1].dual_bound > 1:
            return tuple(steps)
    return ()

"""Certificates of a class that leads without a majority: bounds on its rivals as well.

Let a class A have probability at least a, and every other class at most b, under one law. A wins
at a shift if its probability there exceeds that of every rival. Both the event "A" (at least a) and
the event "not this rival" (at least 1 - b) are bounded from below at the shift like any other
event; A wins if the two bounds add up to more than 1 (docs/math.md 11). For a > 1/2 and b = 1 - a
this is the usual certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
from scipy import special

from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.proofs.certificate import Certificate, Interval, Observation, ProofStep
from dsrs.proofs.certification import gaussian_bound, neyman_pearson, rounded_radius, searched
from dsrs.proofs.constraints import constraints_of, problem_of

MOST_SPLITS = 30
CLOSE = 1e-6  # of sigma: how nearly the two events must reach equally far
# The two bounds must exceed 1 by this much together, as proofs.py evaluates them once more.
SURPLUS = 4e-10


def certify_leading(
    law: GeneralizedGaussian, lower: float, rival: float, q: AdditionalLaw | None = None
) -> Certificate:
    """The largest radius within which a class leads: its probability is at least `lower`, that of
    every other class at most `rival`, under P or under the additional law `q`.

    `q` must fall with |x|, so that each bound falls with the shift.
    """
    additional = () if q is None else (Observation(q, Interval(lower, 1.0)),)
    proof: tuple[ProofStep, ...] = ()
    if lower > rival and (q is None or q.falls):
        events = (_Event(law, lower, q), _Event(law, not_the_rival(rival), q))
        if events[0].gaussian:
            proof = _gaussian(law, lower, rival)
        else:
            leader, no_rival = events
            least = 1 - no_rival.lower
            proof = best_level(leader.reach, no_rival.reach, least, lower, CLOSE * law.sigma)
    p = Interval(lower, 1.0) if q is None else Interval(0.0, 1.0)
    alone = neyman_pearson(law, p.lower)
    radius = min((step.radius for step in proof), default=0.0)
    return Certificate(
        law=law,
        p=p,
        additional=additional,
        radius=radius,
        np_radius=min(alone[0].radius if alone else 0.0, radius),
        status="certified" if proof else "abstained",
        method="leading-class",
        proof=proof,
        rival=rival,
    )


def not_the_rival(rival: float) -> float:
    """1 - rival, rounded down: the least probability of every class but one."""
    found = 1 - rival
    return found if Fraction(found) + Fraction(rival) <= 1 else math.nextafter(found, 0.0)


class _Event:
    """An event of known probability under one law, and how far it stays above a level."""

    def __init__(self, law: GeneralizedGaussian, lower: float, q: AdditionalLaw | None) -> None:
        self.law, self.lower = law, lower
        self.gaussian = q is None and law.is_gaussian
        seen = () if q is None else (Observation(q, Interval(lower, 1.0)),)
        p = Interval(lower if q is None else 0.0, 1.0)
        self.constraints = constraints_of(law, p, seen)

    def reach(self, level: float) -> ProofStep | None:
        """The longest shift at which the event is provably likelier than `level`."""
        if not self.lower > level:
            return None
        law = self.law
        problem = problem_of(law, self.constraints)
        guess = (special.ndtri(self.lower) - special.ndtri(level)) * law.sigma / law.scale
        steps = np.empty((1, len(self.constraints) + 2))
        found = searched(problem, level, 0.0, float(guess), steps)
        if found.steps != 1:
            return None
        multipliers = tuple(steps[0, 2:].tolist())
        return ProofStep(rounded_radius(law, found.rho), multipliers, float(steps[0, 1]))


class HasRadius(Protocol):
    """A proof of how far an event stays above a level."""

    @property
    def radius(self) -> float: ...


Proof = TypeVar("Proof", bound=HasRadius)
Reach = Callable[[float], Proof | None]


def best_level(
    leader: Reach[Proof], no_rival: Reach[Proof], low: float, high: float, close: float
) -> tuple[Proof, ...]:
    """Both proofs, at the levels c and 1 - c at which they reach equally far.

    At a shift of 0 the class leads for every c between low and high. Radii that differ by less than
    `close` are equal.
    """
    best: tuple[Proof, ...] = ()
    for _ in range(MOST_SPLITS):
        level = float(special.ndtr(0.5 * (special.ndtri(low) + special.ndtri(high))))
        if not low < level < high:
            break
        mine, other = leader(level), no_rival(1 - level + SURPLUS)
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


def _gaussian(law: GeneralizedGaussian, lower: float, rival: float) -> tuple[ProofStep, ...]:
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
            steps.append(ProofStep(math.nextafter(ratio * law.sigma, 0.0), (multiplier,), bound))
        if steps[0].dual_bound + steps[1].dual_bound > 1:
            return tuple(steps)
    return ()

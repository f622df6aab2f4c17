"""What the kinds of proof share: a step evaluated, compared with what it claims, and its reach."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dsrs.audit.balls import arb, exact
from dsrs.audit.bound import enclosed_bound
from dsrs.audit.claims import Claim, Interval, SmoothingLaw, Step
from dsrs.audit.falling import Shape, shape_of
from dsrs.audit.gaussian import gaussian_bound
from dsrs.audit.limits import Budget, tick
from dsrs.audit.mixture import Mixture
from dsrs.audit.outer import outer_bound
from dsrs.audit.reading import Fields
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import Law, additional_law, smoothing_law

LARGEST_MULTIPLIER = 1e200
Noise = tuple[SmoothingLaw, Mapping[str, Any] | None]  # a law, or an additional one beside it


class Proof(ABC):
    """What makes a radius true: bounds of probabilities, and steps that follow from them."""

    norms: ClassVar[tuple[str, ...]] = ("l2",)  # that its noise may be round in
    steps: tuple[Step, ...]

    @classmethod
    @abstractmethod
    def read(cls, fields: Fields) -> Proof:
        """The proof of a JSON object."""

    @property
    def p_lower(self) -> float | None:
        """The lower bound of P_A that it starts from; None where it has none."""
        return None

    @property
    def lower_bounds(self) -> tuple[Fraction, ...]:
        """What it says that probabilities are at least: of the class, and of what is not it or a
        rival."""
        return ()

    def bounds_at(self, alpha: float) -> tuple[tuple[Fraction, float], ...]:
        """The same bounds, each with the share of alpha that it has at most."""
        return tuple((bound, alpha) for bound in self.lower_bounds)

    @property
    def uses_p_alone(self) -> bool:
        """Return whether the first step is a Neyman-Pearson step, which uses no bound under another
        law."""
        return False

    @property
    def laws(self) -> tuple[Mapping[str, Any], ...]:
        """The additional laws that it names, as JSON."""
        return ()

    def noises(self, own: SmoothingLaw) -> tuple[Noise, ...]:
        """All noise that votes were taken under; `own` is the law of the certificate."""
        return tuple((own, law) for law in (None, *self.laws))

    @abstractmethod
    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        """Raise Refuted or Undecided unless the steps prove the radius from the bounds."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """B at a step, enclosed; shorter shifts cost it `innermost`, the mass of the inmost shells."""

    value: arb
    innermost: arb
    mixture: Mixture


@dataclass
class Evaluation:
    """Evaluates the steps of one certificate, and keeps by how much each exceeds its claim."""

    shells: Shells
    surpluses: list[float]

    def laws_of(self, laws: Sequence[Mapping[str, Any]]) -> tuple[Law, ...]:
        """P and these additional laws, with their densities."""
        return (smoothing_law(), *(additional_law(law, self.shells) for law in laws))

    def bound(
        self, step: Step, laws: Sequence[Law], intervals: Sequence[Interval], level: float
    ) -> Bounded:
        """B at a step, which must be at least what the step claims, and above `level` to help."""
        tick()
        if any(value == -math.inf for value in step.multipliers):
            raise Refuted("a multiplier is minus infinity")
        mixture = Mixture(self.shells, step.multipliers, tuple(laws))
        ends = [(interval.lower, interval.upper) for interval in intervals]
        if any(
            value == math.inf and lower != 1
            for value, (lower, _) in zip(step.multipliers, ends, strict=True)
        ):
            raise Refuted("an infinite multiplier needs a class that is never wrong under its law")
        # First what refutes at little cost: forged laws are often too narrow to integrate.
        most = outer_bound(mixture, ends)
        if most < exact(step.bound) or most <= exact(level):
            raise Refuted(_claims_too_much(step, most))
        if any(LARGEST_MULTIPLIER < abs(value) < math.inf for value in step.multipliers):
            raise Undecided("a multiplier is too large to compute with")
        own, *others = step.multipliers
        innermost = arb(0)
        if self.shells.gaussian and not any(others) and 0 < own < math.inf:
            ratio = exact(step.radius) / self.shells.sigma
            value = gaussian_bound(intervals[0].lower, own, ratio)
        else:
            enclosure = enclosed_bound(mixture, ends, step.radius, Budget())
            value, innermost = enclosure.value, enclosure.innermost
        self.compare(step, value)
        return Bounded(value, innermost, mixture)

    def compare(self, step: Step, value: arb) -> None:
        """Raise unless an enclosure of B shows what the step claims."""
        at = f"the step at {step.radius!r}"
        if value > 1:
            raise Refuted(f"{at} proves more than 1: no classifier has these probabilities")
        if value < exact(step.bound):
            raise Refuted(_claims_too_much(step, value))
        if not value.is_finite():
            raise Undecided(f"{at} claims {step.bound!r}, and no enclosure of B was found")
        if not value >= exact(step.bound):
            raise Undecided(f"{at} claims {step.bound!r}, and B is only known to be {value}")
        self.surpluses.append(float((value.lower() - exact(step.bound)).lower()))

    def shape(self, mixture: Mixture, step: Step) -> Shape:
        """Whether the step covers shorter shifts, and at what cost."""
        own, *others = step.multipliers
        if not any(others) and own > 0:
            return Shape(arb(0))  # P falls
        return shape_of(mixture, *mixture.covered(exact(step.radius) / self.shells.scale))


def precision_needed(steps: Sequence[Step]) -> int:
    """How many more bits the multipliers of these steps need."""
    sizes = [abs(x) for step in steps for x in step.multipliers if math.isfinite(x)]
    largest = min(max(sizes, default=1.0), LARGEST_MULTIPLIER)
    return math.ceil(math.log2(max(largest, 1.0)))


def demand_reach(claim: Claim, step: Step) -> None:
    """Raise unless a step is for the radius and the distance of the input from the grid."""
    if not (math.isfinite(step.radius) and math.isfinite(claim.radius)):
        raise Refuted("an infinite radius needs a class that is never wrong under a law")
    if Fraction(step.radius) < claim.beyond_move(claim.radius):
        raise Refuted(f"the proof begins at {step.radius!r}, below the radius")


def demand_above(value: arb, level: float, what: str) -> None:
    """Raise unless all members of `value` exceed `level`."""
    if value <= exact(level):
        raise Refuted(f"{what} proves at most {float(value.upper())!r}, not more than {level!r}")
    if not value > exact(level):
        raise Undecided(f"{what} is only known to give {value}")


def demand_multipliers(steps: Sequence[Step], count: int) -> None:
    """Raise unless every step has a multiplier for each of `count` bounds."""
    if any(len(step.multipliers) != count for step in steps):
        raise Refuted("a step has not one multiplier for each bound")


def _claims_too_much(step: Step, value: arb) -> str:
    most = float(value.upper())
    return f"the step at {step.radius!r} claims {step.bound!r}, but B is at most {most!r}"

"""From bounds of probabilities to the radius: every step of a proof, and that no gap is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dsrs.audit.balls import arb, exact, precision
from dsrs.audit.bound import enclosed_bound
from dsrs.audit.claims import Claim, Interval, Step
from dsrs.audit.falling import Shape, shape_of
from dsrs.audit.findings import Refuted, Undecided
from dsrs.audit.gaussian import gaussian_bound
from dsrs.audit.mixture import Mixture
from dsrs.audit.neyman_pearson import check_alone
from dsrs.audit.quadrature import Budget
from dsrs.audit.shells import Shells
from dsrs.audit.slab import slab_bound
from dsrs.audit.variation import total_variation
from dsrs.audit.weights import additional_law, smoothing_law

LARGEST_MULTIPLIER = 1e200


@dataclass
class ProofAudit:
    """Checks what a claim says of its own bounds; raises Refuted or Undecided."""

    claim: Claim
    surpluses: list[float] = field(default_factory=list)

    def run(self) -> None:
        claim = self.claim
        claim.check_words()
        claim.check_other_norms()
        if claim.radius == 0:
            return
        largest = max(
            (abs(x) for step in claim.proof for x in step.multipliers if math.isfinite(x)),
            default=1.0,
        )
        if largest > LARGEST_MULTIPLIER:
            raise Undecided("a multiplier is too large to compute with")
        with precision(max(0, math.ceil(math.log2(max(largest, 1.0))))):
            self.shells = Shells(claim.d, claim.sigma, claim.k, claim.eta)
            self.laws = (
                smoothing_law(),
                *(
                    additional_law(seen.law, self.shells, claim.sigma, claim.eta)
                    for seen in claim.additional
                ),
            )
            if math.isinf(claim.radius):
                self._never_wrong()
            elif claim.rival is not None:
                self._lead(claim.rival)
            elif claim.gradient is not None:
                self._slab(claim.gradient)
            else:
                self._steps()
            if claim.rival is None or claim.np_radius > 0:
                self._alone()

    def _never_wrong(self) -> None:
        """A class of probability 1 under a law of full support has it at every shift."""
        claim, intervals = self.claim, self._intervals()
        (step, *more) = claim.proof
        sure = [
            interval.lower == 1 and law.full_support and value == math.inf
            for interval, law, value in zip(intervals, self.laws, step.multipliers, strict=True)
        ]
        if more or not any(sure) or not step.bound <= 1:
            raise Refuted("an infinite radius needs a class that is never wrong under a law")

    def _steps(self) -> None:
        claim, shells = self.claim, self.shells
        self._reaches(claim.proof[0])
        if claim.method == "neyman-pearson" and any(any(s.multipliers[1:]) for s in claim.proof):
            raise Refuted("the method neyman-pearson does not use additional laws")
        covered = False
        for n, step in enumerate(claim.proof):
            below = claim.proof[n + 1].radius if n + 1 < len(claim.proof) else 0.0
            if not below < step.radius < math.inf:
                raise Refuted("the steps of the proof do not descend")
            value, inner, mixture = self._bound(step, self._intervals())
            at = f"the step at {step.radius!r}"
            _exceeds(value, 0.5, at)
            if covered:
                continue
            shape = self._shape(mixture, step)
            if shape.rise is not None:
                _exceeds(value - shape.rise - inner, 0.5, f"{at}, for shorter shifts,")
                covered = True
                continue
            gap = exact(Fraction(step.radius) - Fraction(below))
            moved = total_variation(shells, gap, Budget())
            what = f"{at}, down to {below!r},"
            if not (shape.hollow or value - moved > 0.5):
                raise Undecided(f"{what} is not shown to cover shorter shifts")
            _exceeds(value - moved, 0.5, what)

    def _lead(self, rival: float) -> None:
        """The class, and the event that it is not some rival, together above 1."""
        claim = self.claim
        if len(claim.proof) != 2 or len(claim.additional) > 1:
            raise Refuted("a lead is proved by two steps, from bounds under one law")
        together = arb(0)
        for step, not_rival in zip(claim.proof, (False, True), strict=True):
            self._reaches(step)
            intervals = self._intervals()
            if not_rival:
                raised = _one_minus(rival)
                nothing = [Interval(0.0, 1.0)] * len(intervals)
                intervals = [*nothing[:-1], Interval(raised, 1.0)]
            value, inner, mixture = self._bound(step, intervals)
            shape = self._shape(mixture, step)
            if shape.rise is None:
                word = Refuted if shape.hollow else Undecided
                raise word("a step of a lead is not shown to cover shorter shifts")
            together += value - shape.rise - inner
        _exceeds(together, 1.0, "the two bounds together")

    def _slab(self, gradient: float) -> None:
        """One step from bounds of P_A and of its gradient."""
        claim = self.claim
        if not self.shells.gaussian or claim.additional or len(claim.proof) != 1:
            raise Refuted("a first-order proof is one step, for Gaussian noise and P_A alone")
        (step,) = claim.proof
        self._reaches(step)
        ratio = exact(step.radius) / self.shells.sigma
        value = slab_bound(claim.p.lower, gradient, step.multipliers, ratio)
        self._compare(step, value)
        _exceeds(value, 0.5, f"the step at {step.radius!r}")

    def _bound(self, step: Step, intervals: list[Interval]) -> tuple[arb, arb, Mixture]:
        """B at a step, which must be what it claims."""
        mixture = Mixture(self.shells, step.multipliers, self.laws)
        if any(value == -math.inf for value in step.multipliers):
            raise Refuted("a multiplier is minus infinity")
        own, *others = step.multipliers
        inner = arb(0)
        if self.shells.gaussian and not any(others) and 0 < own < math.inf:
            ratio = exact(step.radius) / self.shells.sigma
            value = gaussian_bound(intervals[0].lower, own, ratio)
        else:
            ends = [(interval.lower, interval.upper) for interval in intervals]
            found = enclosed_bound(mixture, ends, step.radius, Budget())
            value, inner = found.value, found.innermost
        self._compare(step, value)
        return value, inner, mixture

    def _reaches(self, step: Step) -> None:
        """The step must be for the radius, and for the distance of the input from the grid."""
        claim = self.claim
        if not math.isfinite(step.radius):
            raise Refuted("a step has no length")
        if Fraction(step.radius) < claim.beyond_move(claim.radius):
            raise Refuted(f"the proof begins at {step.radius!r}, below the radius")

    def _compare(self, step: Step, value: arb) -> None:
        """B must be what the step claims."""
        at = f"the step at {step.radius!r}"
        if value > 1:
            raise Refuted(f"{at} proves more than 1: no classifier has these probabilities")
        if value < exact(step.bound):
            raise Refuted(f"{at} claims {step.bound!r}, but B is at most {float(value.upper())!r}")
        if value.is_nan():
            raise Undecided(f"{at} claims {step.bound!r}, and no enclosure of B was found")
        if not value >= exact(step.bound):
            raise Undecided(f"{at} claims {step.bound!r}, and B is only known to be {value}")
        self.surpluses.append(float((value.lower() - exact(step.bound)).lower()))

    def _shape(self, mixture: Mixture, step: Step) -> Shape:
        """Whether the step covers shorter shifts."""
        own, *others = step.multipliers
        if not any(others) and own > 0:
            return Shape(arb(0))  # P falls
        return shape_of(mixture, *mixture.covered(exact(step.radius) / self.shells.scale))

    def _intervals(self) -> list[Interval]:
        return [self.claim.p, *(seen.interval for seen in self.claim.additional)]

    def _alone(self) -> None:
        """The radius that P alone proves, which is written beside."""
        claim = self.claim
        step = claim.proof[0]
        proved = claim.rival is None and not any(step.multipliers[1:])
        if claim.np_radius == 0 or (proved and step.radius >= claim.np_radius):
            return  # what the first step proves is at least the radius
        if math.isinf(claim.np_radius):
            if claim.p.lower != 1:
                raise Refuted("an infinite radius needs a class that is never wrong")
            return
        check_alone(self.shells, claim.p.lower, claim.beyond_move(claim.np_radius))


def _exceeds(value: arb, level: float, what: str) -> None:
    if value <= exact(level):
        raise Refuted(f"{what} proves at most {float(value.upper())!r}, not more than {level!r}")
    if not value > exact(level):
        raise Undecided(f"{what} is only known to give {value}")


def _one_minus(rival: float) -> float:
    """1 - rival, rounded down, as the bound of an event."""
    found = 1 - rival
    return found if Fraction(found) + Fraction(rival) <= 1 else math.nextafter(found, 0.0)

"""Dual proofs in the l1 and l-infinity norms, for noise that is round in them.

`find_norm_dual` finds the largest radius; `NormDual.flaw` evaluates the multipliers, without any
search. The bound and its proof are in `duality/overlap.py`: one shift stands for the whole ball,
for multipliers that are not negative and laws whose densities do not rise with the norm. Upper ends
of intervals are therefore of no use here. No part of alpha is spent on the evaluation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dsrs.duality.overlap import Floats, error_bound
from dsrs.duality.overlap_search import OverlapSearch
from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.proofs.base import Step, flaw_of_numbers
from dsrs.proofs.interval import Interval, Observation
from dsrs.proofs.of_intervals import OfIntervals

# A claimed bound may differ from the one that is evaluated by rounding, which libraries differ in.
NORM_DUAL_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class NormDual(OfIntervals):
    """From the lower ends of P_A in `p` and Q_A in each additional interval; at most one step."""

    kind: ClassVar[str] = "norm-dual"

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        flaw = flaw_of_numbers(self.steps, 1 + len(self.additional))
        if flaw is not None:
            return flaw
        try:
            check_laws(law, [seen.law for seen in self.additional])
        except InvalidInput as error:
            return str(error)
        if not self.steps:
            return None
        if len(self.steps) > 1:
            return f"a proof of this kind has one step, got {len(self.steps)}"
        step, others = self.steps[0], [seen.law for seen in self.additional]
        if not 0 < step.radius < math.inf:
            return f"the step at {step.radius!r} has no length"
        if not all(0 <= value < math.inf for value in step.multipliers):
            return "a multiplier of this kind of proof must not be negative"
        errors = _errors(self.p, self.additional)
        value = 1 - error_bound(law, step.radius, others, errors, np.array(step.multipliers))
        if not value > 0.5:
            return f"the step at {step.radius!r} proves {value:.12g} only"
        if not step.dual_bound <= value + NORM_DUAL_ROUNDING:
            return f"the step at {step.radius!r} claims {step.dual_bound!r}, but proves {value!r}"
        return None


def find_norm_dual(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> NormDual:
    """The largest radius, in the norm of `law`, that the lower ends of the intervals prove."""
    check_laws(law, [seen.law for seen in additional])
    lowers = tuple(seen.interval.lower for seen in additional)
    step = _found(law, p.lower, tuple(seen.law for seen in additional), lowers)
    return NormDual(p, additional, () if step is None else (step,))


def norm_radius(law: GeneralizedGaussian, p_lower: float) -> float:
    """What P alone proves (Neyman and Pearson)."""
    step = _found(law, p_lower, (), ())
    return 0.0 if step is None else step.radius


def check_laws(law: GeneralizedGaussian, others: Sequence[AdditionalLaw]) -> None:
    """Raise InvalidInput for laws that the worst shift is not known of."""
    if law.measured_in == "l2":
        raise InvalidInput(f"this kind of proof is for l1 and linf noise, got {law.describe()}")
    for other in others:
        if other.base != law:
            raise InvalidInput(
                f"the additional law ({other.describe()}) was made for "
                f"{other.base.describe()}, but P is {law.describe()}"
            )
        if not other.falls:
            raise InvalidInput(
                "the density of an additional law must not increase with the norm, "
                f"that of `{other.describe()}` does; take a truncated or rescaled law"
            )


def _errors(p: Interval, additional: Sequence[Observation]) -> Floats:
    """Upper bounds of the class's error under P and the other laws."""
    lowers = np.array([p.lower, *(seen.interval.lower for seen in additional)])
    return np.asarray(np.minimum(np.nextafter(1 - lowers, 2.0), 1.0))


@functools.lru_cache(maxsize=4096)
def _found(
    law: GeneralizedGaussian,
    p_lower: float,
    others: tuple[AdditionalLaw, ...],
    lowers: tuple[float, ...],
) -> Step | None:
    """The step of the proof; None where these bounds prove nothing."""
    if max(p_lower, *lowers, 0.0) <= 0.5:
        return None
    observed = [Observation(q, Interval(low, 1.0)) for q, low in zip(others, lowers, strict=True)]
    errors = _errors(Interval(p_lower, 1.0), observed)
    radius, multipliers, wrong = OverlapSearch(law, others, errors).largest()
    if radius == 0:
        return None
    return Step(radius, tuple(map(float, multipliers)), math.nextafter(1 - wrong, 0.0))

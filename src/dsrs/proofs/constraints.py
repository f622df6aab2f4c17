"""What is known of one input, made ready for the solver: one constraint a law, each counted once.

An observation of P itself, or of a law that was observed before, only narrows an interval; an
interval of [0, 1] says nothing. Multipliers are given back to the observations they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.duality import Problem, base_of, components_of
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import Component, GeneralizedGaussian, shown
from dsrs.proofs.interval import Interval, Observation

# Room for rounding when a box touches the edge of what is feasible.
FEASIBILITY_SLACK = 1e-12
# Integrands that the searches of one certificate may evaluate, with one additional law and several.
SEARCH_WORK, SEARCH_WORK_OF_SEVERAL = 1.5e6, 8e6


class Constraint(NamedTuple):
    """One law and the interval of its probability; the ends come from observations (0 is P)."""

    components: tuple[Component, ...]
    falls: bool
    full_support: bool
    lower: float
    upper: float
    lower_from: int
    upper_from: int

    def narrowed(self, interval: Interval, source: int) -> Constraint:
        """The same law seen once more."""
        constraint = self
        if interval.lower > constraint.lower:
            constraint = constraint._replace(lower=interval.lower, lower_from=source)
        if interval.upper < constraint.upper:
            constraint = constraint._replace(upper=interval.upper, upper_from=source)
        if constraint.lower > constraint.upper + FEASIBILITY_SLACK:
            raise InfeasibleBox(
                "no classifier fits two intervals of one probability: one ends at "
                f"{constraint.upper:.6g}, the other begins at {constraint.lower:.6g}"
            )
        return constraint


def constraints_of(
    law: GeneralizedGaussian, p: Interval, additional: Sequence[Observation]
) -> list[Constraint]:
    """P's constraint first, then those of the other laws that say anything."""
    own: tuple[Component, ...] = (Component.gamma(law.m, law.m),)
    by_law = {own: Constraint(own, True, True, p.lower, p.upper, 0, 0)}
    for i, seen in enumerate(additional, start=1):
        if not isinstance(seen, Observation):
            raise InvalidInput(
                "each additional law must come as an Observation(law, interval) of its own, got "
                f"{shown(seen)}"
            )
        if seen.law.base != law:
            raise InvalidInput(
                f"the additional law ({seen.law.describe()}) was made for "
                f"{seen.law.base.describe()}, but P is {law.describe()}"
            )
        terms = seen.law.components()
        if terms in by_law:
            by_law[terms] = by_law[terms].narrowed(seen.interval, i)
        else:
            falls, full = seen.law.falls, seen.law.full_support
            ends = seen.interval.lower, seen.interval.upper
            by_law[terms] = Constraint(terms, falls, full, *ends, i, i)
    p_constraint = by_law.pop(own)
    return [p_constraint, *(each for each in by_law.values() if (each.lower, each.upper) != (0, 1))]


def problem_of(
    law: GeneralizedGaussian, constraints: Sequence[Constraint], work: float = SEARCH_WORK
) -> Problem:
    """The arrays that the kernels take; the first constraint is P's."""
    box = [(each.falls, each.lower, each.upper) for each in constraints]
    falls, lowers, uppers = np.array(list(zip(*box, strict=True)), dtype=np.float64)
    parts = components_of(law.m, tuple(each.components for each in constraints[1:]))
    return Problem(base_of(law), parts, falls, lowers, uppers, np.array([0.0, work]))


def spread(
    constraints: Sequence[Constraint], multipliers: NDArray[np.float64], count: int
) -> tuple[float, ...]:
    """The multipliers of P and of `count` observations from those of the constraints."""
    values = [0.0] * (count + 1)
    for each, multiplier in zip(constraints, multipliers.tolist(), strict=True):
        values[each.lower_from if multiplier > 0 else each.upper_from] = multiplier
    return tuple(values)


def gathered(
    constraints: Sequence[Constraint], multipliers: Sequence[float]
) -> NDArray[np.float64] | None:
    """The multipliers of the constraints from those of P and all observations.

    None where a multiplier sits on an end that some other observation narrows, or on nothing: no
    proof of this package does that.
    """
    left = {i: float(value) for i, value in enumerate(multipliers) if value != 0}
    values = np.zeros(len(constraints))
    for n, each in enumerate(constraints):
        if left.get(each.lower_from, 0.0) > 0:
            values[n] = left.pop(each.lower_from)
        elif left.get(each.upper_from, 0.0) < 0:
            values[n] = left.pop(each.upper_from)
    return None if left else values

"""C_delta(P_A, Q_A): the least probability of a class at a shift that what is known allows.

The paper's main section is about it: the class keeps its lead at a shift where it exceeds 1/2.
"""

from __future__ import annotations

import math

import numpy as np

from dsrs.duality import best_multipliers, lay_nodes
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.base import LARGEST_BOUND, Step
from dsrs.proofs.constraints import constraints_of, problem_of, spread
from dsrs.proofs.evaluation import bound_at
from dsrs.proofs.interval import Interval, Observation

# Integrands that one maximisation may evaluate, many times what any is known to need.
MAXIMISATION_WORK = 1e9


def least_probability(
    law: GeneralizedGaussian, p: Interval, *additional: Observation, radius: float
) -> Step:
    """The least probability of the class at a shift of length `radius`, and its multipliers.

    The answer's `dual_bound` is what the multipliers prove, a lower bound of C. The maximum over
    multipliers is C itself (strong duality), so it lies below C by no more than the search and its
    rounding lose: 1e-9 or so.

    Args:
        law: the smoothing law P.
        p: an interval of the probability of the class under P.
        additional: intervals of its probability under other laws.
        radius: the l2 length of the shift.
    """
    if not 0 < radius < math.inf:
        raise InvalidInput(f"`radius` must be positive and finite, got {radius!r}")
    constraints = constraints_of(law, p, additional)
    for each in constraints:
        if each.full_support and each.lower == 1:
            # A class that is right almost everywhere under a law of full support is right.
            multipliers = spread([each], np.array([math.inf]), len(additional))
            return Step(radius, multipliers, 1.0)
    problem = problem_of(law, constraints, MAXIMISATION_WORK)
    best = np.zeros(len(constraints))
    with np.errstate(all="ignore"):  # overflow and 0 * inf are part of the computation
        best_multipliers(
            lay_nodes(problem), radius / law.scale, np.zeros((3, 3)), best, np.zeros(len(best))
        )
    value = bound_at(law, problem, best, radius)
    if value > LARGEST_BOUND:
        raise InfeasibleBox("no classifier has probabilities inside all the given intervals")
    if not value > 0:
        return Step(radius, (0.0,) * (1 + len(additional)), 0.0)
    return Step(radius, spread(constraints, best, len(additional)), min(value, 1.0))

"""Verify a certificate without any search: `check` evaluates its proof and trusts nothing else."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.bound import HIDDEN, Problem, dual_bound
from dsrs.duality.radius import loss_at_shorter_shifts
from dsrs.duality.variation import total_variation
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.certificate import (
    Certificate,
    Interval,
    Method,
    Observation,
    OnGrid,
    ProofStep,
    Status,
    radius_less,
)
from dsrs.proofs.certification import gaussian_bound, neyman_pearson
from dsrs.proofs.constraints import Constraint, constraints_of, gathered, problem_of
from dsrs.proofs.first_order import first_order_bound
from dsrs.proofs.leading import not_the_rival

# Claimed numbers may differ from recomputed ones by rounding; bounds by the flat charge, since
# laws that a proof does not use cut its integrals elsewhere.
SAME = 1e-12
# A Neyman-Pearson radius of another version may be this much smaller, in units of sigma.
NEARLY = 1e-5
# A bound above 1 contradicts itself: no classifier has these probabilities.
MOST = 1 + 1e-9
NOTHING = Interval(0.0, 1.0)


def check(certificate: Certificate) -> bool:
    """Whether everything that the certificate says holds; see `find_flaw`."""
    return find_flaw(certificate) is None


def find_flaw(certificate: Certificate) -> str | None:
    """The first thing that is wrong with a certificate, or None.

    Every number is recomputed: the bound at each step of the proof, that the steps cover all
    shorter shifts, and the Neyman-Pearson radius beside it. A certificate of radius 0 claims
    nothing about its input.
    """
    found, count = certificate, len(certificate.additional)
    if not (found.radius >= 0 and found.np_radius >= 0):
        return f"a radius must be a number that is not negative, got {found.radius!r}"
    if found.status not in get_args(Status):
        return f"unknown status {found.status!r}"
    if found.method not in get_args(Method):
        return f"unknown method {found.method!r}"
    claims = found.status == "certified" or (found.status == "short" and found.radius > 0)
    if claims != (found.radius > 0) or claims != bool(found.proof):
        return f"the status {found.status} does not fit the radius {found.radius!r} and its proof"
    bounds = count + 1 + (found.gradient is not None)
    for step in found.proof:
        if len(step.multipliers) != bounds:
            return f"a step has {len(step.multipliers)} multipliers for {bounds} bounds"
        if any(math.isnan(value) for value in (step.radius, step.dual_bound, *step.multipliers)):
            return "a number of the proof is not a number"
    try:
        constraints = constraints_of(found.law, found.p, found.additional)
    except InvalidInput as error:
        return str(error)
    if found.grid is not None and not _is_sound(found.grid):
        return f"a grid has a step, a distance and a variation in [0, 1], got {found.grid}"
    alone = neyman_pearson(found.law, found.p.lower)
    np_radius = radius_less(alone[0].radius if alone else 0.0, found.moved)
    least = min(np_radius, found.radius) - NEARLY * found.law.sigma
    largest = np_radius * (1 + SAME)
    if not least <= found.np_radius or (found.np_radius > largest and not _reaches(found, alone)):
        return f"the Neyman-Pearson radius is {np_radius!r}, not {found.np_radius!r}"
    if found.np_radius > found.radius:
        return f"the radius {found.radius!r} is below the Neyman-Pearson radius"
    if (found.method == "leading-class") != (found.rival is not None):
        return "a bound of the other classes belongs to the method leading-class"
    if (found.method == "first-order") != (found.gradient is not None):
        return "a bound of the gradient belongs to the method first-order"
    if found.uniform is not None and not 0 <= found.uniform <= 1:
        return f"a uniform number lies in [0, 1], and it is {found.uniform!r}"
    if found.radius == 0:
        return None
    if found.rival is not None:
        return _flaw_of_lead(found, found.rival)
    if found.gradient is not None:
        return _flaw_of_slab(found, found.gradient)
    if radius_less(found.proof[0].radius, found.moved) < found.radius:
        moved = "" if not found.moved else f" and the distance {found.moved!r} to the grid"
        return f"the proof begins at {found.proof[0].radius!r}, below the radius{moved}"
    return _flaw_of_proof(found, constraints)


def _reaches(found: Certificate, alone: tuple[ProofStep, ...]) -> bool:
    """Whether P alone proves the Neyman-Pearson radius that is claimed.

    Searches end a little below the optimum, and those of another version may have ended higher: the
    multiplier found now decides, at the radius that is claimed.
    """
    if not alone or not found.np_radius < math.inf:
        return False
    p = Interval(found.p.lower, 1.0)
    problem = problem_of(found.law, constraints_of(found.law, p, ()))
    radius = math.nextafter(found.np_radius + found.moved, math.inf)
    return bound_at(found.law, problem, np.array(alone[0].multipliers), radius) > 0.5


def _is_sound(grid: OnGrid) -> bool:
    """Whether the numbers of the note are such as a grid may have."""
    return 0 < grid.step < math.inf and 0 <= grid.moved < math.inf and 0 <= grid.variation <= 1


def _flaw_of_proof(found: Certificate, constraints: list[Constraint]) -> str | None:
    """What is wrong with the steps: a bound that does not hold, or a gap between them."""
    law, problem = found.law, problem_of(found.law, constraints)
    if found.method == "neyman-pearson" and any(any(s.multipliers[1:]) for s in found.proof):
        return "the method neyman-pearson does not fit multipliers of additional laws"
    covered = False
    for n, step in enumerate(found.proof):
        at = f"the step at {step.radius!r}"
        multipliers = gathered(constraints, step.multipliers)
        if multipliers is None:
            return f"{at} has a multiplier for an interval that says nothing"
        if math.isinf(found.radius):
            # A class that is right almost everywhere under a law of full support is right.
            sure = [each.full_support and each.lower == 1 for each in constraints]
            holds = bool(np.any(np.array(sure) & (multipliers == np.inf)))
            holds = holds and len(found.proof) == 1 and step.dual_bound <= 1
            return None if holds else "an infinite radius needs a class that is never wrong"
        if not 0 < step.radius < math.inf:
            return f"{at} has no length"
        value = bound_at(law, problem, multipliers, step.radius)
        if not value > 0.5:
            return f"{at} proves {value:.12g} only"
        if value > MOST:
            return f"{at} proves more than 1: no classifier has these probabilities"
        if not step.dual_bound <= value + HIDDEN:
            return f"{at} claims {step.dual_bound!r}, but proves {value!r}"
        # Steps below a solid one are not needed, but what they claim must hold.
        covered = covered or value - loss_at_shorter_shifts(problem, multipliers) > 0.5
        if covered:
            continue
        below = found.proof[n + 1].radius if n + 1 < len(found.proof) else 0.0
        gap = (step.radius - below) / law.scale * (1 + SAME)
        if not total_variation(problem, gap) < value - 0.5:
            return f"{at} does not reach down to {below!r}"
    return None


def _flaw_of_lead(found: Certificate, rival: float) -> str | None:
    """What is wrong with the two bounds, of the class and against every other, that make a lead."""
    if not 0 <= rival <= 1 or len(found.proof) != 2 or len(found.additional) > 1:
        return "a lead is proved by two steps, from bounds under one law"
    together = 0.0
    for step, raised in zip(found.proof, (None, not_the_rival(rival)), strict=True):
        p, additional = found.p, found.additional
        if raised is not None and additional:
            # `p` tells of the class, and nothing of the event that it is not some other.
            p, additional = NOTHING, (Observation(additional[0].law, Interval(raised, 1.0)),)
        elif raised is not None:
            p = Interval(raised, 1.0)
        constraints = constraints_of(found.law, p, additional)
        multipliers = gathered(constraints, step.multipliers)
        reach = radius_less(step.radius, found.moved)
        if multipliers is None or not found.radius <= reach < math.inf:
            return f"the step at {step.radius!r} does not fit the bounds of the certificate"
        problem = problem_of(found.law, constraints)
        value = bound_at(found.law, problem, multipliers, step.radius)
        if not step.dual_bound <= value + HIDDEN or value > MOST:
            return f"the step at {step.radius!r} claims {step.dual_bound!r}, but proves {value!r}"
        loss = loss_at_shorter_shifts(problem, multipliers)
        if loss == math.inf:
            return f"the step at {step.radius!r} says nothing of shorter shifts"
        together += value - loss
    return None if together > 1 else f"the two bounds add up to {together!r} only"


def _flaw_of_slab(found: Certificate, gradient: float) -> str | None:
    """What is wrong with the one step that a bound of the gradient proves."""
    if found.additional or found.rival is not None or not found.law.is_gaussian:
        return "a first-order proof is for Gaussian noise and P_A alone"
    if not gradient >= 0 or len(found.proof) != 1:
        return "a first-order proof has one step, and a gradient that is not negative"
    (step,) = found.proof
    if not found.radius <= radius_less(step.radius, found.moved) < math.inf:
        return f"the proof is for {step.radius!r}, not for the radius"
    ratio = step.radius / found.law.sigma
    value = first_order_bound(found.p.lower, gradient, step.multipliers, ratio)
    if not value > 0.5:
        return f"the step at {step.radius!r} proves {value:.12g} only"
    if value > MOST:
        return "the proof gives more than 1: no classifier has this probability and gradient"
    if not step.dual_bound <= value + SAME:
        return f"the step at {step.radius!r} claims {step.dual_bound!r}, but proves {value!r}"
    return None


def bound_at(
    law: GeneralizedGaussian, problem: Problem, multipliers: NDArray[np.float64], radius: float
) -> float:
    """What these multipliers prove at a shift of length `radius`."""
    if law.is_gaussian and not np.any(multipliers[1:]) and 0 < multipliers[0] < math.inf:
        lower = float(problem.lowers[0])
        return gaussian_bound(lower, float(multipliers[0]), radius / law.sigma)
    return float(dual_bound(problem, multipliers, radius / law.scale))

"""The dual bound B, evaluated from below: the only numbers of this package that are trusted.

For any multipliers l (one for P, one for each additional law) weak duality gives

    p_true(x0 + delta) >= B(l) = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i)

with g = sum_i l_i q_i, the density that the multipliers put on x, and X_i the lower end of
interval i where l_i > 0 and the upper end where l_i < 0 (docs/math.md 2). Nothing cancels in this
form, however large the multipliers: near the optimum both parts are at most 1. Let R be where
g(x) > p(x - delta), that is v > V(u) (base.py). Then

    integral of min = g(outside R) + P(x - delta in R),

and both are integrals along the curve v = V(u), with the laws of the cosines in closed form: the
first has the shells of x outside, the second those of y. For the second, Green's theorem turns

    double integral over R of p(v) dC(v, u)/du,  C(v, u) = Pr[x within shell u | y on shell v]

into the integral of p(V) C(V, u) dV along the curve; where the curve jumps, it runs along the
line u = const (docs/math.md 3).

`dual_bound` subtracts the quadrature's estimate of its own error, a flat charge for what such an
estimate cannot see, and an allowance for rounding. The estimate is not a proof: `dsrs-check`
and the tests compare it with enclosures and with patient bisection.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dsrs.duality.base import EVERYWHERE, Base, Floats, line_cuts, log_p
from dsrs.duality.curve import BEYOND, KINKED_DIMENSION, WITHIN, Cutting, jumps, strips
from dsrs.duality.density import (
    TAIL,
    Components,
    Pieces,
    active_on,
    pieces_of,
    used_parts,
)
from dsrs.duality.kernel import entry, inlined, kernel
from dsrs.duality.quadrature import Part, Path, integrate
from dsrs.duality.two_terms import UNSURE

# Of the tabled law of the angle, absolute, in few dimensions and many.
ANGLE_UNDERFLOW_FEW, ANGLE_UNDERFLOW = 1e-19, 1e-26
# A kink between two nodes can hide from any estimate a part of the panel's share of the tolerance:
# twenty times the tolerance is subtracted whatever the estimate.
HIDDEN = 2e-10
BOUND_THINNING = 12.0  # strips towards where g vanishes
NEGLIGIBLE_LOG_DENSITY = -34.0  # log-density of a tail that is not worth its integration
LARGEST_MULTIPLIER = 1e200
SMALLEST_SHIFT, LARGEST_SHIFT = 1e-150, 1e150  # in units of the law's scale
# What is subtracted for rounding is measured to be a few times too large (tests/laws). Should it
# be too small somewhere, this much of it bounds the harm; beyond it nothing is claimed.
LARGEST_ROUNDING = 1e-5
MOST_NODES = 3e6  # of one bound; beyond it nothing is claimed


class Problem(NamedTuple):
    """The laws and the box of one input. Constraint 0 is P."""

    base: Base
    parts: Components
    falls: Floats  # of each constraint, whether its law falls with |x| (1) or not (0)
    lowers: Floats
    uppers: Floats
    work: Floats  # integrands evaluated so far, and how many a search may evaluate


@kernel
def is_spent(problem: Problem) -> bool:
    """Whether the search has used up its work. Work is counted, so that results can be repeated."""
    return bool(problem.work[0] > problem.work[1])


@inlined
def line_part(problem: Problem, rho: float, line: float, start: float, stop: float) -> Part:
    """Integral of p(v) C(v, line) from v = start to stop."""
    base, parts = problem.base, problem.parts
    start = min(max(start, parts.low[0]), parts.high[0])
    stop = min(max(stop, parts.low[0]), parts.high[0])
    # The integrand is never negative: what is left of the outer tail may be dropped.
    if start == stop or (0.0 < start < stop and log_p(base, start) < NEGLIGIBLE_LOG_DENSITY):
        return Part(0.0, 0.0, 0.0)
    if abs(stop - start) * parts.sharpness < 1e-12:
        # Where two components meet the curve jumps by rounding only.
        return Part(0.0, abs(stop - start) * parts.sharpness, 0.0)
    low, high = min(start, stop), max(start, stop)
    total, error = 0.0, 0.0
    none = np.empty(0, dtype=np.int64)
    path = Path(base, parts, none, problem.lowers, rho, line, problem.work)
    first, second = line_cuts(base, rho, line)
    for cut in (first, second, high):
        end = min(cut, high)
        if end > low:
            part = integrate(path, low, end)
            total += part.value
            error += part.error
            low = end
    return Part(total if start < stop else -total, error, 0.0)


@kernel
def jump_parts(problem: Problem, rho: float, rows: Floats) -> Part:
    """The sum of `line_part` over rows of line, start and stop."""
    total, error = 0.0, 0.0
    for line, start, stop in rows:
        part = line_part(problem, rho, line, start, stop)
        total += part.value
        error += part.error
    return Part(total, error, 0.0)


@inlined
def overlap(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> Part:
    """Integral of min(g(x), p(x - delta)).

    Shells outside all strips are left out: there min(g, p) is at least the negative part of g.
    Where R has all of a shell the integrand is p(V) dV, if V lies within the shell, or 0. The first
    is integrated over v, since V(u) may run to minus infinity.
    """
    base, parts, work = problem.base, problem.parts, problem.work
    edge = 1.0 if base.d < KINKED_DIMENSION else 0.0
    most = work[0] + MOST_NODES
    along = strips(Cutting(base, parts, multipliers, rho, BOUND_THINNING, True, edge, work), pieces)
    if not along.settled:
        return Part(-np.inf, 0.0, 0.0)
    total, error, slack = 0.0, along.charge, 0.0
    inside = np.empty((len(along.ends), 3))
    n = 0
    for j in range(len(along.ends)):
        low, high, start, stop = along.ends[j]
        if along.state[j] >= WITHIN:
            inside[n, 0], inside[n, 1], inside[n, 2] = EVERYWHERE, start, stop
            n += 1
        if along.state[j] >= BEYOND:
            continue
        active = active_on(parts, pieces, int(along.piece[j]), multipliers)
        if along.sign[j] == UNSURE or len(active) == 0:
            continue
        part = integrate(Path(base, parts, active, multipliers, rho, np.inf, work), low, high)
        total += part.value
        error += part.error
        slack += part.slack
        if total == -np.inf or work[0] > most:
            return Part(-np.inf, 0.0, 0.0)
    for rows in (inside[:n], jumps(along.ends)):
        part = jump_parts(problem, rho, rows)
        total += part.value
        error += part.error
    return Part(total, error, slack)


@kernel
def is_simple(problem: Problem, multipliers: Floats) -> bool:
    """Whether g is a sum of laws that fall with |x|, none with a negative multiplier."""
    simple = True
    for i in range(len(multipliers)):
        simple = simple and (
            multipliers[i] == 0.0 or (multipliers[i] > 0.0 and problem.falls[i] == 1.0)
        )
    return bool(simple)


@kernel
def chosen_ends(problem: Problem, multipliers: Floats) -> Floats:
    """X_i: the end of each interval that is worst for the sign of its multiplier."""
    ends = np.empty(len(multipliers))
    for i in range(len(multipliers)):
        ends[i] = problem.lowers[i] if multipliers[i] > 0.0 else problem.uppers[i]
    return ends


@kernel
def bound_on(problem: Problem, pieces: Pieces, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    if not SMALLEST_SHIFT <= rho <= LARGEST_SHIFT:
        return -np.inf
    for i in range(len(multipliers)):
        if not (
            abs(multipliers[i]) <= LARGEST_MULTIPLIER
            or (multipliers[i] == np.inf and problem.lowers[i] == 1.0)
        ):
            return -np.inf
    parts = used_parts(problem.parts, multipliers)
    if len(parts.owner) < len(problem.parts.owner):
        box = problem.falls, problem.lowers, problem.uppers
        problem, pieces = Problem(problem.base, parts, *box, problem.work), pieces_of(parts, 1.0)
    ends = chosen_ends(problem, multipliers)
    part = overlap(problem, pieces, multipliers, rho)
    value, error, scale = part.value, part.error, 1.0 + part.slack
    few = problem.base.d < KINKED_DIMENSION
    left_out = ANGLE_UNDERFLOW_FEW if few else ANGLE_UNDERFLOW
    if not is_simple(problem, multipliers):
        # Tails left out only raise B if g >= 0; else twice their mass is due (docs/math.md 5).
        left_out += 4.0 * TAIL
    for i in range(len(multipliers)):
        size = abs(multipliers[i])
        if ends[i] != 1.0 and size > 0.0:
            value -= multipliers[i] * (1.0 - ends[i])
            scale += size * (1.0 - ends[i])
        if size < np.inf:
            error += size * left_out
    rounding = parts.noise * scale
    bound = value - (error + HIDDEN + rounding)
    # Compiled code divides by 0 without an error: nothing is made of infinity or NaN.
    return bound if rounding <= LARGEST_ROUNDING and abs(bound) < np.inf else -np.inf


@entry
def dual_bound(problem: Problem, multipliers: Floats, rho: float) -> float:
    """A number that is at most B(multipliers) at shift rho; -inf where nothing can be said."""
    return bound_on(problem, pieces_of(problem.parts, 1.0), multipliers, rho)

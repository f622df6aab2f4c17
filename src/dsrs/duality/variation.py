"""The total variation between P and P shifted: how much B can change from one radius to the next.

For any g the integral of min(g(x), p(x - delta)) changes by at most the total variation between the
two shifted laws, so by at most TV(h) for a step of length h along delta. The two are equally likely
on the plane halfway, hence TV(h) = Pr[|x_1| < h/2], x_1 a coordinate of the noise (docs/math.md 5).
It grows with h and is finite for every law, where a Lipschitz rate exists for smooth ones only.
"""

from __future__ import annotations

import math

import numpy as np

from dsrs.duality.base import cap, gamma_of, half_square, log_p, shell_of
from dsrs.duality.bound import Problem
from dsrs.duality.density import TAIL
from dsrs.duality.kernel import entry, inlined, kernel
from dsrs.duality.quadrature import ANGLE_ERROR
from dsrs.duality.rules import NESTED_NODES, NESTED_WEIGHTS

VARIATION_TOLERANCE = 1e-12
SMALLEST_STEP = 1e-9  # in units of sigma


@kernel
def slab_density(problem: Problem, half_step: float, u: float) -> float:
    """Return p(u) Pr[|x_1| < half_step | shell u]."""
    h = half_square(problem.base, gamma_of(problem.base, u))
    below, above, _, _ = cap(problem.base, 2.0 * half_step, h, 0.0, 1.0)
    return (below - above) * math.exp(log_p(problem.base, u))


@entry
def total_variation(problem: Problem, step: float) -> float:
    """TV of a shift by `step`, rounded up: nested Clenshaw-Curtis, halved where it must be."""
    if step <= 0.0:
        return 0.0
    base, parts = problem.base, problem.parts
    # Shells within half the step lie in the slab as a whole: a kink, and on the safe side 1.
    lows, highs, depth = np.empty(64), np.empty(64), 1
    lows[0], highs[0] = parts.low[0], parts.high[0]
    kink = shell_of(base, 0.125 * step * step)
    if lows[0] < kink < highs[0]:
        lows[1], highs[1], depth = lows[0], kink, 2
        lows[0] = kink
    total, panels = 2.0 * TAIL, 0
    while depth > 0:
        depth -= 1
        panels += 1
        low, high = lows[depth], highs[depth]
        half, centre = 0.5 * (high - low), 0.5 * (low + high)
        coarse, fine = 0.0, 0.0
        for j in range(0, 65, 2):
            problem.work[0] += 1.0
            value = slab_density(problem, 0.5 * step, centre + half * NESTED_NODES[j])
            coarse += NESTED_WEIGHTS[2, j] * value
            fine += NESTED_WEIGHTS[3, j] * value
        missing = 2.0 * half * abs(fine - coarse)
        if missing > VARIATION_TOLERANCE + 1e-6 * half * fine and panels < 100 and depth < 62:
            lows[depth], highs[depth] = low, centre
            lows[depth + 1], highs[depth + 1] = centre, high
            depth += 2
        else:
            total += half * fine + missing
    return min(total * (1.0 + 10.0 * ANGLE_ERROR) + 1e-12, 1.0)


@inlined
def covered_step(problem: Problem, margin: float, guess: float) -> float:
    """A step whose total variation is provably below `margin`, close to the largest; 0 if none.

    TV is concave and 0 at 0, so a share of a step has at least that share of its TV: scaling down
    by the excess does not overshoot for long.
    """
    step, unit = guess, problem.base.unit
    best = 0.0
    for _ in range(12):
        variation = total_variation(problem, step)
        if variation < margin:
            best = max(best, step)
            if variation > 0.9 * margin:
                break
            step *= min(0.97 * margin / variation, 8.0)
        else:
            step *= 0.97 * margin / variation if margin > 0.0 else 0.0
            if best > step:
                break
        if step < SMALLEST_STEP * unit:
            break
    return best

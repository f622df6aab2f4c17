"""First-order proofs for Gaussian P: the bound B of the probability and of its gradient, enclosed
(docs/math.md 12).

    B = l p - m G - E[(l + m w - exp(rho w - rho^2/2))_+],     w standard normal, l, m > 0.

The line exceeds the exponential between two points a < b only, which are enclosed by a change of
sign on both sides of each. If p > 1/2 and B > 1/2 at one shift, every shorter one is safe: the slab
(or the half space, for a large G) with probability p and gradient G has at least probability B at
the shift, more at shorter ones, and the least there is.
"""

from __future__ import annotations

from dsrs.audit.balls import arb, between, exact
from dsrs.audit.gaussian import normal_below, normal_density
from dsrs.audit.verdicts import Refuted, Undecided


def slab_bound(lower: float, gradient: float, multipliers: tuple[float, ...], rho: arb) -> arb:
    """B at a shift of rho sigma."""
    level, slope = (exact(value) for value in multipliers)
    if not (level > 0 and slope > 0 and lower > 0.5 and gradient >= 0):
        raise Refuted("a proof by a slab needs positive multipliers and a majority")
    value = level * exact(lower) - slope * exact(gradient)
    # Where the line is highest above the exponential, their slopes are equal.
    top = ((slope / rho).log() + rho * rho / 2) / rho
    if not level + slope * top > slope / rho:
        raise Undecided("the line of a slab is not shown to meet the exponential")
    a = _meeting(level, slope, rho, top, -1)
    b = _meeting(level, slope, rho, top, 1)
    inside = normal_below(b) - normal_below(a)
    tilt = normal_density(b) - normal_density(a)
    shifted = normal_below(b - rho) - normal_below(a - rho)
    return value - level * inside + slope * tilt + shifted


def _meeting(level: arb, slope: arb, rho: arb, top: arb, side: int) -> arb:
    """Where line and exponential meet on one side of `top`."""

    def above(w: arb) -> arb:
        return level + slope * w - (rho * w - rho * rho / 2).exp()

    inner, step = float(top), 1.0
    while above(arb(inner + side * step)) > 0:
        step *= 2
        if step > 1e300:
            raise Undecided("line and exponential meet too far away")
    outer = inner + side * step
    for _ in range(200):
        middle = 0.5 * (inner + outer)
        if middle in (inner, outer):
            break
        if above(arb(middle)) > 0:
            inner = middle
        else:
            outer = middle
    w = arb(inner)
    for _ in range(3):
        w = (w - above(w) / (slope - rho * (rho * w - rho * rho / 2).exp())).mid()
    for width in (2.0**-80, 2.0**-60, 2.0**-45):
        near, far = w - side * exact(width), w + side * exact(width)
        if above(near) > 0 and above(far) < 0:
            return between(near, far)
    raise Undecided("where line and exponential meet cannot be enclosed")

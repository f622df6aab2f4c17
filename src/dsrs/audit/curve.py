"""The curve v = V(u) along which g(x) = p(x - delta), in balls and boxes (docs/math.md 3).

With G = g/p on shell u, kappa = 2k/eta and t = m e^u, the difference e = V - u solves

    F(e) := t expm1(e) + kappa e = -ln G.

Enclosure: for any e0 and every u of a box let miss = -ln G - F(e0). Follow F(e) from F(e0) along
the segment of length |miss|: e moves with the speed |miss| / |T + kappa|, T = t e^e. If
|T + kappa| >= L and Re T > 0 for all e within some distance eps of e0, and |miss| / L <= eps, then
the segment is followed to its end, and |e - e0| <= |miss| / L. The solution is unique there, since
T + kappa ln T has a derivative of positive real part for Re T > 0 (Noshiro and Warschawski), so it
is one analytic function of u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from dsrs.audit.balls import Ball, arb, around, centre
from dsrs.audit.shells import Shells
from dsrs.audit.weights import Piece


@dataclass(frozen=True, slots=True)
class Term:
    """A multiplier and a piece of its law."""

    multiplier: arb
    piece: Piece


@dataclass(frozen=True, slots=True)
class Ratio(Generic[Ball]):
    """G = g/p on shells u, and its derivative; where it is positive, ln G and (ln G)'."""

    value: Ball
    slope: Ball
    log: Ball | None
    log_slope: Ball | None


@dataclass(frozen=True, slots=True)
class Crossing(Generic[Ball]):
    """V - u, and t e^(V - u): the shell of y as t."""

    e: Ball
    t: Ball


def ratio_on(shells: Shells, terms: Sequence[Term], u: Ball, t: Ball) -> Ratio[Ball]:
    """G on the members of u."""
    value, slope = u * 0, u * 0
    if len(terms) == 1 and terms[0].multiplier > 0:
        # One term: nothing to add up, and no logarithm of a sum.
        piece = terms[0].piece
        log = piece.log_weight(u, t, shells.m) + terms[0].multiplier.log()
        log_slope = piece.slope - t * piece.excess
        value = log.exp()
        return Ratio(value, value * log_slope, log, log_slope)
    for term in terms:
        piece = term.piece
        weight = piece.log_weight(u, t, shells.m).exp() * term.multiplier
        value += weight
        slope += weight * (piece.slope - t * piece.excess)
    if not value.real > 0:
        return Ratio(value, slope, None, None)
    return Ratio(value, slope, value.log(), slope / value)


def crossing_on(shells: Shells, u: Ball, t: Ball, log_ratio: Ball) -> Crossing[Ball] | None:
    """The curve over the members of u; None where it is not shown to be there."""
    kappa = shells.kappa
    middle_t, middle_log = centre(t), centre(log_ratio)
    if not (middle_t > 1e-300 and middle_log.is_finite()):
        return None
    rough = rough_crossing(float(middle_t), shells.rough_kappa, float(middle_log))
    if not math.isfinite(rough):
        return None
    e = arb(rough)
    # One more step of Newton's method gives the digits that floats do not have.
    miss = middle_t * e.expm1() + kappa * e + middle_log
    e = (e - miss / (middle_t * e.exp() + kappa)).mid()
    distance = (log_ratio + t * e.expm1() + kappa * e).abs_upper()
    moved = t * e.exp()
    reach = 2 * distance / (moved + kappa).abs_lower()
    if not reach.is_finite():
        return None
    everywhere = t * around(u * 0 + e, reach).exp()
    speed = (everywhere + kappa).abs_lower()
    if not (everywhere.real > 0 and distance <= reach * speed):
        return None
    offset = around(u * 0 + e, distance / speed)
    return Crossing(offset, t * offset.exp())


def rough_crossing(t: float, kappa: float, log_ratio: float) -> float:
    """About e, in floats; -inf where all of the shell is beyond the curve."""
    target = -log_ratio
    if kappa == 0:
        return math.log1p(target / t) if target > -t else -math.inf
    # F is convex and rises: Newton's method descends from the right of the root.
    e = target / (t + kappa)
    if target > 0:
        e = min(e, math.log1p(target / t))
    for _ in range(60):
        step = (t * math.expm1(e) + kappa * e - target) / (t * math.exp(e) + kappa)
        e -= step
        if abs(step) <= 1e-15 * abs(e):
            break
    return e

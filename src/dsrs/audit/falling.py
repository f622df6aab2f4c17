"""Whether one step proves all shorter shifts: the positive part of g falls with |x|
(docs/math.md 5).

The density of g at x is p(u) G(u) e^(-D u) on shell u, D = d/eta; its slope in u has the sign of

    S = G' - (kappa + t) G.

Rounding leaves rises of a share of 1e-16 where a law was made to be just level. Let the positive
part rise in all by a factor 1 + rise at most. Then its running minimum falls, lies below it and
above it divided by 1 + rise, so shorter shifts keep B but for `rise` (the integral of min(g_+, p)
is at most 1).

Outside the shells that are looked at, let the positive part be replaced by a constant inside and by
0 beyond. Inside, P's own mass of the innermost shells is lost, which the enclosure names.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsrs.audit.balls import arb, between, centre
from dsrs.audit.curve import Term, ratio_on
from dsrs.audit.mixture import Mixture
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Undecided

MOST_FALLING_CELLS = 4000
LARGEST_ROUNDED_RISE = 1e-6  # what rounding never makes


@dataclass(frozen=True, slots=True)
class Shape:
    """Whether the positive part of g falls with |x|.

    rise: an upper bound of the share by which it rises in all, where that is no more than rounding.
    hollow: whether it rises by more somewhere. Where both are empty, nothing is known.
    """

    rise: arb | None
    hollow: bool = False


def shape_of(mixture: Mixture, low: arb, high: arb) -> Shape:
    """Whether the positive part of g falls on the shells from low to high."""
    shells = mixture.shells
    total = arb(0)
    before: arb | None = None  # G at the end of the interval before
    for a, b in mixture.intervals(low, high):
        if before is not None and not (before.is_finite() or before > 0):
            return Shape(None)
        middle = ((a + b) / 2).mid()
        if mixture.is_infinite_at(middle):
            # The density is infinite: whatever is finite may follow, and not come before.
            if before is not None and before.is_finite():
                return Shape(None, hollow=True)
            before = arb.pos_inf()
            continue
        terms = mixture.terms_at(middle)
        after = _ratio(shells, terms, a)
        if before is not None and before.is_finite() and after > 0:
            if before <= 0:
                return Shape(None, hollow=True)
            if not before > 0:
                return Shape(None)
            total += (after / before - 1).upper().max(arb(0))
        elif before is not None and before.is_finite() and not after <= 0:
            # A sign that is not known on either side: rounding of 0.
            return Shape(None)
        inside = _falls_on(shells, terms, a, b)
        if inside.rise is None:
            return inside
        total += inside.rise
        before = _ratio(shells, terms, b)
    if not total < LARGEST_ROUNDED_RISE:
        return Shape(None, hollow=bool(total > LARGEST_ROUNDED_RISE))
    return Shape((total * (1 + total)).upper())


def _ratio(shells: Shells, terms: list[Term], u: arb) -> arb:
    return ratio_on(shells, terms, u, shells.gamma(u)).value if terms else arb(0)


def _falls_on(shells: Shells, terms: list[Term], low: arb, high: arb) -> Shape:
    """Whether the positive part of g falls between two edges, where its terms do not change."""
    if not terms:
        return Shape(arb(0))
    if all(term.multiplier > 0 for term in terms):
        rises = [_rise_of(shells, term, low, high) for term in terms]
        if all(rise < LARGEST_ROUNDED_RISE for rise in rises):
            # A sum of functions that rise by a factor at most does not rise by more.
            return Shape(max(rises, key=float))
    waiting, cells = [(low, high)], 0
    while waiting:
        a, b = waiting.pop()
        cells += 1
        panel = between(a, b)
        c = centre(panel)
        t = shells.gamma(panel)
        value, slope, bend = _slopes(shells, terms, panel, t)
        middle, middle_slope, _ = _slopes(shells, terms, c, shells.gamma(c))
        away = panel - c
        falling = middle_slope + bend * away
        if (
            falling <= 0
            or slope <= 0
            or value <= 0
            or middle + (slope + (shells.kappa + t) * value) * away <= 0
        ):
            continue
        if middle > 0 and middle_slope > 0:
            return Shape(None, hollow=True)
        if cells > MOST_FALLING_CELLS or (b - a) < arb(2) ** -60:
            return Shape(None)
        waiting += [(a, c), (c, b)]
    return Shape(arb(0))


def _slopes(shells: Shells, terms: list[Term], u: arb, t: arb) -> tuple[arb, arb, arb]:
    """G, S and S' on the members of u."""
    value, slope, bend = arb(0), arb(0), arb(0)
    for term in terms:
        piece = term.piece
        weight = term.multiplier * piece.log_weight(u, t, shells.m).exp()
        rate = piece.slope - piece.excess * t
        fall = rate - shells.kappa - t
        value += weight
        slope += weight * fall
        bend += weight * (rate * fall - (piece.excess + 1) * t)
    return value, slope, bend


def _rise_of(shells: Shells, term: Term, low: arb, high: arb) -> arb:
    """An upper bound of the share by which a term rises from low to high. It rises only where
    slope > kappa + (1 + excess) t, and t grows."""
    piece = term.piece
    lead = piece.slope - shells.kappa - (piece.excess + 1) * shells.gamma(low)
    if lead <= 0:
        return arb(0)
    # It rises at most at the rate `lead`, and no longer than until t has grown by it.
    length = (high - low).min((lead / ((piece.excess + 1) * shells.gamma(low))).log1p())
    if not length.is_finite():
        raise Undecided("the slope of a law cannot be enclosed")
    return (lead * length).upper().expm1()

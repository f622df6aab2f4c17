"""The dual bound B enclosed: every integral with its error (docs/math.md 2 and 3).

    B = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i).

The shells u of x are cut into intervals of three kinds, R being where g(x) > p(x - delta):

- curved: g > 0 and R is v > V(u). Its part is the integral of g outside R plus P(y in R), an
  integral along the curve of p(V) C(V, u) dV between lines up to infinity at both ends;
- plain: R is so small that min(g, p) is g but for at most `missing`; so wherever g <= 0;
- swallowed: what is outside R is so small that min(g, p) is p(x - delta) but for `missing`.

With V = inf on plain and -inf on swallowed intervals the lines of neighbours cancel but for
where V jumps: there remains the integral of p(v) C(v, u) over v from V before to V after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dsrs.audit.angle import angle_of
from dsrs.audit.balls import arb, between, bits, centre, exact, greater, lesser
from dsrs.audit.curve import Term, crossing_on, ratio_on, rough_crossing
from dsrs.audit.integrands import AlongCurve, AlongLine, Density
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import MIXTURE_DEPTH, Mixture
from dsrs.audit.quadrature import SHARP, integral
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import ends_of, smoothing_law


@dataclass(frozen=True, slots=True)
class Enclosure:
    """B, and the probability of the innermost shells, which a proof for shorter shifts pays."""

    value: arb
    innermost: arb


@dataclass(frozen=True, slots=True)
class _Segment:
    low: arb
    high: arb
    kind: str  # curved, plain or swallowed
    terms: tuple[Term, ...] = ()


@dataclass
class _Walk:
    """Adds up the parts of B from the innermost shell to the outermost."""

    mixture: Mixture
    rho: arb
    budget: Budget
    segments: list[_Segment] = field(default_factory=list)
    total: arb = field(default_factory=lambda: arb(0))
    terms: list[Term] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shells = self.mixture.shells
        self.angle = angle_of(self.shells.d, bits())

    def interval(self, low: arb, high: arb) -> None:
        """Add the part of the shells from low to high, on which the laws do not begin or end."""
        middle = ((low + high) / 2).mid()
        self.terms = self.mixture.terms_at(middle)
        if self.mixture.is_infinite_at(middle):
            self.segments.append(_Segment(low, high, "swallowed"))
            return
        if not self.terms:
            self.segments.append(_Segment(low, high, "plain"))
            return
        first = len(self.segments)
        along = AlongCurve(self.shells, self.angle, self.terms, self.rho)
        self.total += integral(along, low, high, self.budget, self.settle)
        others, self.segments[first:] = self.segments[first:], []
        at = low
        for other in [*others, _Segment(high, high, "end")]:
            if at.mid() < other.low.mid():
                self.segments.append(_Segment(at, other.low, "curved", tuple(self.terms)))
            if other.kind != "end":
                self.segments.append(other)
            at = other.high

    def settle(self, a: arb, b: arb) -> arb | None:
        """A panel where the curve is not seen to be smooth: plain, swallowed, or to be halved."""
        shells, panel, length = self.shells, between(a, b), (b - a).upper()
        t = shells.gamma(panel)
        ratio = ratio_on(shells, self.terms, panel, t)
        c = arb(centre(panel))
        close = ratio_on(shells, self.terms, c, shells.gamma(c)).value + ratio.slope * (panel - c)
        most = lesser(ratio.value.upper(), close.upper())
        least = greater(ratio.value.lower(), close.lower())
        if most <= 0:
            return self._plain(a, b, arb(0))
        mass = shells.log_density(panel, t).exp().upper() * most * length
        if mass < SHARP:
            return self._plain(a, b, mass)
        if most < 1:
            missing = mass * self._reach(panel, t, most)
            if missing < SHARP:
                return self._plain(a, b, missing)
        if least > 0:
            missing = self._inside(panel, t, least)
            if missing < SHARP:
                self.segments.append(_Segment(a, b, "swallowed"))
                return -between(arb(0), missing)
        self.budget.spend(1)
        part = AlongCurve(shells, self.angle, self.terms, self.rho).at(panel) * (b - a)
        return part if part.is_finite() and part.rad() < SHARP else None

    def _plain(self, a: arb, b: arb, missing: arb) -> arb:
        part = integral(Density(self.shells, self.terms), a, b, self.budget)
        self.segments.append(_Segment(a, b, "plain"))
        return part - between(arb(0), missing)

    def _reach(self, panel: arb, t: arb, most: arb) -> arb:
        """An upper bound of the share of R on each of these shells, if G <= most < 1."""
        shells, target = self.shells, -most.log()
        top = t.upper()
        e = arb(rough_crossing(float(top), shells.rough_kappa, -float(target)) * (1 - 1e-9))
        if not (e > 0 and top * e.expm1() + shells.kappa * e <= target):
            return arb(1)
        h = shells.half_square(panel)
        climb = -(h.lower() * (shells.power * e).expm1()) / self.rho
        return self.angle.above(-(climb + self.rho / 2) / (2 * h).sqrt()).upper()

    def _inside(self, panel: arb, t: arb, least: arb) -> arb:
        """An upper bound of P(v < V) for the curve over these shells, if G >= least > 0."""
        shells = self.shells
        crossing = crossing_on(shells, panel, t, least.log())
        if crossing is not None:
            return shells.mass_below((panel + crossing.e).upper())
        if shells.rough_kappa == 0:
            rest = (t - least.log()).upper()
            return shells.mass_below((rest / shells.m).log()) if rest > 0 else arb(0)
        return arb(1)

    def jumps(self) -> arb:
        """The integrals along the lines where V jumps between neighbouring segments, and up to
        infinity after the last."""
        total, before = arb(0), arb.pos_inf()
        for segment in self.segments:
            if segment is not self.segments[0]:
                total += self._line(segment.low, before, self._height(segment, segment.low))
            before = self._height(segment, segment.high)
        return total + self._line(self.segments[-1].high, before, arb.pos_inf())

    def _height(self, segment: _Segment, u: arb) -> arb:
        """The height V of the curve at an end of a segment, infinite where there is no curve."""
        if segment.kind != "curved":
            return arb.pos_inf() if segment.kind == "plain" else arb.neg_inf()
        t = self.shells.gamma(u)
        log_ratio = ratio_on(self.shells, segment.terms, u, t).log
        crossing = None if log_ratio is None else crossing_on(self.shells, u, t, log_ratio)
        if crossing is None:
            raise Undecided("the end of a curve cannot be enclosed")
        return u + crossing.e

    def _line(self, u: arb, before: arb, after: arb) -> arb:
        """The integral of p(v) C(v, u) over v from `before` to `after`."""
        shells = self.shells
        most = shells.mass_below(u)
        if most < SHARP:
            # All of the line is at most the probability of x within shell u.
            return arb(0, most)
        low, high = ends_of(smoothing_law().pieces[0], shells, MIXTURE_DEPTH)
        start, stop = (v.max(low).min(high) for v in (before, after))
        if float(start) == float(stop):
            missing = (stop - start).abs_upper() * shells.log_top.exp()
            part = arb(0, missing.upper())
        else:
            along = AlongLine(shells, self.angle, shells.half_square(u), self.rho)
            if float(start) < float(stop):
                part = integral(along, start, stop, self.budget)
            else:
                part = -integral(along, stop, start, self.budget)
        return part + arb(0, (shells.mass_below(low) + shells.mass_above(high)).upper())


def enclosed_bound(
    mixture: Mixture, ends: Sequence[tuple[float, float]], radius: float | Fraction, budget: Budget
) -> Enclosure:
    """B at a shift of length `radius`, X_i in `ends`."""
    shells = mixture.shells
    rho = exact(radius) / shells.scale
    low, high = mixture.covered(rho)
    walk = _Walk(mixture, rho, budget)
    for a, b in mixture.intervals(low, high):
        walk.interval(a, b)
    inner = shells.mass_below(low)
    value = walk.total + walk.jumps() - between(arb(0), inner)
    # Shells that were left out: min(g, p) is between the negative part of g and both others.
    more = lesser(mixture.mass_below(low, 1), inner)
    more += lesser(mixture.mass_above(high, 1), shells.mass_above_shifted(high, rho))
    less = mixture.mass_below(low, -1) + mixture.mass_above(high, -1)
    value += between(-less, more)
    for multiplier, (lower, upper) in zip(mixture.multipliers, ends, strict=True):
        if multiplier == math.inf:
            if lower != 1:
                raise Undecided("an infinite multiplier needs a class that is never wrong")
        elif multiplier:
            end = exact(lower if multiplier > 0 else upper)
            value -= exact(multiplier) * (1 - end)
    return Enclosure(value, inner)

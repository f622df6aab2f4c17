"""The dual bound B enclosed for noise that is round in l1 or l-infinity (docs/other-norms.md).

    B = integral of min(g(|x|), p(|x - delta|)) dx - sum_i l_i (1 - X_i),    g = sum_i l_i q_i,

with multipliers l_i >= 0, at the worst shift delta of length r. Lengths are in units of s, with
t = |x|^eta ~ Gamma(m, 1) and rho = r / s. No density may rise with the norm.

Worst shift. Reflect the space at a plane halfway between two shifts that differ along e, where
reflecting along e keeps the norm: a point nearer to the longer shift is farther from 0, so of the
four values of p - g at the pair of points the longer shift has the largest and the smallest, and
the integral of (p - g)_+ is no less for it. With e a coordinate axis: the integral grows with every
|delta_i|, so the worst shift of l-infinity is r (1, ..., 1), and longer ones are worse. With
e = (e_i - e_j) / sqrt 2: moving all of delta into one coordinate is worse, so the worst of l1 is
r (1, 0, ..., 0). A step therefore covers all shorter shifts.

Two numbers. For a noise vector of norm n the shift makes n + rho - 2 min(n c, rho) of it:
- l1: only x_1 changes, and c = |x_1| / n, if x_1 has the other sign than the shift, else 0. On the
  sphere |x_1| / n ~ Beta(1, d - 1).
- l-infinity: if the coordinate of size n has the sign of the shift, c = 0. Else M is the largest
  coordinate in the direction of the shift, and c = (n - M) / (2 n) the least of d - 1 uniform
  numbers.
So c = 0 with probability 1/2, and otherwise c ~ Beta(1, d - 1); seen from x or from x - delta.

The curve. g and p fall, so g(|x|) < p(|x - delta|) if and only if |x - delta| < N(|x|) with
p(N) = g(n), and N does not fall with n. On a shell of norm n the share of it is 1 if N > n + rho,
0 if N <= n - rho, and else (1/2) ((n + N - rho) / (2 n))^(d - 1), or 0 where that base is negative;
and of the shell N of x - delta the share with |x| <= n is the same with n and N exchanged. So B is
one integral over the shells n, of elementary functions, and where g jumps at an edge one over the
shells from N before to N after. Panels that hold a kink are halved until nothing is at stake.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Literal

from dsrs.audit.balls import Ball, arb, between, exact
from dsrs.audit.curve import Term, crossing_on, ratio_on, rough_crossing
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import Mixture
from dsrs.audit.quadrature import Integrand, integral
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import ends_of, smoothing_law

OVERLAP_DEPTH = 36.0  # shells with less than e^-DEPTH of P's density are left to bounds of tails
PANEL_REMAINDER = 1e-13  # that the rule on one panel may leave
AT_STAKE = 1e-12  # of a panel that holds a kink
NEARLY_EQUAL_ZONES = 1e-10  # how much two formulas may differ on a line between zones
ROUGH_POINTS = 1500  # of a trapezoid rule that only chooses a multiplier
OUTER_TRIES = 60  # shells tried for the end of the integral, half of the shift apart

Zone = Literal["above", "band", "below", "apart"]


@dataclass(frozen=True, slots=True)
class Gaps(Generic[Ball]):
    """How far the curve is from the two lines between which the share is neither 0 nor 1.

    outer: (n + rho - N) / n; inner: (N - n + rho) / n.
    """

    outer: Ball
    inner: Ball

    def zone(self) -> Zone | None:
        """Which of the four cases holds for all members; None where that is not shown."""
        if self.outer.real < 0:
            return "above"
        if self.inner.real < 0:
            return "below"
        if (2 - self.outer).real < 0:
            return "apart"  # a shift this long leads from no point of the one to one of the other
        within = self.outer.real > 0 and self.inner.real > 0 and (2 - self.outer).real > 0
        return "band" if within else None


@dataclass(frozen=True, slots=True)
class AlongOverlap(Integrand):
    """The integrand over shells u between edges: g on the shells, and P on the curve.

    In the band N = n - rho + h, say, and both parts are equal but for N' = dN/dn, because
    p(N) = g(n): the integrand is (1/2) g on the shells ((n + N - rho) / (2 n))^(d - 1) (1 + N').
    """

    shells: Shells
    terms: Sequence[Term]
    rho: arb

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        """The value on the members of u, and how much it may be off where zones meet."""
        shells = self.shells
        t = shells.gamma(u)
        ratio = ratio_on(shells, self.terms, u, t)
        if ratio.log is None or ratio.log_slope is None:
            return None
        crossing = crossing_on(shells, u, t, ratio.log)
        if crossing is None:
            return None
        reach, grown = self.rho / shells.length(u), (crossing.e * shells.power / 2).expm1()
        # dV/du, and dN/dn.
        speed = (t + shells.kappa - ratio.log_slope) / (crossing.t + shells.kappa)
        slope, gaps = (1 + grown) * speed, Gaps(reach - grown, reach + grown)
        if shells.kappa == 0 and shells.power == 2:
            # exp(-|x|): N = n - ln(g/p), a line along the edge of the band for Neyman-Pearson.
            slope = 1 - ratio.log_slope / t
            gaps = Gaps((ratio.log + self.rho) / t, (self.rho - ratio.log) / t)
        zone = gaps.zone()
        if zone == "apart":
            return u * 0, arb(0)
        own = (shells.log_density(u, t) + ratio.log).exp()
        arriving = shells.log_density(u + crossing.e, crossing.t).exp() * speed
        if zone == "above":
            return own, arb(0)
        if zone == "below":
            return arriving, arb(0)
        base = 1 - gaps.outer / 2
        if not base.real > 0:
            return None
        share = (base.log() * (shells.d - 1)).exp()
        band = own * share * (1 + slope) / 2
        if zone == "band":
            return band, arb(0)
        # Near a line the band's formula and the one beyond are nearly equal. The value at nodes may
        # be either, and so may that on the panel: the difference counts twice.
        inner_line = bool(gaps.inner.abs_upper() < gaps.outer.abs_upper())
        if not (gaps.outer if inner_line else gaps.inner).real > 0:
            return None  # both lines are near
        if inner_line:
            share = ((1 - gaps.inner / ((1 + grown) * 2)).log() * (shells.d - 1)).exp()
            off = arriving * (share * (1 + 1 / slope) / 2 - 1)
        else:
            off = own * (share * (1 + slope) / 2 - 1)
        missing = 2 * off.abs_upper()
        return (band, missing) if missing < NEARLY_EQUAL_ZONES else None

    def settle(self, a: arb, b: arb) -> arb | None:
        """The part of a panel without any curve, where little is at stake.

        It lies between 0 and g's mass on the panel plus P's between V(a) and V(b).
        """
        shells = self.shells
        end = curve_at(shells, self.terms, b)
        if end == "none":
            return arb(0)  # g is larger than p anywhere, and nothing is reached
        u = between(a, b)
        t = shells.gamma(u)
        ratio = ratio_on(shells, self.terms, u, t)
        if not isinstance(end, arb) or ratio.log is None:
            return None
        most = (shells.log_density(u, t) + ratio.log).exp().abs_upper() * (b - a)
        begin = curve_at(shells, self.terms, a)
        if not isinstance(begin, arb):
            most += shells.mass_below(end)
        else:
            v = between(begin, end)
            most += shells.log_density(v, shells.gamma(v)).exp().abs_upper() * (end - begin)
        most = most.abs_upper()
        return between(arb(0), most) if most < AT_STAKE else None


@dataclass(frozen=True, slots=True)
class AtJump(Integrand):
    """P on shells u, times the share of each that comes from within an edge of norm `edge`."""

    shells: Shells
    edge: arb
    rho: arb

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        length = self.shells.length(u)
        away = 1 - self.edge / length
        gaps = Gaps(self.rho / length + away, self.rho / length - away)
        zone = gaps.zone()
        if zone is None:
            return None
        if zone in ("below", "apart"):
            return u * 0, arb(0)
        density = self.shells.log_density(u, self.shells.gamma(u)).exp()
        if zone == "above":
            return density, arb(0)
        share = ((1 - gaps.outer / 2).log() * (self.shells.d - 1)).exp()
        return density * share / 2, arb(0)

    def settle(self, a: arb, b: arb) -> arb | None:
        """The part of a panel where little is at stake: between 0 and P's mass on it."""
        v = between(a, b)
        most = (self.shells.log_density(v, self.shells.gamma(v)).exp() * (b - a)).abs_upper()
        return between(arb(0), most) if most < AT_STAKE else None


def curve_at(
    shells: Shells, terms: Sequence[Term], u: arb
) -> arb | Literal["none", "infinite"] | None:
    """The shell V(u): p(V) = g(u). "none" where g is above all of p, None where it is not shown."""
    if not terms:
        return "infinite"
    t = shells.gamma(u)
    ratio = ratio_on(shells, terms, u, t)
    if ratio.log is None:
        return None
    if shells.kappa == 0 and t - ratio.log < 0:
        return "none"
    crossing = crossing_on(shells, u, t, ratio.log)
    return None if crossing is None else u + crossing.e


def overlap_bound(
    mixture: Mixture, ends: Sequence[tuple[float, float]], radius: arb, budget: Budget
) -> arb:
    """B at the worst shift of this length, with X_i in `ends`; no multiplier may be negative."""
    shells, rho = mixture.shells, radius / mixture.shells.unit
    low, top = ends_of(smoothing_law().pieces[0], shells, OVERLAP_DEPTH)
    high, total = _outermost(mixture, top, rho)
    total += between(arb(0), shells.mass_below(low))
    cells = [(a, b, mixture.terms_at(((a + b) / 2).mid())) for a, b in mixture.intervals(low, high)]
    for a, b, terms in cells:
        if terms:
            along = AlongOverlap(shells, terms, rho)
            total += integral(along, a, b, budget, along.settle, PANEL_REMAINDER)
    for (_, edge, before), (_, _, after) in pairwise(cells):
        total += _jump(shells, edge, (before, after), rho, (low, top), budget)
    for value, (lower, _) in zip(mixture.multipliers, ends, strict=True):
        total -= exact(value) * (1 - exact(lower))
    return total


def _outermost(mixture: Mixture, top: arb, rho: arb) -> tuple[arb, arb]:
    """The shell to integrate up to, and what may lie beyond it or beyond its place on the curve."""
    shells = mixture.shells
    for tries in range(OUTER_TRIES):
        norm = shells.length(top) + rho * (1 + exact(tries) / 2)
        u = shells.shell_of_length(norm).mid()
        place = curve_at(shells, mixture.terms_at(u), u)
        if place is None or place == "none":
            continue
        # What is beyond u was beyond the norm of u less the shift before.
        inner = shells.length(u) - rho
        beyond = shells.mass_above(shells.shell_of_length(inner)) if inner > 0 else arb(1)
        if place == "infinite":
            return u, between(arb(0), beyond)
        if place >= top:
            return u, between(arb(0), beyond + shells.mass_above(place))
    raise Undecided("no shell was found beyond which nothing of P is left")


def _jump(
    shells: Shells,
    edge: arb,
    terms: tuple[Sequence[Term], Sequence[Term]],
    rho: arb,
    limits: tuple[arb, arb],
    budget: Budget,
) -> arb:
    """P on the shells that the curve leaps over at an edge, as far as they come from within."""
    begin, end = (curve_at(shells, own, edge) for own in terms)
    low, top = limits
    if begin is None or end is None:
        raise Undecided("the curve cannot be followed to an edge of a law")
    if begin == "infinite" or end == "none":
        return arb(0)
    missing = arb(0)
    if begin == "none":
        begin, missing = low, shells.mass_below(low)
    if end == "infinite":
        end, missing = top, missing + shells.mass_above(top)
    if begin >= end:
        return between(arb(0), missing)  # nothing is left of P there
    if not begin < end:
        # No jump that could be told from none.
        v = between(begin, end)
        most = shells.log_density(v, shells.gamma(v)).exp() * (end - begin)
        return between(arb(0), missing + most.abs_upper())
    at_jump = AtJump(shells, shells.length(edge), rho)
    found = integral(at_jump, begin, end, budget, at_jump.settle, PANEL_REMAINDER)
    return found + between(arb(0), missing)


def overlap_share(shells: Shells, rho: float, log: float) -> float:
    """About the share of P where e^log p(|x|) < p(|x - delta|), in floats; it proves nothing."""
    low, high = (float(end) for end in ends_of(smoothing_law().pieces[0], shells, OVERLAP_DEPTH))
    half, log_m, m = float(shells.power) / 2, float(shells.log_m), shells.rough_m
    weight = share = 0.0
    for i in range(ROUGH_POINTS + 1):
        u = low + (high - low) * i / ROUGH_POINTS
        t, density = m * math.exp(u), math.exp(m * (u - math.expm1(u)))
        weight += density
        grown = math.expm1(max(rough_crossing(t, shells.rough_kappa, log), -700.0) * half)
        reach = rho / math.exp((u + log_m) * half)
        if grown > reach:
            share += density
        elif grown > -reach and 2 + grown > reach:
            share += density * 0.5 * math.exp((shells.d - 1) * math.log1p((grown - reach) / 2))
    return share / weight

"""The three functions that make up the dual bound, on balls and on boxes (docs/math.md 3).

In units of the law's scale, with h = |x|^2 / 2 and climb = (h(u) - h(V)) / rho, x lies outside R if
its cosine with delta exceeds (climb + rho/2) / sqrt(2 h(u)). Seen from y, x lies within shell u if
the cosine of y is below (climb - rho/2) / sqrt(2 h(V)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsrs.audit.angle import Angle
from dsrs.audit.balls import Ball, arb
from dsrs.audit.curve import Term, crossing_on, ratio_on
from dsrs.audit.quadrature import Integrand
from dsrs.audit.shells import Shells


@dataclass
class AlongCurve(Integrand):
    """The integrand along the curve v = V(u): g outside R, plus p(V) C(V, u) V'."""

    shells: Shells
    angle: Angle
    terms: Sequence[Term]
    rho: arb

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        shells, rho = self.shells, self.rho
        t = shells.gamma(u)
        ratio = ratio_on(shells, self.terms, u, t)
        if ratio.log is None or ratio.log_slope is None:
            return None
        crossing = crossing_on(shells, u, t, ratio.log)
        if crossing is None:
            return None
        h = shells.half_square(u)
        grown = (crossing.e * shells.power).expm1()
        climb = -(h * grown) / rho
        moved = h * (1 + grown)
        if not (h.real > 0 and moved.real > 0):
            return None
        outside = self.angle.share_above((climb + rho / 2) / (h * 2).sqrt())
        within = self.angle.share_above((rho / 2 - climb) / (moved * 2).sqrt())
        if outside is None or within is None:
            return None
        density = (shells.log_density(u, t) + ratio.log).exp()
        speed = (t + shells.kappa - ratio.log_slope) / (crossing.t + shells.kappa)
        arriving = shells.log_density(u + crossing.e, crossing.t).exp() * speed
        missing = density.abs_upper() * outside[1] + arriving.abs_upper() * within[1]
        return density * outside[0] + arriving * within[0], missing


@dataclass
class AlongLine(Integrand):
    """The integrand p(v) C(v, u) on a line u = const; `h` is the half square there."""

    shells: Shells
    angle: Angle
    h: arb
    rho: arb

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        h = self.shells.half_square(u)
        if not h.real > 0:
            return None
        norm, own, rho = (h * 2).sqrt(), (2 * self.h).sqrt(), self.rho
        # 1 - c^2 in factors: where u is near the centre, c is near 1 on a whole range of v.
        square = (own - norm + rho) * (own + norm - rho) * (norm + rho - own) * (norm + rho + own)
        square = square / (norm * rho * 2) ** 2
        within = self.angle.share_above(((h - self.h) / rho + rho / 2) / norm, square)
        if within is None:
            return None
        density = self.shells.log_density(u, self.shells.gamma(u)).exp()
        return density * within[0], density.abs_upper() * within[1]


@dataclass
class Density(Integrand):
    """The integrand g."""

    shells: Shells
    terms: Sequence[Term]

    def value(self, u: Ball) -> tuple[Ball, arb]:
        t = self.shells.gamma(u)
        density = self.shells.log_density(u, t).exp()
        return density * ratio_on(self.shells, self.terms, u, t).value, arb(0)

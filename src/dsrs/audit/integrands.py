"""The three functions that make up the dual bound, on balls and on boxes (docs/math.md 3).

In units of the law's scale, with h = |x|^2 / 2 and climb = (h(u) - h(V)) / rho, x lies outside R if
its cosine with delta exceeds (climb + rho/2) / sqrt(2 h(u)). Seen from y, x lies within shell u if
the cosine of y is below (climb - rho/2) / sqrt(2 h(V)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsrs.audit.angle import Angle
from dsrs.audit.balls import acb, arb
from dsrs.audit.curve import Term, crossing_on, ratio_on
from dsrs.audit.shells import Shells


@dataclass
class AlongCurve:
    """The integrand along the curve v = V(u): g outside R, plus p(V) C(V, u) V'."""

    shells: Shells
    angle: Angle
    terms: Sequence[Term]
    rho: arb

    def at(self, x: arb) -> arb:
        shells, rho = self.shells, self.rho
        t = shells.gamma(x)
        ratio = ratio_on(shells, self.terms, x, t)
        if ratio.log is None or ratio.log_slope is None:
            return arb.nan()
        crossing = crossing_on(shells, x, t, ratio.log)
        if crossing is None:
            return arb.nan()
        h = shells.half_square(x)
        grown = (crossing.e * shells.power).expm1()
        climb = -(h * grown) / rho
        outside = self.angle.above((climb + rho / 2) / (2 * h).sqrt())
        within = self.angle.above((rho / 2 - climb) / (2 * h * (1 + grown)).sqrt())
        density = (shells.log_density(x, t) + ratio.log).exp()
        v = x + crossing.e
        arriving = shells.log_density(v, crossing.t).exp()
        speed = (t + shells.kappa - ratio.log_slope) / (crossing.t + shells.kappa)
        return density * outside + arriving * within * speed

    def size_on(self, box: acb) -> tuple[arb, arb] | None:
        shells, rho = self.shells, self.rho
        t = shells.gamma(box)
        ratio = ratio_on(shells, self.terms, box, t)
        if ratio.log is None or ratio.log_slope is None:
            return None
        crossing = crossing_on(shells, box, t, ratio.log)
        if crossing is None:
            return None
        h = shells.half_square(box)
        grown = (crossing.e * shells.power).expm1()
        climb = -(h * grown) / rho
        moved = h * (1 + grown)
        if not (h.real > 0 and moved.real > 0):
            return None
        outside = self.angle.above_on((climb + rho / 2) / (h * 2).sqrt())
        within = self.angle.above_on((rho / 2 - climb) / (moved * 2).sqrt())
        if outside is None or within is None:
            return None
        density = (shells.log_density(box, t) + ratio.log).exp().abs_upper()
        v = box + crossing.e
        speed = (t + shells.kappa - ratio.log_slope) / (crossing.t + shells.kappa)
        arriving = (shells.log_density(v, crossing.t).exp() * speed).abs_upper()
        size = density * outside[0].abs_upper() + arriving * within[0].abs_upper()
        return size, density * outside[1] + arriving * within[1]


@dataclass
class AlongLine:
    """The integrand p(v) C(v, u) on a line u = const; `h` is the half square there."""

    shells: Shells
    angle: Angle
    h: arb
    rho: arb

    def at(self, x: arb) -> arb:
        h = self.shells.half_square(x)
        cosine = ((h - self.h) / self.rho + self.rho / 2) / (2 * h).sqrt()
        density = self.shells.log_density(x, self.shells.gamma(x)).exp()
        return density * self.angle.above(cosine)

    def size_on(self, box: acb) -> tuple[arb, arb] | None:
        h = self.shells.half_square(box)
        if not h.real > 0:
            return None
        norm, own, rho = (h * 2).sqrt(), (2 * self.h).sqrt(), self.rho
        # 1 - c^2 in factors: where u is near the centre, c is near 1 on a whole range of v.
        square = (own - norm + rho) * (own + norm - rho) * (norm + rho - own) * (norm + rho + own)
        square = square / (norm * rho * 2) ** 2
        cosine = ((h - self.h) / rho + rho / 2) / norm
        within = self.angle.above_on(cosine, square)
        if within is None:
            return None
        density = self.shells.log_density(box, self.shells.gamma(box)).exp().abs_upper()
        return density * within[0].abs_upper(), density * within[1]


@dataclass
class Density:
    """The integrand g."""

    shells: Shells
    terms: Sequence[Term]

    def at(self, x: arb) -> arb:
        t = self.shells.gamma(x)
        density = self.shells.log_density(x, t).exp()
        return density * ratio_on(self.shells, self.terms, x, t).value

    def size_on(self, box: acb) -> tuple[arb, arb] | None:
        t = self.shells.gamma(box)
        density = self.shells.log_density(box, t).exp()
        return (density * ratio_on(self.shells, self.terms, box, t).value).abs_upper(), arb(0)

"""The total variation between P and P shifted, enclosed: what a chain of steps may lose
(docs/math.md 5).

TV(h) = Pr[|x_1| < h/2], an integral over shells of the probability of a band of cosines.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsrs.audit.angle import Angle, angle_of
from dsrs.audit.balls import Ball, arb, between, bits
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import MIXTURE_DEPTH
from dsrs.audit.quadrature import Integrand, integral
from dsrs.audit.shells import Shells
from dsrs.audit.weights import ends_of, smoothing_law


@dataclass
class _Band(Integrand):
    """The integrand p(u) Pr[|cosine| < half / norm]."""

    shells: Shells
    angle: Angle
    half: arb

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        h = self.shells.half_square(u)
        if not h.real > 0:
            return None
        beyond = self.angle.share_above(self.half / (h * 2).sqrt())
        if beyond is None:
            return None
        density = self.shells.log_density(u, self.shells.gamma(u)).exp()
        return density * (1 - beyond[0] * 2), density.abs_upper() * beyond[1] * 2


def total_variation(shells: Shells, step: arb, budget: Budget) -> arb:
    """TV of a shift by `step`, in units of length."""
    low, high = ends_of(smoothing_law().pieces[0], shells, MIXTURE_DEPTH)
    band = _Band(shells, angle_of(shells.d, bits()), step / shells.scale / 2)
    left_out = shells.mass_below(low) + shells.mass_above(high)
    return integral(band, low, high, budget) + between(arb(0), left_out.upper())

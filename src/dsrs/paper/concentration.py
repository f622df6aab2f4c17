"""Theorem 2 and Theorem 6: how a radius can, and cannot, grow with the dimension.

Both theorems are about a classifier that is right on a ball around the input: (sigma, P_con)-
concentration means that it is right wherever Gaussian noise stays within its P_con-quantile T.
Given nothing else, the certified radius is then the largest shift that keeps half of the noise
inside the ball (the lemma for Theorem 2, Q_A = 1), and it is also the true radius of the smoothed
classifier that is wrong outside (Theorem 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from dsrs.errors import DsrsError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.published import published_gamma_cdf

THEOREM_2_RATE = 0.02  # r >= 0.02 sigma sqrt(d)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(256)


@dataclass(frozen=True, slots=True)
class Growth:
    """At dimension d: the radius of the ball classifier under P, and c sqrt(d) to compare."""

    d: int
    k: float
    radius: float
    rate: float  # radius / (sigma sqrt(d))
    theorem_2: float  # 0.02 sigma sqrt(d)


@dataclass(frozen=True, slots=True)
class GrowthForM:
    """Theorem 2 for one m = d/2 - k over a range of dimensions."""

    m: float
    holds_from: int  # the first dimension from which on every one has at least 0.02 sqrt(d)
    least_rate: float  # of radius / (sigma sqrt(d)) from there on
    last_rate: float  # at the last dimension


@dataclass(frozen=True, slots=True)
class GammaRow:
    """One line of the enumeration in the proof of Theorem 2."""

    m: float
    cdf: float
    printed: str

    @property
    def agrees(self) -> bool:
        """Equal to the paper's four digits."""
        return f"{self.cdf:.4f}" == self.printed

    @property
    def suffices(self) -> bool:
        """What the proof needs: at least 0.5 / 0.999."""
        return self.cdf >= 0.5 / 0.999


def concentration_radius(d: int, sigma: float, p_con: float) -> float:
    """T, within which Gaussian noise of size `sigma` stays with probability P_con."""
    if not 0 < p_con < 1:
        raise InvalidInput(f"`p_con` must be in (0, 1), got {p_con!r}")
    return float(GeneralizedGaussian(d, sigma).radial_quantile(p_con))


def shifted_ball_mass(law: GeneralizedGaussian, ball: float, shift: float) -> float:
    """Pr[|x + delta| <= ball] for noise x of `law` and |delta| = `shift` < ball.

    The lemma for Theorem 2 writes it as an expectation over the norm of a Beta CDF, which is a
    step of width 1/sqrt(d). Taken the other way round it is smooth for every d: at angle theta
    from the hyperplane across delta (density proportional to cos^(d-2) theta) the noise stays
    inside up to the norm -shift sin(theta) + sqrt(ball^2 - shift^2 cos^2(theta)).
    """
    if not 0 <= shift < ball:
        raise InvalidInput(f"`shift` must be in [0, ball) = [0, {ball:g}), got {shift!r}")
    # Beyond 12 standard deviations of the angle there is less than 1e-30 of the mass.
    half_width = min(math.pi / 2, 12 / math.sqrt(law.d))
    theta = half_width * _NODES
    log_density = (law.d - 2) * np.log(np.cos(theta))
    density = _WEIGHTS * np.exp(log_density)
    along = -shift * np.sin(theta)
    reach = along + np.sqrt(ball**2 - (shift * np.cos(theta)) ** 2)
    return float(density @ law.radial_cdf(reach) / density.sum())


def ball_radius(law: GeneralizedGaussian, ball: float) -> float:
    """The largest shift that keeps half of the noise in the ball; 0 if the ball holds less."""
    if float(law.radial_cdf(ball)) <= 0.5:
        return 0.0
    # At shift = ball the half space through the far side already holds half of the noise.
    return float(
        optimize.brentq(
            lambda shift: shifted_ball_mass(law, ball, shift) - 0.5,
            0.0,
            ball * (1 - 1e-12),
            xtol=1e-12 * ball,
            rtol=1e-14,
        )
    )


def theorem_2(
    dimensions: Sequence[int], m: float = 5.0, sigma: float = 1.0, p_con: float = 0.5
) -> list[Growth]:
    """The lemma's radius for k = d/2 - m beside the theorem's 0.02 sigma sqrt(d)."""
    return [_growth(d, d / 2 - m, sigma, p_con) for d in dimensions]


def theorem_2_for_every_m(dimensions: Sequence[int]) -> list[GrowthForM]:
    """Theorem 2 for each m of the table in its proof, 0.5 to 15, where k = d/2 - m >= 0."""
    rows = []
    for m, _ in published_gamma_cdf():
        growths = theorem_2([d for d in sorted(dimensions) if d >= 2 * m], m)
        last_failure = max(
            (place for place, growth in enumerate(growths) if growth.radius < growth.theorem_2),
            default=-1,
        )
        holding = growths[last_failure + 1 :]
        if not holding:
            raise DsrsError(f"Theorem 2 fails at d = {growths[-1].d}, the last, for m = {m}")
        rows.append(GrowthForM(m, holding[0].d, min(g.rate for g in holding), holding[-1].rate))
    return rows


def theorem_6(
    dimensions: Sequence[int], k: float = 0.0, sigma: float = 1.0, p_con: float = 0.6
) -> list[Growth]:
    """True radius of the smoothed ball classifier for constant k: no method certifies more.

    Its rate falls to 0, so every c sqrt(d) is out of reach from some dimension on.
    """
    return [_growth(d, k, sigma, p_con) for d in dimensions]


def first_impossible_dimension(
    rate: float, k: float = 0.0, sigma: float = 1.0, p_con: float = 0.6
) -> int:
    """The smallest power of two d at which `rate` sigma sqrt(d) exceeds the true radius."""
    if not rate > 0:
        raise InvalidInput(f"`rate` must be positive, got {rate!r}")
    d = 2
    while d <= 2 * k or _growth(d, k, sigma, p_con).rate >= rate:
        d *= 2
    return d


def gamma_table() -> list[GammaRow]:
    """GammaCDF_m(0.98 m) for m = 0.5, 1, ..., 15 beside the paper's digits."""
    return [
        GammaRow(m, float(special.gammainc(m, 0.98 * m)), printed)
        for m, printed in published_gamma_cdf()
    ]


def _growth(d: int, k: float, sigma: float, p_con: float) -> Growth:
    law = GeneralizedGaussian(d, sigma, k)
    radius = ball_radius(law, concentration_radius(d, sigma, p_con))
    unit = sigma * math.sqrt(d)
    return Growth(d, law.k, radius, radius / unit, THEOREM_2_RATE * unit)

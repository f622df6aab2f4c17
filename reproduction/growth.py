"""Theorem 2 and Theorem 6: how a radius can, and cannot, grow with the dimension.

Both theorems are about a classifier that is right on a ball around the input: (sigma, P_con)-
concentration means that it is right wherever Gaussian noise stays within its P_con-quantile T.
Given nothing else, the certified radius is then the largest shift that keeps half of the noise
inside the ball (the lemma for Theorem 2, Q_A = 1), and it is also the true radius of the smoothed
classifier that is wrong outside (Theorem 6).

Figure 2a of the main text and its companion of the appendix. The simulated classifier is right on a
ball around the input. sigma = 1, k = d/2 - 5; Q is P truncated at T, the median norm of Gaussian
noise (P_con = 0.5), and P_A is the mass under P of the ball that holds 0.6 of Gaussian noise
(docs/differences.md). What is known of Q_A makes the curves:

    exact      Q_A = 1
    sampled    Q_A = alpha^(1/n), the lower bound from n votes that are all right
    relaxed    Q_A = 1 - exp(-d^a): concentration fails with probability exp(-d^a)
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from dsrs.duality import prepare
from dsrs.errors import DsrsError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.proofs import Interval, Observation, certify
from reproduction.tables import published_gamma_cdf

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


M = 5.0
P_CON = 0.5
GAUSSIAN_P_A = 0.6
DIMENSION_ALPHA = 0.0005
DIMENSION_VOTES = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
RELAXED_POWERS = (0.1, 0.2, 0.3, 0.4, 0.5)
PROJECTION = 1.18  # the paper's fit: r_NP d^(a / 1.18)


@dataclass(frozen=True, slots=True)
class DimensionCurve:
    """Radius at each dimension; `parameter` is n (sampled), a (relaxed), or None."""

    kind: str
    parameter: float | None
    dimensions: tuple[int, ...]
    radii: tuple[float, ...]


def paper_dimensions() -> tuple[int, ...]:
    """The dimensions of the recorded simulation: from 20, half as much again, kept even."""
    dimensions = [20]
    while dimensions[-1] < 3_600_000:
        dimensions.append(int(dimensions[-1] * 1.5 / 2) * 2)
    return tuple(dimensions)


def neyman_pearson_radius() -> float:
    """Gaussian smoothing with the same P_A: Phi^-1(0.6), whatever the dimension."""
    return float(special.ndtri(GAUSSIAN_P_A))


def projected_radius(d: int, power: float) -> float:
    """The paper's projection for relaxed concentration."""
    return neyman_pearson_radius() * math.pow(d, power / PROJECTION)


def sampled_lower(n: int) -> float:
    """The lower bound of Q_A from n votes that are all right."""
    return float(np.exp(math.log(DIMENSION_ALPHA) / n))


def relaxed_lower(d: int, power: float) -> float:
    """1 - exp(-d^a); 1 when the difference from 1 is lost in a double."""
    return float(-np.expm1(-math.pow(d, power)))


def problem(d: int, q_a: float) -> tuple[GeneralizedGaussian, Interval, Observation]:
    """The certification problem at dimension d; P_A and Q_A are known exactly."""
    law = GeneralizedGaussian(d, 1.0, d / 2 - M)
    p_a = float(law.radial_cdf(concentration_radius(d, 1.0, GAUSSIAN_P_A)))
    q = Truncated.at_radius(law, concentration_radius(d, 1.0, P_CON))
    return law, Interval(p_a, p_a), Observation(q, Interval(q_a, q_a))


def dimension_curves(
    kinds: Sequence[str] = ("exact", "sampled"), dimensions: Sequence[int] | None = None
) -> list[DimensionCurve]:
    """The curves of the named kinds.

    A relaxed curve ends where 1 - exp(-d^a) is no longer below 1 in a double, as the paper's do.
    """
    chosen = tuple(dimensions or paper_dimensions())
    wanted: list[tuple[str, float | None]] = []
    if "exact" in kinds:
        wanted.append(("exact", None))
    if "sampled" in kinds:
        wanted += [("sampled", float(n)) for n in DIMENSION_VOTES]
    if "relaxed" in kinds:
        wanted += [("relaxed", power) for power in RELAXED_POWERS]
    prepare(len(wanted) * len(chosen))
    curves = []
    # Threads: the solver works outside the interpreter's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind, parameter in wanted:
            known = [(d, _q_a(kind, parameter, d)) for d in chosen]
            points = [(d, q_a) for d, q_a in known if kind == "exact" or q_a < 1]
            radii = tuple(pool.map(_radius, points))
            curves.append(DimensionCurve(kind, parameter, tuple(d for d, _ in points), radii))
    return curves


def _radius(point: tuple[int, float]) -> float:
    return certify(*problem(*point)).radius


def _q_a(kind: str, parameter: float | None, d: int) -> float:
    if parameter is None:
        return 1.0
    return sampled_lower(int(parameter)) if kind == "sampled" else relaxed_lower(d, parameter)

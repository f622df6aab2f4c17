"""Radius against dimension: Figure 2a of the main text and its companion of the appendix.

The simulated classifier is right on a ball around the input. sigma = 1, k = d/2 - 5; Q is P
truncated at T, the median norm of Gaussian noise (P_con = 0.5), and P_A is the mass under P of the
ball that holds 0.6 of Gaussian noise (docs/differences.md). What is known of Q_A makes the curves:

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
from scipy import special

from dsrs.duality.kernel import prepare
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.paper.concentration import concentration_radius
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation

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

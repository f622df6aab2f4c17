"""The best additional law for one input: P weighted by lambda(t), from its profile (MATH 6).

Let all n votes be taken under Q = lambda P / nu and bounded once, Q_A >= L(q). Neyman-Pearson
between Q and the shifted P proves B = nu L(q) - E[Phi_t(lambda)], with q = E[lambda a] / nu. L is
convex, so nu L(q) is the largest of its tangents nu (L(q') + L'(q') (q - q')), and

    max over lambda of B  =  max over q' of E_t[G_t(cap)],   cap = L(q') + L'(q') (a(t) - q'),

because for one q' each shell asks for max over lambda_t of cap lambda_t - Phi_t(lambda_t): the
mass carried into its cap, at the lambda that is LR on the cap's edge. One scan over q' is global.

What validity rests on: Q is a function of pilot votes, and the bound on Q_A is made from fresh
votes under Q alone. Given the pilot, Q is one fixed law, so the bound fails with probability
alpha at most, however poor the profile. A poor profile costs radius only.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import PchipInterpolator

from dsrs.laws import GeneralizedGaussian, Weighted
from dsrs.landscape.expected import bound_curve, unproved_at
from dsrs.landscape.profile import Profile
from dsrs.landscape.shells import Shells, shells_of
from dsrs.landscape.weights import falling, knotted, weights_at

Floats = NDArray[np.float64]

# Another law than P must promise this share more than P: profiles are never quite right.
WORTHWHILE = 1e-3


@dataclass(frozen=True, slots=True)
class Tailored:
    """The law chosen for one input, and what it promises at expected counts.

    `law` is None where Q is P itself. `radius` and `q` are predicted for the chosen law, and
    `p_radius` is what as many votes under P would certify.
    """

    law: Weighted | None
    radius: float
    q: float
    p_radius: float
    why: str


def tailored_law(profile: Profile, base: GeneralizedGaussian, n: int, alpha: float) -> Tailored:
    """The law Q to take n fresh votes under, for one bound at the whole of `alpha`."""
    shells = shells_of(base)
    misses = special.ndtr(-profile.scores_at(base.sigma * shells.norms))
    p_misses = float(misses @ shells.mass)
    p_radius = float(neyman_pearson_radius(base, unproved_at(np.array(p_misses), n, alpha)))
    best, scores = best_caps(shells, misses, n, alpha)

    def keep_p(why: str) -> Tailored:
        return Tailored(None, p_radius, 1 - p_misses, p_radius, why)

    if not best > 0:
        return keep_p("no law is expected to certify this class")
    if best * base.sigma < p_radius * (1 + WORTHWHILE):
        return keep_p("no law is expected to certify a larger radius than P")
    law = knotted(base, shells, falling(base, shells.t, shells.log_ratio(best, scores)))
    log_weights = weights_at(law, shells.t)
    weights = np.exp(log_weights - log_weights.max()) * shells.mass
    q_misses = float(misses @ weights / weights.sum())
    radius = base.sigma * radius_of_weight(
        shells, log_weights, float(unproved_at(np.array(q_misses), n, alpha)), best
    )
    if not radius > p_radius * (1 + WORTHWHILE):
        return keep_p("made to fall with |x|, no law is expected to beat P")
    gain = f"{100 * (radius / p_radius - 1):.1f}% more than P" if p_radius else "P certifies nothing"
    return Tailored(law, radius, 1 - q_misses, p_radius, f"expected radius {radius:.4g}: {gain}")


def best_caps(shells: Shells, misses: Floats, n: int, alpha: float) -> tuple[float, Floats]:
    """The largest shift (in units of sigma) that any weight is expected to prove, and its caps.

    `misses` is 1 - a on each shell. 0 where nothing can be proved.
    """
    curve = bound_curve(n, alpha)
    uncapped = curve.unproved[:, None] + curve.slope[:, None] * (misses - curve.misses[:, None])
    scores = -special.ndtri(np.clip(uncapped, 1e-12, 1.0))
    shifts = shells.largest_shift(scores)
    best = int(np.argmax(shifts))
    return float(shifts[best]), scores[best]


def radius_of_weight(shells: Shells, log_weights: Floats, unproved: float, near: float) -> float:
    """The shift that Q_A >= 1 - `unproved` proves, in units of sigma, searched around `near`."""
    first = int(np.clip(np.searchsorted(shells.shifts, near) - 2, 0, len(shells.shifts) - 4))
    places = first + np.arange(4)
    heights = -special.ndtri(shells.needed_misses(log_weights, places))
    curve = PchipInterpolator(heights, shells.shifts[places])
    return max(float(curve(-special.ndtri(unproved))), 0.0)


def neyman_pearson_radius(base: GeneralizedGaussian, unproved: Floats) -> Floats:
    """The radius that P_A >= 1 - `unproved` certifies; 0 from 1/2 on."""
    height = -special.ndtri(unproved)
    shift = _neyman_pearson_curve(base.d, base.k, base.eta)(np.maximum(height, 0.0))
    return np.where(height > 0, base.sigma * shift, 0.0)


@functools.lru_cache(maxsize=256)
def _neyman_pearson_curve(d: int, k: float, eta: float) -> PchipInterpolator:
    """The shift, in units of sigma, against Phi^-1 of the lower bound of P_A."""
    shells = shells_of(GeneralizedGaussian(d, 1.0, k, eta))
    needed = shells.needed_misses(np.zeros(len(shells.t)), np.arange(len(shells.shifts)))
    heights = -special.ndtri(needed)
    # Where the shift is too large for the tables the curve flattens.
    rising = np.append(True, np.diff(np.maximum.accumulate(heights)) > 1e-9)
    return PchipInterpolator(
        np.append(0.0, heights[rising]), np.append(0.0, shells.shifts[rising]), extrapolate=True
    )

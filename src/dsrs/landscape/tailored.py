"""The best additional law for one input, from its profile: P weighted by lambda (docs/math.md 9).

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

from dsrs.errors import InvalidInput
from dsrs.landscape.expected import bound_curve, checked_budget, expected_lower, unproved_at
from dsrs.landscape.profile import Profile
from dsrs.landscape.shells import Shells, shells_of
from dsrs.landscape.weights import falling, knotted
from dsrs.laws import GeneralizedGaussian, Weighted
from dsrs.proofs import Interval, Observation, certify

Floats = NDArray[np.float64]

# Another law than P must promise this share more than P: curves are never quite right.
WORTHWHILE = 1e-3
# The best lambda, and between it and P: lambda to these powers.
LAMBDA_POWERS = np.array([1.0, 0.75, 0.5, 0.35, 0.2, 0.1])
# What a law and its pilot may cost a class that is equally often right at all norms, as a share of
# the radius that all votes under P have: laws are not to be chosen from noise. Beyond MANY_VOTES
# both this and what a pilot may cost grow with the votes, up to a factor.
MOST_LOSS = 0.01
MANY_VOTES, LARGEST_FACTOR_OF_MANY_VOTES = 10_000, 10.0
LEARNED = 0.6
# That class is given so many standard deviations less than the share of hits that was seen.
FLAT_DOUBT = 0.5
# Of the rates q' on the curve L, so many are passed over in the first scan.
SCAN_STEP = 4
# In fewer dimensions LR has a peak that the tables do not resolve: a certificate must agree.
COARSE_DIMENSION = 64
# Rows of curves.
FLAT_ROW, NEVER_WRONG_ROW = -2, -1
# Places around a shift, on the grid of the shells, at which the curve of a weight is computed.
CURVE_PLACES = np.array([-9, -4, -1, 0, 3])


@dataclass(frozen=True, slots=True)
class Tailored:
    """The law chosen for one input, and what it promises at expected counts.

    `law` is None where Q is P itself. `radius` and `q` are predicted for the chosen law, and
    `p_radius` is what as many votes under P would certify. `within_reach` is how much more than P
    the best candidate would certify if the curve were known, on average over those that are
    possible.
    """

    law: Weighted | None
    radius: float
    q: float
    p_radius: float
    within_reach: float


def in_many_votes(n: int) -> float:
    """How much more may be risked for a better law with n votes, pilot included."""
    return min(max(n / MANY_VOTES, 1.0), LARGEST_FACTOR_OF_MANY_VOTES)


def tailored_law(
    profile: Profile, base: GeneralizedGaussian, n: int, alpha: float, pilot: int = 0
) -> Tailored:
    """The law Q to take n fresh votes under, for one bound at the whole of `alpha`.

    Candidates are P, the best lambda of the mean curve, and that lambda drawn towards P. The one
    of the largest mean radius over the curves that the votes leave possible is taken: few misses
    say little about where misses are, and then a bold law loses on most of those curves.

    Two curves stand for what the votes may have hidden. Where no vote missed, a law must not fall
    below P for a class that is never wrong. Where votes missed, a class that misses equally often
    at all norms may lose `MOST_LOSS` (times `in_many_votes`) of the radius that n and the `pilot`
    votes would have had under P, and e^(x * LEARNED) times as much if the votes are e^x times as
    likely under the fitted curve. If the curve is flat, its two fitted numbers make x about
    standard exponential, so that this factor is 1 / (1 - LEARNED) on average.
    """
    checked_budget(n, alpha)
    shells = shells_of(base)
    possible, odds = _possible_misses(profile, base)
    p_misses = possible @ shells.mass
    p_radii = neyman_pearson_radius(base, unproved_at(p_misses, n, alpha))
    p_radius = float(p_radii @ odds)
    reach = 0.0

    def keep_p() -> Tailored:
        return Tailored(None, p_radius, 1 - float(p_misses @ odds), p_radius, reach)

    best, scores = best_caps(shells, odds @ possible, n, alpha)
    if not best > 0:
        return keep_p()  # no law is expected to certify this class
    bold = falling(base, shells.t, shells.log_ratio(best, scores))
    candidates = LAMBDA_POWERS[:, None] * (bold - bold.max())
    weights = shells.mass * np.exp(candidates)
    misses = weights @ possible.T / weights.sum(axis=1, keepdims=True)
    radii = base.sigma * proved_shifts(shells, candidates, unproved_at(misses, n, alpha), best)
    means = radii @ odds
    reach = float(np.maximum(radii - p_radii, 0.0).max(axis=0) @ odds)
    if profile.misses < 1:
        least = float(p_radii[NEVER_WRONG_ROW])
        means[radii[:, NEVER_WRONG_ROW] < least] = 0.0
    else:
        loss = MOST_LOSS * in_many_votes(n + pilot) * np.exp(min(LEARNED * profile.evidence, 50.0))
        whole = neyman_pearson_radius(base, unproved_at(p_misses[[FLAT_ROW]], n + pilot, alpha))
        means[radii[:, FLAT_ROW] < (1 - loss) * float(whole[0])] = 0.0
    chosen = int(np.argmax(means))
    radius, q = float(means[chosen]), 1 - float(misses[chosen] @ odds)
    if not radius > p_radius * (1 + WORTHWHILE):
        return keep_p()
    try:
        law = knotted(base, shells, candidates[chosen])
    except InvalidInput:
        return keep_p()  # it has larger weights than laws may have
    if base.d < COARSE_DIMENSION:
        seen = Observation(law, Interval(expected_lower(q, n, alpha), 1.0))
        if not certify(base, Interval(0.0, 1.0), seen).radius > p_radius:
            return keep_p()
    return Tailored(law, radius, q, p_radius, reach)


def _possible_misses(profile: Profile, base: GeneralizedGaussian) -> tuple[Floats, Floats]:
    """1 - a on each shell for the curves that the votes leave possible, and their odds; at FLAT_ROW
    and NEVER_WRONG_ROW, without odds, the two curves that a law must do little harm to."""
    norms = base.sigma * shells_of(base).norms
    possible = special.ndtr(-profile.possible_scores_at(norms))
    missed = (profile.misses + 0.5) / (profile.votes + 1)
    missed += FLAT_DOUBT * np.sqrt(missed * (1 - missed) / (profile.votes + 1))
    others = np.outer((missed, 0.0), np.ones(len(norms)))
    return np.vstack([possible, others]), np.append(profile.odds, (0.0, 0.0))


def cost_of_votes(
    profile: Profile, base: GeneralizedGaussian, n: int, fewer: int, alpha: float
) -> float:
    """How much less radius `fewer` votes under P certify than n, on average over the curves that
    are possible."""
    possible, odds = _possible_misses(profile, base)
    misses = possible @ shells_of(base).mass
    most, less = (
        neyman_pearson_radius(base, unproved_at(misses, votes, alpha)) for votes in (n, fewer)
    )
    return float((most - less) @ odds)


def best_caps(shells: Shells, misses: Floats, n: int, alpha: float) -> tuple[float, Floats]:
    """The largest shift (in units of sigma) that any weight is expected to prove, and its caps.

    `misses` is 1 - a on each shell. 0 where nothing can be proved.
    """
    curve = bound_curve(n, alpha)
    uncapped = curve.unproved[:, None] + curve.slope[:, None] * (misses - curve.misses[:, None])
    scores = -special.ndtri(np.clip(uncapped, 1e-12, 1.0))
    middle = SCAN_STEP * int(np.argmax(shells.largest_shift(scores[::SCAN_STEP])))
    near = scores[max(middle - SCAN_STEP + 1, 0) : middle + SCAN_STEP]
    shifts = shells.largest_shift(near)
    best = int(np.argmax(shifts))
    return float(shifts[best]), near[best]


def proved_shifts(shells: Shells, log_weights: Floats, unproved: Floats, near: float) -> Floats:
    """The shifts, in units of sigma, that Q_A >= 1 - `unproved` proves; best close to `near`.

    One row a weight, and in it one number for each of its `unproved`.
    """
    middle = int(np.searchsorted(shells.shifts, near))
    places = np.unique(np.clip(middle + CURVE_PLACES, 0, len(shells.shifts) - 1))
    rows = np.broadcast_to(places, (len(log_weights), len(places)))
    heights = -special.ndtri(shells.needed_misses(log_weights[:, None, :], rows))
    wanted = -special.ndtri(unproved)
    found = [
        _shift_curve(h, shells.shifts[places])(w) for h, w in zip(heights, wanted, strict=True)
    ]
    return np.where(wanted > 0, np.maximum(found, 0.0), 0.0)


def neyman_pearson_radius(base: GeneralizedGaussian, unproved: Floats) -> Floats:
    """The radius that P_A >= 1 - `unproved` certifies; 0 from 1/2 on."""
    height = -special.ndtri(unproved)
    shift = _neyman_pearson_curve(base.d, base.k, base.eta)(np.maximum(height, 0.0))
    return np.where(height > 0, base.sigma * shift, 0.0)


@functools.lru_cache(maxsize=256)
def _neyman_pearson_curve(d: int, k: float, eta: float) -> PchipInterpolator:
    shells = shells_of(GeneralizedGaussian(d, 1.0, k, eta))
    needed = shells.needed_misses(np.zeros(len(shells.t)), np.arange(len(shells.shifts)))
    return _shift_curve(-special.ndtri(needed), shells.shifts)


def _shift_curve(heights: Floats, shifts: Floats) -> PchipInterpolator:
    """The shift against Phi^-1 of the lower bound of Q_A that proves it, from 0 on.

    A law that is not P needs more than 1/2 for a shift of 0; leaving that out costs nothing but
    digits far below the given shifts.
    """
    # Where the shift is too large for the tables the curve flattens.
    rising = np.append(True, np.diff(np.maximum.accumulate(heights)) > 1e-9) & (heights > 1e-9)
    return PchipInterpolator(np.append(0.0, heights[rising]), np.append(0.0, shifts[rising]))

"""The best additional law for one input, from its profile: P weighted by lambda (docs/math.md 9).

What validity rests on: by induction over the stages of the pilot every decision, to go on or to
stop and with which law, is a function of the pilot votes so far, so the law Q and how many votes
are left for its bound depend on the pilot alone. The votes that are bounded are fresh and all under
Q: given the pilot, Q is one fixed law and they are independent with one fixed probability, so one
bound takes the whole of alpha and fails with that probability at most, however poor the profile. A
poor profile costs radius only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.interpolate import PchipInterpolator

from dsrs.errors import InvalidInput
from dsrs.landscape.profile import (
    Profile,
    bound_curve,
    checked_budget,
    expected_lower,
    profile_of_bins,
    unproved_at,
)
from dsrs.landscape.shells import (
    SHELL_SCORES,
    Shells,
    cosine_of_score,
    falling,
    knotted,
    normal_density,
    shells_of,
)
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Weighted
from dsrs.proofs import Interval, Observation, certify

Floats = NDArray[np.float64]

# ---- What a profile says of noise laws: probabilities, misses, and what no law can exceed
#
# P_A = E[a(norm)] under every isotropic law (docs/math.md 10). Predictions are estimates: no
# certificate rests on them.

# Norms, in points of a profile, at which the limit is looked for.
LIMIT_POINTS = 400


def probability(profile: Profile, law: GeneralizedGaussian | AdditionalLaw) -> float:
    """P_A or Q_A: the mean of a(norm) over the norms of a law.

    The sum runs over equally spaced normal scores of the norm, as in `shells`.
    """
    norms = law.radial_quantile(special.ndtr(SHELL_SCORES))
    mass = normal_density(SHELL_SCORES)
    return 1 - float(special.ndtr(-profile.scores_at(norms)) @ mass / mass.sum())


def misses_by_shell(profiles: Sequence[Profile], law: GeneralizedGaussian) -> Floats:
    """How often votes miss on each shell of P: a row for each profile."""
    norms = law.sigma * shells_of(law).norms
    return np.array([special.ndtr(-profile.scores_at(norms)) for profile in profiles])


def limit_and_norm(profile: Profile, d: int, n: int, alpha: float) -> tuple[float, float]:
    """M_n = max over norms of norm c_d(L_n(a(norm))), what no isotropic law P can exceed, and the
    norm at which it is reached: about the best size of P for this input.

    L_n(a) is the bound of n votes at their expected count. Norms are those of the profile; where a
    is 1 at the largest of them the true limit is further out.
    """
    checked_budget(n, alpha)
    norms = np.exp(np.linspace(profile.log_norms[0], profile.log_norms[-1], LIMIT_POINTS))
    misses = special.ndtr(-profile.scores_at(norms))
    scores = -special.ndtri(unproved_at(misses, n, alpha))
    reach = norms * cosine_of_score(d, scores)
    best = int(np.argmax(reach))
    return max(float(reach[best]), 0.0), float(norms[best])


# ---- The choice of a law
#
# Let all n votes be taken under Q = lambda P / nu and bounded once, Q_A >= L(q). Neyman-Pearson
# between Q and the shifted P proves B = nu L(q) - E[Phi_t(lambda)], with q = E[lambda a] / nu. L is
# convex, so nu L(q) is the largest of its tangents nu (L(q') + L'(q') (q - q')), and
#
#     max over lambda of B  =  max over q' of E_t[G_t(cap)],   cap = L(q') + L'(q') (a(t) - q'),
#
# because for one q' each shell asks for max over lambda_t of cap lambda_t - Phi_t(lambda_t): the
# mass carried into its cap, at the lambda that is LR on the cap's edge. One scan over q' is global.

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
    """Return the factor by which more may be risked for a better law with n votes than with few."""
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
    """1 - a on each shell, a row for each curve that the votes leave possible, and their odds.

    The last two rows, FLAT_ROW and NEVER_WRONG_ROW, have no odds: they are the worst cases, which a
    law must do little harm to.
    """
    norms = base.sigma * shells_of(base).norms
    possible = special.ndtr(-profile.possible_scores_at(norms))
    missed = (profile.misses + 0.5) / (profile.votes + 1)
    missed += FLAT_DOUBT * np.sqrt(missed * (1 - missed) / (profile.votes + 1))
    others = np.outer((missed, 0.0), np.ones(len(norms)))
    return np.vstack([possible, others]), np.append(profile.odds, (0.0, 0.0))


def cost_of_votes(
    profile: Profile, base: GeneralizedGaussian, n: int, fewer: int, alpha: float
) -> float:
    """The mean loss of radius, over the curves that are possible, if `fewer` votes than n are taken
    under P."""
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


# ---- How many pilot votes to take before the law of an input is chosen
#
# A pilot costs votes. Where none misses the radius grows like the root of ln n, and a tenth of the
# votes costs 1.4, 0.9 or 0.6% of it (n = 1,000, 10,000 or 100,000; alpha = 0.001); where the class
# has little more than half of the votes, any share costs several times as much. It pays in
# proportion to what a tailored law can gain: about 1/m of the radius, 10% at m = 12 and next to
# nothing for a Gaussian; most where between one vote in five and one in a thousand misses, and
# nearly nothing outside of that. So the pilot goes by stages, each as long as all before it, and
# after each one weighs what the next would cost, which is known, against what a law could gain on
# the curves that the votes so far leave possible. A long pilot of many votes also shows where
# misses are: what a stage may cost grows with n. It ends with `PILOT_MISSES` at the latest, or at a
# share of all votes that falls with m, half as large where none of few votes missed.
# (`benchmarks/tailored.py`)

LEAST_PILOT_SHARE, MOST_PILOT_SHARE = 0.005, 0.1
PILOT_MISSES = 1000
STAGE_GROWTH = 2.0  # from stage to stage
# A stage is worth its cost if that is less than this part of what is within reach of a law, times
# n / MANY_VOTES beyond so many votes.
WORTH = 0.25
# Of so many votes and more, a pilot without a miss may be as long as any other.
PLENTY_OF_VOTES = 50_000
# Fewer pilot votes say nothing worth another law.
FEWEST_PILOT_VOTES = 25


@dataclass(frozen=True, slots=True)
class PilotStep:
    """What to do after the pilot votes so far: take `more` of them, or go on under `law`.

    `choice` says what the law promises; it is None while the pilot goes on, and where so few votes
    are allowed that no pilot pays.
    """

    more: int
    choice: Tailored | None

    @property
    def law(self) -> Weighted | None:
        """The law of all further votes once no more pilot votes are wanted; None is P itself."""
        return None if self.choice is None else self.choice.law


def pilot_step(
    base: GeneralizedGaussian, n: int, alpha: float, hits: ArrayLike, trials: ArrayLike
) -> PilotStep:
    """The next step after `hits[b]` of `trials[b]` pilot votes under P, in equal-mass radial bins.

    `n` counts all votes of the input, pilot included. Begin with zeros.
    """
    checked_budget(n, alpha)
    right, seen = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if right.ndim != 1 or right.shape != seen.shape or not len(right):
        raise InvalidInput(
            f"`hits` and `trials` must be two rows of one length, got {right.shape}, {seen.shape}"
        )
    votes, misses = round(float(seen.sum())), float(seen.sum() - right.sum())
    if votes >= n:
        raise InvalidInput(f"the pilot must leave votes for the bound, got {votes} of {n}")
    more = _further(base, n, votes, misses)
    if votes < FEWEST_PILOT_VOTES:
        return PilotStep(more, None)
    edges = base.radial_quantile(np.linspace(0, 1, len(right) + 1))
    profile = profile_of_bins(edges, right, seen, few=True)
    left = n - votes
    choice = tailored_law(profile, base, left, alpha, votes)
    if (
        more
        and cost_of_votes(profile, base, left, left - more, alpha)
        < WORTH * in_many_votes(n) * choice.within_reach
    ):
        return PilotStep(more, None)
    return PilotStep(0, choice)


def longest_pilot(base: GeneralizedGaussian, n: int, miss_rate: float) -> int:
    """The largest number of pilot votes for an input that misses at this rate under P."""
    votes = 0
    while more := _further(base, n, votes, votes * miss_rate):
        votes += more
    return votes


def _further(base: GeneralizedGaussian, n: int, votes: int, misses: float) -> int:
    """How many pilot votes the next stage has after so many with so many misses."""
    short = misses < 1 and n < PLENTY_OF_VOTES
    largest = 0.5 * MOST_PILOT_SHARE if short else MOST_PILOT_SHARE
    most = math.floor(n * min(max(1 / base.m, LEAST_PILOT_SHARE), largest))
    if most < FEWEST_PILOT_VOTES or votes >= most or misses >= PILOT_MISSES:
        return 0
    look = max(
        FEWEST_PILOT_VOTES, math.floor(LEAST_PILOT_SHARE * n), math.ceil(STAGE_GROWTH * votes)
    )
    return min(look, most) - votes

"""Accuracy against noise norm: a smooth curve through votes, a(norm).

a(norm) is the probability that the class is right under noise of this norm in a uniform direction
(docs/math.md 10). It belongs to the model and the input, not to a law. The curve is held as normal
scores z = Phi^-1(a) at points equally spaced in ln norm, with straight lines between them. A half
space at distance D has z close to D sqrt(d) / norm: scores change slowly where accuracies may not.

Nothing here has a part in the validity of a certificate: a poor curve costs radius, no more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.linalg import solve_triangular

from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian

Floats = NDArray[np.float64]

PROFILE_POINTS = 40
# Beyond these scores no number of votes that anyone takes tells accuracies apart.
LARGEST_SCORE = 6.0
# Candidates for the weight of the roughness. Weak pulls that votes overrule at once: scores to 0
# (votes that all agree would put them at infinity), and the mean slope to some steepness a unit of
# ln norm (a half space has slope -z; votes at nearly one norm say nothing of it).
SMOOTHINGS = 10.0 ** np.arange(-4.0, 4.1)
PULL, STEEPNESS = 1e-4, 5.0
STIFF = 6  # where few votes would make the curve bend with their noise: only weights from here on
# What image classifiers have shown of a where scores are a + b / norm, the score far outside: a
# class is seldom right there. Mean and standard deviation over the recorded models and the demo's.
FAR_SCORE, FAR_SPREAD = -0.8, 1.0
# Hits at norms this factor and more below every miss tell nothing that those nearer do not.
FAR_INSIDE = 4.0
# The curve must lie within this interval of the votes around each point.
SUPPORT_ALPHA = 1e-3
PROFILE_NEWTON_STEPS = 30
FARTHEST_SCORE = 1e4  # scores beyond it are treated alike in a step
FURTHEST = 30.0  # in ln norm
# Fixed draws in opposite pairs: what depends on votes alone can be repeated.
PROFILE_DRAWS = 16
_HALF = np.random.default_rng(0).standard_normal((PROFILE_POINTS, PROFILE_DRAWS // 2))
_NORMALS = np.hstack([np.zeros((PROFILE_POINTS, 1)), _HALF, -_HALF])


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A fitted curve: normal scores at the points of ln norm, and how many votes it rests on.

    Beyond the first and the last point it goes on as a + b / norm, up to the largest score.
    """

    log_norms: Floats
    scores: Floats
    doubts: Floats  # rows of deviations of the scores that the votes leave possible
    odds: Floats  # how likely each of them is, adding up to 1
    votes: int
    misses: int
    # ln of how much likelier the votes are under this curve than under the best flat one
    evidence: float = math.inf

    def scores_at(self, norm: ArrayLike) -> Floats:
        """Phi^-1 of the accuracy under noise of this norm."""
        return self._extended(norm, self.scores)

    def possible_scores_at(self, norm: ArrayLike) -> Floats:
        """`scores_at` for each of the curves that the votes leave possible: rows with `odds`."""
        return np.stack([self._extended(norm, self.scores + doubt) for doubt in self.doubts])

    def _extended(self, norm: ArrayLike, z: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            place = np.log(np.asarray(norm, dtype=np.float64))
        x = self.log_norms
        inside = np.clip(place, x[0], x[-1])
        found = np.interp(inside, x, z)
        first, last = (z[1] - z[0]) / (x[1] - x[0]), (z[-1] - z[-2]) / (x[-1] - x[-2])
        # a + b / norm beyond the ends; but inward no curve falls that votes did not see falling.
        away = np.clip(place - inside, -FURTHEST, FURTHEST)
        slope = np.where(away < 0, min(first, 0.0), last)
        found = found - slope * np.expm1(-away)
        return np.asarray(np.clip(found, -LARGEST_SCORE, LARGEST_SCORE))

    def __call__(self, norm: ArrayLike) -> Floats:
        """The accuracy under noise of this norm."""
        return np.asarray(special.ndtr(self.scores_at(norm)))


def profile_of_bins(
    edges: ArrayLike, hits: ArrayLike, trials: ArrayLike, *, few: bool = False
) -> Profile:
    """The curve through `hits[b]` of `trials[b]` votes with a norm from edges[b] to edges[b + 1].

    The first edge may be 0 and the last infinite. Votes of a bin count as if at its middle in
    ln norm; at an open end, as far from its edge as the neighbour's middle is. `few` is as in
    `fitted`.
    """
    ends = np.asarray(edges, dtype=np.float64)
    seen, right = np.asarray(trials, dtype=np.float64), np.asarray(hits, dtype=np.float64)
    if not (ends.ndim == 1 and len(ends) >= 2 and np.all(np.diff(ends) > 0) and ends[0] >= 0):
        raise InvalidInput(f"`edges` must be norms in rising order, got {edges!r}")
    if seen.shape != (len(ends) - 1,) or right.shape != seen.shape:
        raise InvalidInput(
            f"`hits` and `trials` must have one number for each of {len(ends) - 1} bins, "
            f"got shapes {right.shape} and {seen.shape}"
        )
    with np.errstate(divide="ignore"):
        logs = np.log(ends)
    if not np.any(np.isfinite(logs)):
        raise InvalidInput("at least one edge must be a positive finite norm")
    finite = logs[np.isfinite(logs)]
    steps = np.diff(finite) if len(finite) > 1 else np.zeros(1)
    if not np.isfinite(logs[0]):
        logs[0] = finite[0] - steps[0]
    if not np.isfinite(logs[-1]):
        logs[-1] = finite[-1] + steps[-1]
    return fitted(0.5 * (logs[1:] + logs[:-1]), right, seen, few=few)


def fitted(log_norms: Floats, hits: Floats, trials: Floats, *, few: bool = False) -> Profile:
    """The curve of largest marginal likelihood: binomial votes, scores near a + b / norm.

    Penalised likelihood with a probit link; the weight of the roughness is chosen from the data by
    the Laplace approximation of its marginal likelihood (empirical Bayes). No direction is
    assumed: accuracy may rise with the norm. What is smooth decides how accuracies go on towards 1
    where few votes miss, and with it radii at many votes: on an image classifier a + b / norm
    predicted certified radii to 1 or 2%, straight lines in ln norm were 3 to 10% too low.

    With `few` votes, whose norms hardly differ, the slope is not seen; the curve is then expected
    to fall as those of image classifiers do (`FAR_SCORE`). Some hundred votes overrule that.
    """
    if not np.all((hits >= 0) & (hits <= trials) & np.isfinite(trials)):
        raise InvalidInput("`hits` must be between 0 and `trials` in every bin")
    seen = trials > 0
    if not np.any(seen):
        raise InvalidInput("a profile needs at least one vote")
    places, right, wrong = log_norms[seen], hits[seen], (trials - hits)[seen]
    low, high = float(places.min()), float(places.max())
    if np.any(wrong > 0):
        low = max(low, float(places[wrong > 0].min()) - math.log(FAR_INSIDE))
        near = places >= low
        places, right, wrong = places[near], right[near], wrong[near]
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    points = np.linspace(low, high, PROFILE_POINTS)
    votes = _Votes(_design(points, places), right, wrong, FAR_SCORE if few else 0.0)
    smoothings = SMOOTHINGS[STIFF:] if few else SMOOTHINGS
    heights, penalty, root = _most_likely(votes, smoothings, *_penalties(low, high, few))
    # If C = R'R is the curvature, R^-1 times independent normals has the covariance C^-1. Where
    # all votes agree the posterior is far from normal: the odds make up for that.
    doubts = solve_triangular(root, _NORMALS).T
    gaussian = -0.5 * np.sum(_NORMALS**2, axis=0)
    exact = np.array([votes.log_posterior(penalty, heights + doubt) for doubt in doubts])
    odds = np.exp(exact - gaussian - np.max(exact - gaussian))
    supported = _supported(points, heights + votes.centre, places, right, right + wrong)
    mean = np.clip(supported, -LARGEST_SCORE, LARGEST_SCORE)
    total, missed = round(float(trials.sum())), round(float((trials - hits).sum()))
    evidence = max(votes.log_likelihood(mean) - votes.flat_log_likelihood(), 0.0)
    return Profile(points, mean, doubts, odds / odds.sum(), total, missed, evidence)


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """The data of a fit: design @ heights + centre is the score at each vote, and the mean of the
    heights is 0 before any vote."""

    design: Floats
    hits: Floats
    misses: Floats
    centre: float

    def log_likelihood(self, scores: Floats) -> float:
        """Of the votes, under scores at the points."""
        z = self.design @ scores
        return float(self.hits @ special.log_ndtr(z) + self.misses @ special.log_ndtr(-z))

    def flat_log_likelihood(self) -> float:
        """The largest that a constant accuracy gives the votes."""
        right, wrong = float(self.hits.sum()), float(self.misses.sum())
        return float(special.xlogy(right, right) + special.xlogy(wrong, wrong)) - float(
            special.xlogy(right + wrong, right + wrong)
        )

    def log_posterior(self, penalty: Floats, heights: Floats) -> float:
        """Up to a constant: the likelihood of the votes and the roughness."""
        likelihood = self.log_likelihood(heights + self.centre)
        return likelihood - 0.5 * float(heights @ penalty @ heights)


def _design(points: Floats, places: Floats) -> Floats:
    """The matrix that takes scores at `points` to scores at `places`, by straight lines."""
    low, high = points[0], points[-1]
    cell = np.minimum(
        ((places - low) / (high - low) * (PROFILE_POINTS - 1)).astype(int), PROFILE_POINTS - 2
    )
    share = (places - points[cell]) / (points[1] - points[0])
    design = np.zeros((len(places), PROFILE_POINTS))
    design[np.arange(len(places)), cell] = 1 - share
    design[np.arange(len(places)), cell + 1] = share
    return design


def _penalties(low: float, high: float, few: bool) -> tuple[Floats, Floats]:
    """Quadratic forms of the heights at points from `low` to `high`: roughness and weak pulls."""
    # z'' + z' is 0 for z = a + b / norm: constant accuracy, and that of a half space. Per unit of
    # ln norm, so that the weight means the same on every range.
    step = (high - low) / (PROFILE_POINTS - 1)
    first = np.diff(np.eye(PROFILE_POINTS), 1, axis=0) / step
    bends = (np.diff(first, 1, axis=0) / step + 0.5 * (first[1:] + first[:-1])) * step**0.5
    rise = np.zeros(PROFILE_POINTS)
    rise[[0, -1]] = np.array([-1.0, 1.0]) / (high - low)
    # The mean of z' + z, which is a for z = a + b / norm.
    pull = (rise + 1 / PROFILE_POINTS) / FAR_SPREAD if few else rise / STEEPNESS
    return bends.T @ bends, PULL * np.eye(PROFILE_POINTS) + np.outer(pull, pull)


def _most_likely(
    votes: _Votes, smoothings: Floats, roughness: Floats, pulls: Floats
) -> tuple[Floats, Floats, Floats]:
    """The heights under the most likely weight of the roughness, the penalty, and R of `_root`."""
    right, wrong = votes.hits.sum(), votes.misses.sum()
    overall = float(special.ndtri((right + 0.5) / (right + wrong + 1)))
    heights = np.full(PROFILE_POINTS, overall - votes.centre)
    best, chosen = -math.inf, (heights, smoothings[0] * roughness + pulls, roughness)
    # From the stiffest curve down, until two in a row are less likely than the best.
    worse = 0
    for smoothing in smoothings[::-1]:
        penalty = smoothing * roughness + pulls
        heights, value, root = _penalised(votes, penalty, heights)
        log_det = 2 * float(np.sum(np.log(np.diag(root))))
        # The roughness has PROFILE_POINTS - 2 positive eigenvalues; constants are left out.
        evidence = value + 0.5 * (PROFILE_POINTS - 2) * math.log(smoothing) - 0.5 * log_det
        worse = 0 if evidence > best else worse + 1
        if evidence > best:
            best, chosen = evidence, (heights, penalty, root)
        elif worse == 2:
            break
    return chosen


def _root(precision: Floats) -> Floats:
    """R with R'R = precision, which rounding may leave a little short of positive.

    On a narrow range of norms the roughness outweighs all else by more than double precision
    holds: a share of its largest entry on the diagonal makes up for that.
    """
    largest = float(np.max(np.diag(precision)))
    for share in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            lower = np.linalg.cholesky(precision + share * largest * np.eye(len(precision)))
            return np.asarray(lower.T)
        except np.linalg.LinAlgError:
            continue
    return np.asarray(math.sqrt(largest) * np.eye(len(precision)))


def _penalised(votes: _Votes, penalty: Floats, start: Floats) -> tuple[Floats, float, Floats]:
    """Newton's method on a concave function: the heights, its value and R, R'R its curvature."""
    design = votes.design
    heights, value = start, votes.log_posterior(penalty, start)
    root = _root(penalty)
    for _ in range(PROFILE_NEWTON_STEPS):
        # Ratios of the normal density to its two tails; farther out rounding would overflow.
        z = np.clip(design @ (heights + votes.centre), -FARTHEST_SCORE, FARTHEST_SCORE)
        log_density = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
        upper = np.exp(log_density - special.log_ndtr(z))
        lower = np.exp(log_density - special.log_ndtr(-z))
        gradient = design.T @ (votes.hits * upper - votes.misses * lower) - penalty @ heights
        weight = votes.hits * upper * (z + upper) + votes.misses * lower * (lower - z)
        root = _root(penalty + design.T @ (weight[:, None] * design))
        step = solve_triangular(root, solve_triangular(root, gradient, trans=1))
        gain = float(gradient @ step)
        if gain < 1e-4:
            break
        length = 1.0
        found = votes.log_posterior(penalty, heights + step)
        while not found >= value and length > 1e-4:  # also where a step overflows
            length *= 0.5
            found = votes.log_posterior(penalty, heights + length * step)
        if not found >= value:
            break
        heights, value = heights + length * step, found
    return heights, value, root


def _supported(
    points: Floats, scores: Floats, places: Floats, hits: Floats, trials: Floats
) -> Floats:
    """The curve, moved into the Clopper-Pearson interval of the votes around each point.

    Around is from the second point before to the second behind.
    """
    near = np.abs(places[None, :] - points[:, None]) <= 2 * (points[1] - points[0])
    right, seen = np.floor(near @ hits), np.ceil(near @ trials)
    lower, upper = clopper_pearson(right, seen, SUPPORT_ALPHA)
    return np.clip(scores, special.ndtri(lower), special.ndtri(upper))


# ---- What n votes are expected to prove: lower bounds at expected counts (docs/math.md 9)
#
# With x misses in n votes the Clopper-Pearson bound L has 1 - L = the upper alpha-quantile of
# Beta(x + 1, n - x). It makes sense for every real x: that curve is used where laws are compared
# and chosen. Predictions round the count of hits down and ask `dsrs.confidence`.

MISS_RATES = 48
LARGEST_MISS_RATE = 0.7
# Profiles tell no smaller rate from 0 (LARGEST_SCORE).
NO_MISSES = 1e-9


class BoundCurve(NamedTuple):
    """1 - q, 1 - L(q) and L'(q) at miss rates from 0 to `LARGEST_MISS_RATE`."""

    misses: Floats
    unproved: Floats
    slope: Floats


@functools.lru_cache(maxsize=256)
def bound_curve(n: int, alpha: float) -> BoundCurve:
    """The curve L(q) that n votes give at level alpha, at rates that grow geometrically."""
    rates = np.append(0.0, np.geomspace(0.1 / n, LARGEST_MISS_RATE, MISS_RATES - 1))
    step = np.maximum(1e-3 * rates, 1e-3 / n)
    slope = (unproved_at(rates + step, n, alpha) - unproved_at(rates, n, alpha)) / step
    return BoundCurve(rates, unproved_at(rates, n, alpha), slope)


def unproved_at(miss_rate: Floats, n: int, alpha: float) -> Floats:
    """1 - L where a share `miss_rate` of n votes misses."""
    misses = n * miss_rate
    return np.asarray(special.betainccinv(misses + 1, np.maximum(n - misses, 1e-9), alpha))


def expected_hits(miss_rate: Floats, n: int) -> Floats:
    """The expected number of hits among n votes, rounded down to a whole one."""
    misses = n * np.maximum(np.asarray(miss_rate) - NO_MISSES, 0.0)
    return np.asarray(np.maximum(n - np.ceil(misses - 1e-6), 0.0))


def expected_lower(probability: float, n: int, alpha: float) -> float:
    """The Clopper-Pearson bound at the expected count of hits, rounded down."""
    hits = expected_hits(np.array(1 - probability), n)
    return clopper_pearson_lower(int(hits), n, alpha)


def checked_budget(n: int, alpha: float) -> None:
    """Refuse what is no number of votes, or no failure probability."""
    if not (n >= 1 and n == int(n)):
        raise InvalidInput(f"`n` must be a number of votes, at least 1, got {n!r}")
    if not 0 < alpha < 1:
        raise InvalidInput(f"`alpha` must be in (0, 1), got {alpha!r}")


# ---- (sigma, P_con)-concentration, the assumption of the paper's Theorem 2, at inputs with votes
#
# A model has the property at an input if it is right for all Gaussian noise of scale sigma whose
# norm is within the P_con-quantile T. Votes can refute it, by a miss at a norm below T; they cannot
# prove it: an input counts where no vote below T missed.

CONCENTRATION_SHARES = (0.1, 0.5, 0.9, 0.99)  # the P_con that are asked for
# Theorem 2: with P_con = 1/2, k within 15 of d / 2 and Q truncated at T, for large d.
PROMISE = 0.02


@dataclass(frozen=True, slots=True)
class Concentration:
    """How many inputs have the property at one sigma, and what Theorem 2 promises for them.

    `holds` has the share of inputs for each P_con of CONCENTRATION_SHARES. `radius` is the
    promised radius of those that have it for P_con = 1/2.
    """

    sigma: float
    holds: tuple[float, ...]
    radius: float


def concentration(first_misses: Sequence[float], d: int, sigma: float) -> Concentration:
    """Which inputs have the property at this sigma.

    Args:
        first_misses: for each input a norm below which no vote missed.
        d: the dimension of the inputs.
        sigma: the scale of the Gaussian noise of the property.
    """
    quantiles = GeneralizedGaussian(d, sigma).radial_quantile(np.array(CONCENTRATION_SHARES))
    holds = np.mean(np.asarray(first_misses)[:, None] >= quantiles[None, :], axis=0)
    return Concentration(sigma, tuple(map(float, holds)), PROMISE * sigma * math.sqrt(d))

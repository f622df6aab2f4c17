"""The level at which sets are calibrated, so that they keep their coverage under every shift.

Let C be any set-valued function, and beta = Pr[y in C(x + e)] over noise e of the law P. For a
shift delta of length r at most, and for any l > 0,

    Pr[y in C(x + delta + e)] >= l beta - c(l),    c(l) = l - I(l),

I(l) the integral of min(l p(e), p(e - delta)) at length r: at every e the left side counts at least
l p(e) - max(l p(e) - p(e - delta), 0) where y is in the set. P falls with the norm, so I falls with
the length of the shift and serves all shorter ones.

The right side is affine in beta. So the mean over inputs, labels, calibration sets and the uniform
numbers of scores, on all of which delta may depend, keeps the form, with no convexity needed:

    coverage >= l E[beta] - c(l).

With E[beta] >= 1 - a' from calibration the coverage is 1 - a or more where

    1 - a' >= (1 - a + c(l)) / l,    that is    a' <= (I(l) - (1 - a)) / l.

Every l proves; the best one is searched, which may fail, and I(l) is then evaluated once, from
below. On a grid sampled noise differs from the law's in any event by v at most (docs/grid.md), once
in calibration and once in the answer: a' <= (I(l) - (1 - a) - v) / l - v.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import optimize, special

from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval, bound_at, constraints_of, problem_of

LARGEST_LOG = 400.0  # of a multiplier
LARGEST_RATIO = 1e100  # of radius and sigma, whose square is finite
SURE = Interval(1.0, 1.0)


@dataclass(frozen=True, slots=True)
class ShiftProof:
    """What every event keeps of its probability under shifts: l beta - c(l) (see the module).

    Args:
        radius: the longest shift (l2).
        multiplier: l.
        overlap: a lower bound of I(l) = l - c(l).
    """

    radius: float
    multiplier: float
    overlap: float


def shift_proof(
    law: GeneralizedGaussian, radius: float, coverage: float, variation: float = 0.0
) -> ShiftProof:
    """The proof whose multiplier asks for the lowest level of calibration.

    Args:
        law: the noise.
        radius: the longest shift (l2).
        coverage: 1 - a, of one set from one draw of noise.
        variation: how far sampled noise may be from the law's, in total variation.
    """
    if not (0 <= radius < math.inf):
        raise InvalidInput(f"`radius` must be a finite number of at least 0, got {radius!r}")
    if radius == 0:
        return ShiftProof(0.0, 1.0, 1.0)
    ratio = min(radius / law.sigma, LARGEST_RATIO)  # to guess a multiplier: any is sound
    z = float(special.ndtri(coverage)) + ratio
    log = min(max(ratio * z - ratio * ratio / 2, 0.0), LARGEST_LOG)  # the best one of the Gaussian
    if not law.is_gaussian:
        log = _searched(law, radius, coverage + variation, log)
    multiplier = math.exp(log)
    return ShiftProof(radius, multiplier, max(overlap(law, radius, multiplier), 0.0))


def _searched(law: GeneralizedGaussian, radius: float, target: float, guess: float) -> float:
    """About ln of the multiplier with the largest a'.

    I is concave in l, so (I - target) / l has one maximum. It is searched on both sides of the best
    multiplier of the Gaussian law, first in the logarithm and then near what was found.
    """

    def cost(log: float) -> float:
        multiplier = math.exp(log)
        return (target - overlap(law, radius, multiplier)) / multiplier

    low, high = 0.0, min(4 * guess + 8.0, LARGEST_LOG)
    found = optimize.minimize_scalar(
        cost, bounds=(low, high), method="bounded", options={"xatol": 1e-5}
    )
    return float(min((float(found.x), guess), key=cost))


def overlap(law: GeneralizedGaussian, radius: float, multiplier: float) -> float:
    """A lower bound of I(l), by the evaluation that certificates are issued with."""
    problem = problem_of(law, constraints_of(law, SURE, ()))
    with np.errstate(all="ignore"):  # overflow and 0 * inf are part of the computation
        found = bound_at(law, problem, np.array([multiplier]), radius)
    return -math.inf if math.isnan(found) else min(found, 1.0)  # it proves nothing


def level_of(proof: ShiftProof, coverage: Fraction, variation: float = 0.0) -> float:
    """The level of calibration 1 - a', rounded up; 1 where this proof leaves nothing.

    Args:
        proof: what events keep under shifts.
        coverage: 1 - a, of one set from one draw of noise.
        variation: how far sampled noise may be from the law's, in total variation.
    """
    stray = Fraction(variation)
    left = Fraction(proof.overlap) - coverage - stray
    level = 1 - left / Fraction(proof.multiplier) + stray
    return rounded_up(min(max(level, Fraction(0)), Fraction(1)))


def coverage_of_one(coverage: float, draws: int) -> Fraction:
    """What each of `draws` sets must cover, so that most of them hold the class with `coverage`.

    Let each set miss the class with probability a/2 at most, so that m sets are expected to miss it
    m a/2 times at most. The class is not in more than half of them only if m/2 or more miss it,
    which has probability a at most (Markov). The sets need not be independent, so that all of them
    may be moved by one shift. A single set has all of a.
    """
    whole = Fraction(coverage)
    return whole if draws == 1 else (1 + whole) / 2


def rounded_up(value: Fraction) -> float:
    """The least float that is not below a number."""
    found = float(value)
    return found if Fraction(found) >= value else math.nextafter(found, math.inf)


@functools.lru_cache(maxsize=4096)
def calibration_level(
    law: GeneralizedGaussian, radius: float, coverage: float, draws: int, variation: float
) -> tuple[ShiftProof, float]:
    """The proof and the level of sets that cover with `coverage` by the majority of `draws`."""
    one = coverage_of_one(coverage, draws)
    proof = shift_proof(law, radius, float(one), variation)
    return proof, level_of(proof, one, variation)


# ---- Which of the sorted calibration scores is the threshold
#
# n inputs with M draws of noise each give n M scores; s_i(t) is the share of input i's scores that
# are t or less. The threshold is the score of rank K among all, infinite if K > n M.
#
# **On average** (`rank_on_average`). K = ceil(M (n + 1)(1 - a')), so the threshold is the least t
# with sum_i s_i(t) >= (n + 1)(1 - a'). Proof: give the test input, clean, M draws as well, and let
# t* be the least t for which the sum over all n + 1 inputs reaches (n + 1)(1 - a'). It is the same
# whatever the order of the inputs, which are exchangeable, so the test input has E s(t*) >= 1 - a'.
# The threshold reaches the sum with n inputs, so it is t* or more, and E s(threshold) >= 1 - a'.
# Since the threshold depends on calibration alone, E s(threshold) is the probability that one more
# draw of the test input has a score up to it. Ties add classes and break nothing.
#
# **With confidence 1 - eta** (`rank_with_confidence`). Inputs are independent and alike here, which
# is more than exchangeable. Let F be the distribution function of one clean score and q the least
# number with F(q) >= 1 - a'. The threshold is below q only if sum_i s_i(q-) >= K / M, where the
# s_i(q-) are independent, in [0, 1], with mean F(q-) <= 1 - a'. With M = 1 they are 0 or 1, and
# Pr[Bin(n, 1 - a') >= K] <= eta is enough, which is exact. With M > 1 Hoeffding (1963, Theorem 1)
# bounds it by exp(-n KL(K / (n M), 1 - a')). Otherwise F(threshold) >= 1 - a', and given this
# calibration set a clean set covers with 1 - a' or more.

LOGARITHM_LOSS = 1e-9  # relative: what the logarithms of the exponent may lose


def rank_for(level: float, inputs: int, draws: int, confidence: float | None) -> int:
    """The least rank for clean coverage `level`: on average, or with `confidence`."""
    if confidence is None:
        return rank_on_average(level, inputs, draws)
    return rank_with_confidence(level, inputs, draws, confidence)


def rank_on_average(level: float, inputs: int, draws: int) -> int:
    """The least rank for clean coverage `level` on average over calibration sets."""
    return math.ceil(draws * (inputs + 1) * Fraction(level))


def rank_with_confidence(level: float, inputs: int, draws: int, confidence: float) -> int:
    """The least rank for clean coverage `level` given the calibration set, with `confidence`."""
    if not 0 < confidence < 1:
        raise InvalidInput(f"`confidence` must be in (0, 1), got {confidence!r}")
    eta = float(1 - Fraction(confidence))
    if Fraction(eta) > 1 - Fraction(confidence):
        eta = math.nextafter(eta, 0.0)
    least, most = 0, inputs * draws + 1  # the last rank has an infinite threshold, and always holds
    while least < most:
        rank = (least + most) // 2
        if rank <= inputs * draws and not _holds(rank, level, inputs, draws, eta):
            least = rank + 1
        else:
            most = rank
    return least


def _holds(rank: int, level: float, inputs: int, draws: int, eta: float) -> bool:
    if draws == 1:
        return bool(clopper_pearson_lower(rank, inputs, eta) >= level)
    share = rank / (inputs * draws)
    if share <= level:
        return False
    exponent = share * math.log(share / level)
    if share < 1:
        exponent += (1 - share) * math.log((1 - share) / (1 - level))
    return inputs * exponent * (1 - LOGARITHM_LOSS) >= -math.log(eta)


def fewest_inputs(level: float) -> int | None:
    """How many calibration inputs a finite threshold takes, on average; None: no number does."""
    if level >= 1:
        return None
    exact = Fraction(level)
    return math.ceil(exact / (1 - exact))

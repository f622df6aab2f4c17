"""Which of the sorted calibration scores is the threshold.

n inputs with M draws of noise each give n M scores; s_i(t) is the share of input i's scores that
are t or less. The threshold is the score of rank K among all, infinite if K > n M.

**On average** (`rank_on_average`). K = ceil(M (n + 1)(1 - a')), so the threshold is the least t
with sum_i s_i(t) >= (n + 1)(1 - a'). Proof: give the test input, clean, M draws as well, and let t*
be the least t for which the sum over all n + 1 inputs reaches (n + 1)(1 - a'). It is the same
whatever the order of the inputs, which are exchangeable, so the test input has E s(t*) >= 1 - a'.
The threshold reaches the sum with n inputs, so it is t* or more, and E s(threshold) >= 1 - a'.
Since the threshold depends on calibration alone, E s(threshold) is the probability that one more
draw of the test input has a score up to it. Ties add classes and break nothing.

**With confidence 1 - eta** (`rank_with_confidence`). Inputs are independent and alike here, which
is more than exchangeable. Let F be the distribution function of one clean score and q the least
number with F(q) >= 1 - a'. The threshold is below q only if sum_i s_i(q-) >= K / M, where the
s_i(q-) are independent, in [0, 1], with mean F(q-) <= 1 - a'. With M = 1 they are 0 or 1, and
Pr[Bin(n, 1 - a') >= K] <= eta is enough, which is exact. With M > 1 Hoeffding (1963, Theorem 1)
bounds it by exp(-n KL(K / (n M), 1 - a')). Otherwise F(threshold) >= 1 - a', and given this
calibration set a clean set covers with 1 - a' or more.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput

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

"""What the fall-back of the DSRS scripts recorded, and what its votes say.

With the rules `x+` and `x2+` the scripts took no votes under Q for an input whose first N votes
under P were (nearly) all right. They took N more under P, and logged the two-sided interval of all
2 N votes at twice the alpha, in the place of the interval under Q. "Nearly" is that the upper end
of the first interval is at least 1 - 1e-8 (`x+`) or 1 - 1e-9 (`x2+`): at N = 50,000 and alpha =
0.0005 one miss is still below the first threshold. The scripts then counted N of N for the first
votes whatever they were, so a miss was forgotten.

The number of forgotten misses follows from the log of P, and the number of right votes from the
logged interval, so the interval of the votes that were taken can be computed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from dsrs.confidence import clopper_pearson
from dsrs.exchange.log_names import LogHeader
from dsrs.proofs.interval import Interval

# How far below 1 the upper end of P's first interval may be for a rule to fall back.
THRESHOLDS = {"x+": 1e-8, "x2+": 1e-9}
# The logs have 16 digits, and SciPy's quantiles 12: two counts differ in the third digit of 1 - p.
SAME = 1e-6

FORGOTTEN = "fall-back: the record forgot a miss of the first votes, which is counted here"
PERHAPS_FORGOTTEN = "fall-back: the first votes were not kept, and a miss among them is assumed"
NEITHER = "the logged interval is neither of Q nor of a fall-back, so P alone is used"


def fallback_interval(
    first: Sequence[Interval], logged: Interval, q: LogHeader
) -> tuple[Interval | None, str | None]:
    """Return the interval of P_A from all votes of a row that fell back, and a note on it.

    (None, None) where `logged` is an interval under Q, and (None, why) where it is no interval of
    either kind.

    Args:
        first: The intervals of the first votes that the log of P has for the input, any of which
            may be the one that the scripts had before them.
        logged: What the log of Q has for the input.
        q: What the log of Q says of itself.
    """
    threshold = THRESHOLDS.get(q.rule or "")
    if threshold is None:
        return None, None
    if all(interval.upper == 1 for interval in first):
        return logged, None
    # More than n votes under Q could ever prove: the log of P was written anew after that of Q.
    beyond_q = logged.lower > math.pow(q.alpha / 2, 1 / q.n) * (1 + 1e-12)
    fires = [interval.upper >= 1 - threshold for interval in first]
    count = _successes(logged, 2 * q.n, 2 * q.alpha) if beyond_q or any(fires) else None
    if count is None:
        return None, NEITHER if beyond_q else None
    fewer = _interval(count - 1, 2 * q.n, 2 * q.alpha)
    if all(fires) and all(interval.upper < 1 for interval in first):
        return fewer, FORGOTTEN
    return Interval(fewer.lower, logged.upper), PERHAPS_FORGOTTEN


@lru_cache(maxsize=256)
def _successes(interval: Interval, n: int, alpha: float) -> int | None:
    """Return how many successes of n, at least half, give this interval; None if none do."""

    def reaches(successes: int) -> bool:
        lower = _interval(successes, n, alpha).lower
        return lower >= interval.lower or _resemble(lower, interval.lower)

    # The lower end grows with the successes.
    least = n // 2 + bisect_left(range(n // 2, n), True, key=reaches)
    known = _interval(least, n, alpha)
    same = _resemble(known.lower, interval.lower) and _resemble(known.upper, interval.upper)
    return least if same else None


@lru_cache(maxsize=256)
def _interval(successes: int, n: int, alpha: float) -> Interval:
    ends = clopper_pearson(successes, n, alpha)
    return Interval(float(ends.lower), float(ends.upper))


def _resemble(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * (1 - other)

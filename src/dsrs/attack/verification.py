"""Fresh votes at a found point: what they prove, and why alpha holds.

A search may look at any number of votes and choose its points by any rule: whatever it chose is
fixed before the votes of a verification begin, and these come from a stream of noise of their own.

At one point, with the share a of alpha (Clopper and Pearson throughout):
- H1, "the target has a majority": rejected if the upper bound of P_A at level a is below 1/2.
- H2, "the target is not behind the rival b" (b was chosen before): given that N of the votes were
  for one of the two, those for b are Binomial(N, q) with q = P_b / (P_A + P_b); rejected if the
  lower bound of q at level a is above 1/2.
For the claim of a majority H2 is tested only after H1 was rejected. Then both have the whole of a:
if H1 is true, nothing wrong is said unless it is rejected, which has probability at most a; if it
is false, only the rejection of H2 can be wrong, with probability at most a too. For the claim of a
lead H2 is tested alone, because a class may lead without a majority.

The j-th point has the j-th share of alpha in POINT_ALPHA_SHARES, which add up to one; there are
no more points than shares. An attack within a given distance verifies one point, with the whole of
alpha. Given all that came before, the proof at the j-th point is wrong with probability at most its
share, so some proof of the input is wrong with probability at most alpha, however the points were
chosen and wherever the search stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from dsrs.confidence import AlphaBudget, clopper_pearson_lower, clopper_pearson_upper
from dsrs.proofs import Claim, Shown

FEWEST_PROOF_VOTES = 2000  # votes that can show another class ahead where noise is not ideal
POINT_ALPHA_SHARES = (0.1, 0.7, 0.15, 0.05)  # the second point is meant to be the nearest


class Shares:
    """The shares of alpha of one input, in the order in which points are verified."""

    def __init__(self, alpha: float, shares: Sequence[float] = POINT_ALPHA_SHARES) -> None:
        self._budget = AlphaBudget(alpha)
        self._left = [share * alpha for share in shares]

    @property
    def next(self) -> float:
        """Return the share of alpha for the next point; 0 when no further point is allowed."""
        return self._left[0] if self._left else 0.0

    def spend(self, purpose: str) -> float:
        """Spend the share of alpha of the next point."""
        return self._budget.spend(self._left.pop(0), purpose)


def proved(
    counts: Sequence[int], target: int, rival: int, claim: Claim, alpha: float, slack: float = 0.0
) -> Shown:
    """What these votes prove of the point that they were taken at.

    `slack` is how much any sampled probability may differ from that of the ideal noise. Under H2
    the sampled q is then at most 1/2 + slack / (P_A + P_b). Where an eighth of the votes or more
    are for one of the two, that sum is at least 1/16: else Pr[N >= n/8] <= exp(-0.026 n), which is
    below 1e-22 from FEWEST_PROOF_VOTES votes on.
    """
    hits, others, total = counts[target], counts[rival], sum(counts)
    if claim == "majority" and not clopper_pearson_upper(hits, total, alpha) + slack < 0.5:
        return "nothing"
    either = hits + others
    usable = either > 0 if slack == 0 else total >= FEWEST_PROOF_VOTES and 8 * either >= total
    if usable and clopper_pearson_lower(others, either, alpha) > 0.5 + 16 * slack:
        return "answer changed"
    return "majority lost" if claim == "majority" else "nothing"

"""The intervals of double sampling, their parts of alpha, and that of the fall-back to P."""

from __future__ import annotations

import math

from dsrs.confidence import EPSILON, AlphaBudget, log_upper_tail
from dsrs.errors import InvalidInput


def double_sampling_alphas(alpha: float, alpha_share: float) -> tuple[float, float]:
    """The parts of alpha for P's interval and for Q's interval.

    X of n1 votes under P hit; the law Q = Q(X) may be chosen from them (the truncation heuristic
    does); then Z of n2 fresh votes under Q hit. Let a1 + a2 = alpha.
    - Pr[P_A not in I1(X)] <= a1 by Clopper and Pearson, two-sided.
    - Given X, the law Q(X) and its Q_A are fixed and Z is Binomial(n2, Q_A), because the votes
      under Q are independent of those under P. So Pr[Q_A not in I2(Z) | X] <= a2 for every X, and
      the mean over X is at most a2 too.
    Together the certificate is wrong with probability at most a1 + a2 = alpha. Choosing Q from Q's
    own votes would break the second step.
    """
    budget = AlphaBudget(alpha)
    p_alpha = budget.spend(alpha * alpha_share, "P_A, two-sided")
    return p_alpha, budget.spend(budget.remaining, "Q_A, two-sided")


def staged_lower(first: int, successes: int, trials: int, alpha: float) -> float:
    """The lower bound of the paper's fall-back: after `first` of `first` hits, go on under P.

    Branch F (X = n1): Y of n2 further votes under P hit, and the certificate is Neyman-Pearson.
    Branch D (X < n1): double sampling with [L(X), U(X)] for P_A (p_alpha / 2 a side) and Q's
    interval (q_alpha). The paper lets each branch spend alpha, which bounds the sum by 2 alpha.

    Here the lower bounds of both branches are ONE lower confidence bound. Order the outcomes by how
    much they speak for a large P_A:
        (X=0) < (X=1) < ... < (X=n1-1) < (F, Y=0) < (F, Y=1) < ... < (F, Y=n2).
    The probability to end at an outcome or above it grows with p: it is Pr[Bin(n1,p) >= x] in
    branch D and p^n1 Pr[Bin(n2,p) >= y] in branch F. Inverting it at level a = p_alpha / 2, as
    Clopper and Pearson do with the binomial order, gives a lower bound L with Pr[P_A < L] <= a over
    both branches together; a is `alpha` here. In branch D it is exactly the usual L(X): double
    sampling pays nothing for the fall-back. In branch F it is the p with

        p^n1 Pr[Bin(n2, p) >= y] = a,

    which this function returns; it is never below the usual bound at level a from n1 + y of
    n1 + n2 hits, because {X = n1, Y >= y} is part of {X + Y >= n1 + y}.
    The failure is then inside {P_A < L} or {D and P_A > U(X)} or {D and Q_A outside}, so its
    probability is at most p_alpha/2 + p_alpha/2 + q_alpha = alpha. Nothing much is left to gain:
    for P_A near the bound of branch F, branch D is almost sure, and its other two events can use
    up their shares.
    """
    if not (first >= 1 and 0 <= successes <= trials):
        raise InvalidInput(
            f"a fall-back needs votes before it and counts in order, "
            f"got first={first}, successes={successes}, trials={trials}"
        )
    level = math.log(alpha)
    # The bound is 1 - s: s keeps its digits where p is close to 1, and s is rounded up.
    inside, outside = 0.0, 1.0
    while math.nextafter(inside, 1.0) < outside and outside - inside > 1e-14 * outside:
        s = math.sqrt(inside * outside) if inside > 0 else outside / 16
        if _log_stagewise_tail(first, successes, trials, s) <= level:
            outside = s
        else:
            inside = s
    return max(0.0, math.nextafter(1 - outside, 0.0))


def _log_stagewise_tail(first: int, successes: int, trials: int, miss: float) -> float:
    """ln(p^n1 Pr[Bin(n2, p) >= y]) for p = 1 - miss, rounded up by its proved error."""
    all_first = first * math.log1p(-miss) if miss < 1 else -math.inf
    all_first *= 1 - 4 * EPSILON
    if successes == 0 or miss == 1:
        return all_first
    tail, _, error = log_upper_tail(successes, trials - successes, 1 - miss, miss)
    return all_first + min(0.0, tail + error)

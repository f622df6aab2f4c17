"""The alpha accounting, by adding up the exact probability of every outcome that fails."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.methods import double_sampling_alphas, hopeless, numbers_of_looks, staged_lower
from dsrs.proofs import Interval

ALPHA = 0.2
# Failure probabilities jump where p crosses a bound, so the grid is fine and reaches the ends.
GRID = np.unique(np.concatenate([np.linspace(0.005, 0.995, 199), 1 - np.geomspace(1e-4, 0.2, 120)]))


def interval_of(successes: int, trials: int, alpha: float) -> Interval:
    return Interval(*clopper_pearson(successes, trials, alpha))


def masses(n: int, p: float) -> np.ndarray:
    return np.asarray(stats.binom.pmf(np.arange(n + 1), n, p))


def test_neyman_pearson_fails_at_most_alpha_often() -> None:
    n = 40
    lowers = np.array([clopper_pearson_lower(x, n, ALPHA) for x in range(n + 1)])
    failures = [masses(n, p)[lowers > p].sum() for p in GRID]
    assert max(failures) <= ALPHA + 1e-12
    assert max(failures) > 0.8 * ALPHA


def double_sampling_failure(p: float, q_of_x: np.ndarray, n1: int, n2: int) -> float:
    """Pr[FAIL] of double sampling when Q, hence Q_A, is chosen from the first votes."""
    p_alpha, q_alpha = double_sampling_alphas(ALPHA, 0.5)
    first = [interval_of(x, n1, p_alpha) for x in range(n1 + 1)]
    second = [interval_of(z, n2, q_alpha) for z in range(n2 + 1)]
    total = 0.0
    for x, mass in enumerate(masses(n1, p)):
        misses_p = not first[x].lower <= p <= first[x].upper
        q = q_of_x[x]
        misses_q = sum(
            weight
            for z, weight in enumerate(masses(n2, q))
            if not second[z].lower <= q <= second[z].upper
        )
        total += mass * (1.0 if misses_p else misses_q)
    return total


def test_double_sampling_fails_at_most_alpha_often_whatever_rule_chooses_q() -> None:
    n1, n2 = 25, 25
    _, q_alpha = double_sampling_alphas(ALPHA, 0.5)
    second = [interval_of(z, n2, q_alpha) for z in range(n2 + 1)]

    def misses(q: float) -> float:
        outside = [not interval.lower <= q <= interval.upper for interval in second]
        return float(masses(n2, q)[np.array(outside)].sum())

    # The most hostile rule: after each x it takes the law whose Q_A the interval misses most often.
    hostile = max(GRID[::4], key=misses)
    for p in GRID[::6]:
        assert double_sampling_failure(p, np.full(n1 + 1, hostile), n1, n2) <= ALPHA


def test_alpha_is_split_without_excess() -> None:
    for alpha in (0.001, 0.1, 1e-9):
        for share in (0.5, 0.1, 1 / 3):
            p_alpha, q_alpha = double_sampling_alphas(alpha, share)
            assert p_alpha == pytest.approx(alpha * share)
            assert p_alpha + q_alpha <= alpha


@pytest.mark.parametrize(("n1", "n2"), [(10, 10), (30, 30), (20, 60), (60, 5)])
def test_the_fallback_fails_at_most_alpha_often(n1: int, n2: int) -> None:
    p_alpha, q_alpha = double_sampling_alphas(ALPHA, 0.5)
    branch_d = [interval_of(x, n1, p_alpha) for x in range(n1)]
    branch_f = np.array([staged_lower(n1, y, n2, p_alpha / 2) for y in range(n2 + 1)])
    worst, lower_alone = 0.0, 0.0
    for p in GRID:
        first = masses(n1, p)
        lower_fails = sum(first[x] for x in range(n1) if p < branch_d[x].lower)
        upper_fails = sum(first[x] for x in range(n1) if p > branch_d[x].upper)
        lower_fails += first[n1] * masses(n2, p)[branch_f > p].sum()
        # Q's interval fails with its whole share wherever branch D is taken.
        q_fails = (1 - first[n1]) * q_alpha
        worst = max(worst, lower_fails + upper_fails + q_fails)
        lower_alone = max(lower_alone, lower_fails)
    assert worst <= ALPHA + 1e-12
    assert lower_alone <= p_alpha / 2 + 1e-12
    # Sharp: the one lower bound of both branches uses what it was given.
    assert lower_alone > 0.8 * p_alpha / 2


def test_spending_alpha_in_both_branches_would_fail_more_often() -> None:
    # The paper's argument: Neyman-Pearson at alpha in one branch, double sampling at alpha in the
    # other. With a Q whose interval uses its share, some P_A fails more often than alpha.
    n1, n2 = 10, 10
    p_alpha, q_alpha = double_sampling_alphas(ALPHA, 0.5)
    branch_d = [interval_of(x, n1, p_alpha) for x in range(n1)]
    naive = np.array([clopper_pearson_lower(n1 + y, n1 + n2, ALPHA) for y in range(n2 + 1)])
    worst = 0.0
    for p in GRID:
        first = masses(n1, p)
        inside = [x for x in range(n1) if branch_d[x].lower <= p <= branch_d[x].upper]
        d_fails = (1 - first[n1]) - (1 - q_alpha) * first[inside].sum()
        worst = max(worst, d_fails + first[n1] * masses(n2, p)[naive > p].sum())
    assert worst > 1.05 * ALPHA


@settings(deadline=None, max_examples=60)
@given(
    first=st.integers(1, 3000),
    trials=st.integers(0, 3000),
    missed=st.integers(0, 100),
    exponent=st.floats(-12, -0.5),
)
def test_the_fallback_bound_solves_its_equation(
    first: int, trials: int, missed: int, exponent: float
) -> None:
    hits = max(0, trials - missed)
    alpha = 10**exponent
    lower = staged_lower(first, hits, trials, alpha)
    # The bound is kept as 1 - p, hence absolute precision.
    assert lower >= clopper_pearson_lower(first + hits, first + trials, alpha) - 1e-13
    if lower < 0.5:
        return
    with mpmath.workdps(40):
        p = mpmath.mpf(lower)
        tail = mpmath.fsum(
            mpmath.binomial(trials, z) * p**z * (1 - p) ** (trials - z)
            for z in range(hits, trials + 1)
        )
        exact = p**first * tail
        assert exact <= alpha
        # What is lost to the proved error of a tail close to 1, where that bound is loose.
        assert exact > alpha * (1 - 1e-6)


def test_all_votes_right_cost_the_fallback_nothing() -> None:
    # p^n = alpha in both, to the last digits.
    assert staged_lower(500, 500, 500, 0.001) == pytest.approx(
        clopper_pearson_lower(1000, 1000, 0.001), rel=1e-12
    )


def test_the_fallback_refuses_impossible_counts() -> None:
    with pytest.raises(InvalidInput, match="fall-back"):
        staged_lower(0, 1, 1, 0.1)
    with pytest.raises(InvalidInput, match="fall-back"):
        staged_lower(5, 3, 2, 0.1)


def test_only_a_class_without_majority_is_hopeless() -> None:
    assert hopeless(300, 1024)
    assert not hopeless(500, 1024)
    assert not hopeless(1024, 1024)
    assert not hopeless(0, 0)
    # A class with P_A = 0.55 is given up at its first look less often than FUTILITY says.
    threshold = max(x for x in range(1025) if hopeless(x, 1024))
    assert stats.binom.cdf(threshold, 1024, 0.5) <= 1e-3


def test_looks_double_and_end_with_all_votes() -> None:
    assert numbers_of_looks(1000) == [1000]
    assert numbers_of_looks(5000) == [1024, 2048, 4096, 5000]
    assert numbers_of_looks(4096) == [1024, 2048, 4096]

"""Which calibration score is the threshold."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scipy import stats

from dsrs.conformal import (
    fewest_inputs,
    rank_for,
    rank_on_average,
    rank_with_confidence,
    threshold_of,
)
from dsrs.errors import InvalidInput


@pytest.mark.parametrize("level", [0.9, 0.9626, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("inputs", [1, 9, 99, 1000])
def test_the_rank_is_the_least_that_reaches_the_level(level: float, inputs: int) -> None:
    rank = rank_on_average(level, inputs, 1)
    assert Fraction(rank, inputs + 1) >= Fraction(level) > Fraction(rank - 1, inputs + 1)


def test_draws_count_their_share() -> None:
    assert rank_on_average(0.9, 99, 10) == 901  # 0.9 is a little more than 9/10 in binary
    assert rank_on_average(0.5, 99, 10) == 500


@pytest.mark.parametrize(("level", "inputs", "confidence"), [(0.9626, 1000, 0.95), (0.9, 50, 0.9)])
def test_confidence_is_that_of_the_beta_law(level: float, inputs: int, confidence: float) -> None:
    rank = rank_with_confidence(level, inputs, 1, confidence)
    below = [stats.beta.cdf(level, k, inputs + 1 - k) for k in (rank, rank - 1)]
    assert below[0] <= 1 - confidence < below[1]


def test_confidence_with_draws_is_that_of_hoeffding() -> None:
    rank = rank_with_confidence(0.95, 400, 8, 0.95)
    share = rank / 3200
    assert 0.95 < share < 1
    # As for 0 and 1 the exact rank is lower: the price of shares between them.
    assert 8 * rank_with_confidence(0.95, 400, 1, 0.95) <= rank
    assert rank >= rank_on_average(0.95, 400, 8)


def test_too_few_inputs_leave_an_infinite_threshold() -> None:
    assert threshold_of((0.1, 0.2), rank_for(0.9, 2, 1, None)) == float("inf")
    assert rank_for(0.9, 20, 1, 0.95) == 21  # 0.9^20 > 0.05
    assert rank_for(0.9, 29, 1, 0.95) == 29  # 0.9^29 < 0.05
    assert fewest_inputs(0.9) == 10  # 0.9 is a little more than 9/10 in binary
    assert rank_on_average(0.9, 10, 1) == 10
    assert fewest_inputs(1.0) is None


def test_the_threshold_is_the_score_of_its_rank() -> None:
    scores = (0.3, 0.1, 0.2, 0.2)
    assert [threshold_of(scores, rank) for rank in range(1, 5)] == [0.1, 0.2, 0.2, 0.3]
    assert threshold_of(scores, 0) == -float("inf")


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        rank_with_confidence(0.9, 10, 1, confidence)

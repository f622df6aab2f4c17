"""The lower bound of the mean of a variable that is never negative."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dsrs.confidence import BETS, nonnegative_mean_lower
from dsrs.errors import InvalidInput


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_it_exceeds_the_mean_with_probability_alpha_at_most(alpha: float, size: int) -> None:
    """Exactly, over all draws of laws on three points; a rare large value is the hardest."""
    for values, masses in (
        ((0.0, 0.1, 100.0), (0.5, 0.49, 0.01)),
        ((0.0, 1.0, 2.0), (0.2, 0.6, 0.2)),
        ((0.9, 1.0, 1.1), (0.3, 0.4, 0.3)),
    ):
        mean = float(np.dot(values, masses))
        # The order of the draws does not matter: each set of them counts as often as it comes.
        failure = sum(
            math.prod(masses[i] for i in draw) * _orders(draw)
            for draw in itertools.combinations_with_replacement(range(3), size)
            if nonnegative_mean_lower([values[i] for i in draw], alpha) > mean
        )
        assert failure <= alpha


def _orders(draw: tuple[int, ...]) -> int:
    return math.factorial(len(draw)) // math.prod(math.factorial(draw.count(i)) for i in set(draw))


def test_its_failures_are_at_most_alpha_for_many_draws() -> None:
    """Radii as runs have them: many zeros, the rest around 0.7."""
    generator, wrong, rounds = np.random.default_rng(5), 0, 200
    for _ in range(rounds):
        draws = generator.uniform(0.2, 1.2, 80) * (generator.random(80) < 0.6)
        wrong += nonnegative_mean_lower(draws, 0.1) > 0.42
    assert wrong / rounds <= 0.1
    draws = generator.uniform(0.2, 1.2, 5000) * (generator.random(5000) < 0.6)
    assert nonnegative_mean_lower(draws, 0.05) > 0.39  # and it is of use


def test_one_draw_and_the_largest_bet_give_markovs_inequality() -> None:
    # The average over the bets of 1 - c + c x / m reaches 1 / alpha where it is linear in x / m.
    bet = float(BETS.mean())
    expected = 3.0 / (1 + (1 / 0.05 - 1) / bet)
    assert nonnegative_mean_lower([3.0], 0.05) == pytest.approx(expected, rel=1e-6)


def test_it_scales_and_does_not_see_the_order() -> None:
    draws = np.random.default_rng(1).exponential(1.0, 30)
    found = nonnegative_mean_lower(draws, 0.05)
    assert nonnegative_mean_lower(draws[::-1], 0.05) == pytest.approx(found, rel=1e-12)
    assert nonnegative_mean_lower(8 * draws, 0.05) == pytest.approx(8 * found, rel=1e-12)
    assert nonnegative_mean_lower(draws, 0.01) < found < draws.mean()
    assert nonnegative_mean_lower(np.zeros(5), 0.05) == 0


def test_bad_values_are_refused() -> None:
    for values, alpha, message in (
        ([], 0.05, "at least one"),
        ([-1.0], 0.05, "not negative"),
        ([math.nan], 0.05, "finite"),
        ([1.0], 1.0, "alpha"),
    ):
        with pytest.raises(InvalidInput, match=message):
            nonnegative_mean_lower(values, alpha)

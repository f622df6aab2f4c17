"""When the pilot ends, and that the whole scheme keeps its promises."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.landscape import PilotStep, pilot_step
from dsrs.landscape.pilot import ENOUGH_MISSES, FEWEST_VOTES, MOST_SHARE, expected_pilot_votes
from dsrs.laws import GeneralizedGaussian
from landscape.known_profiles import Accuracy, half_space, pilot_votes

N, ALPHA = 100_000, 0.001
WIDE = GeneralizedGaussian(784, 1.0, 380)
GAUSSIAN = GeneralizedGaussian(784, 1.0)


def run(
    base: GeneralizedGaussian, n: int, accuracy: Accuracy, seed: int = 0
) -> tuple[PilotStep, list[int], int]:
    """The last step, the number of votes at each look, and the misses among all of them."""
    generator, hits, trials = np.random.default_rng(seed), np.zeros(64), np.zeros(64)
    looks = []
    while (step := pilot_step(base, n, ALPHA, hits, trials)).more:
        more_hits, more_trials = pilot_votes(accuracy, base, step.more, generator)
        hits, trials = hits + more_hits, trials + more_trials
        looks.append(int(trials.sum()))
    return step, looks, int((trials - hits).sum())


def test_looks_double_until_there_are_enough_misses() -> None:
    step, looks, misses = run(WIDE, N, half_space(784, 1.5))
    assert looks == [500, 1000, 2000, 4000][: len(looks)]
    assert misses >= ENOUGH_MISSES
    assert step.choice is not None
    assert step.law is step.choice.law is not None


def test_without_misses_it_is_short() -> None:
    _, looks, _ = run(WIDE, N, lambda norm: np.ones_like(norm))
    assert looks[-1] == MOST_SHARE * N / 2
    _, looks, misses = run(WIDE, N, lambda norm: np.full_like(norm, 0.999))
    assert MOST_SHARE * N / 2 < looks[-1] <= MOST_SHARE * N
    assert 1 <= misses < ENOUGH_MISSES


def test_a_narrow_law_needs_next_to_none() -> None:
    _, looks, _ = run(GAUSSIAN, N, half_space(784, 1.5))
    assert looks == [500]


def test_with_few_votes_there_is_no_pilot() -> None:
    step, looks, _ = run(GAUSSIAN, FEWEST_VOTES, half_space(784, 1.5))
    assert looks == []
    assert (step.choice, step.law) == (None, None)


@pytest.mark.parametrize("rate", [0.0, 1e-4, 0.003, 0.05, 0.4])
@pytest.mark.parametrize("n", [100, 1000, 100_000])
def test_expected_number_of_pilot_votes(rate: float, n: int) -> None:
    expected = expected_pilot_votes(WIDE, n, rate)
    assert expected <= MOST_SHARE * n
    taken = [
        (run(WIDE, n, lambda norm: np.full_like(norm, 1 - rate), seed)[1] or [0])[-1]
        for seed in range(3)
    ]
    # Chance moves the end by one look at most: a factor of two, or the half where no vote missed.
    assert min(taken) / 2 <= expected <= 2 * max(taken)


def test_bad_pilots_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leave votes"):
        pilot_step(WIDE, 640, ALPHA, np.full(64, 10), np.full(64, 10))
    with pytest.raises(InvalidInput, match="two rows of one length"):
        pilot_step(WIDE, N, ALPHA, np.zeros(63), np.zeros(64))
    with pytest.raises(InvalidInput, match="between 0 and `trials`"):
        pilot_step(WIDE, N, ALPHA, np.full(64, 200), np.full(64, 160))

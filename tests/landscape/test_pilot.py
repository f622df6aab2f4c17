"""When the pilot ends, and that the whole scheme keeps its promises."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.landscape import (
    FEWEST_PILOT_VOTES,
    MOST_PILOT_SHARE,
    PILOT_MISSES,
    PilotStep,
    longest_pilot,
    neyman_pearson_radius,
    pilot_step,
    proved_shifts,
    shells_of,
    unproved_at,
)
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian
from landscape.known_profiles import Accuracy, constant, half_space, pilot_votes

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


def test_stages_double_while_a_law_promises_more_than_they_cost() -> None:
    step, looks, misses = run(WIDE, N, half_space(784, 1.5))
    assert looks == [500, 1000, 2000, 4000, 8000, 8333][: len(looks)]
    assert misses > 0
    assert step.choice is not None
    assert step.law is step.choice.law is not None


def test_where_no_law_can_gain_it_ends_early() -> None:
    """A class that has little more than half of the votes, and one that is never wrong."""
    for right in (0.6, 1.0):
        for seed in range(5):
            _, looks, _ = run(WIDE, 1000, constant(right), seed)
            assert looks[-1] <= 0.05 * 1000


def test_of_many_votes_the_pilot_of_a_class_that_is_never_wrong_costs_less_than_one_percent() -> (
    None
):
    _, looks, _ = run(WIDE, N, constant(1.0))
    whole, left = (
        neyman_pearson_radius(WIDE, unproved_at(np.zeros(1), n, ALPHA))[0]
        for n in (N, N - looks[-1])
    )
    assert 0.99 * whole < left < whole


def test_the_pilot_never_takes_more_than_its_share() -> None:
    for seed, right in enumerate((0.9, 0.99, 0.999)):
        _, looks, misses = run(WIDE, N, constant(right), seed)
        assert looks[-1] <= MOST_PILOT_SHARE * N
        # No stage begins with enough misses.
        assert misses < 3 * PILOT_MISSES


@pytest.mark.parametrize("right", [0.65, 0.9])
def test_a_law_is_not_chosen_from_noise(right: float) -> None:
    """Votes that miss equally often at all norms: law and pilot cost little, at 1,000 votes."""
    whole = neyman_pearson_radius(WIDE, unproved_at(np.array([1 - right]), 1000, ALPHA))[0]
    shells, radii = shells_of(WIDE), []
    for seed in range(20):
        step, looks, _ = run(WIDE, 1000, constant(right), seed)
        left = 1000 - looks[-1]
        unproved = unproved_at(np.array([[1 - right]]), left, ALPHA)
        if step.law is None:
            radii.append(neyman_pearson_radius(WIDE, unproved)[0, 0])
        else:
            knots, logs = np.log(step.law.knots), np.array(step.law.log_weights)
            weights = np.interp(np.log(shells.t), knots, logs)[None]
            radii.append(proved_shifts(shells, weights, unproved, whole)[0, 0])
    assert np.mean(radii) > 0.985 * whole


def test_a_narrow_law_needs_next_to_none() -> None:
    _, looks, _ = run(GAUSSIAN, N, half_space(784, 1.5))
    assert looks == [500]


def test_with_few_votes_there_is_no_pilot() -> None:
    step, looks, _ = run(GAUSSIAN, FEWEST_PILOT_VOTES, half_space(784, 1.5))
    assert looks == []
    assert (step.choice, step.law) == (None, None)


@pytest.mark.parametrize("rate", [0.0, 1e-4, 0.003, 0.05, 0.4])
@pytest.mark.parametrize("n", [100, 1000, 100_000])
def test_the_longest_pilot(rate: float, n: int) -> None:
    longest = longest_pilot(WIDE, n, rate)
    assert longest <= MOST_PILOT_SHARE * n
    taken = [
        (run(WIDE, n, lambda norm: np.full_like(norm, 1 - rate), seed)[1] or [0])[-1]
        for seed in range(3)
    ]
    # Chance moves the end by one stage: a factor of two, or the half where no vote missed.
    assert max(taken) <= 2 * longest


def test_bad_pilots_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leave votes"):
        pilot_step(WIDE, 640, ALPHA, np.full(64, 10), np.full(64, 10))
    with pytest.raises(InvalidInput, match="two rows of one length"):
        pilot_step(WIDE, N, ALPHA, np.zeros(63), np.zeros(64))
    with pytest.raises(InvalidInput, match="between 0 and `trials`"):
        pilot_step(WIDE, N, ALPHA, np.full(64, 200), np.full(64, 160))


def test_votes_that_ask_for_an_impossible_law_leave_p() -> None:
    """A class that is right far out alone, in many dimensions: its best law has huge weights."""
    law = GeneralizedGaussian(150_528, 0.5, 75_260.0, 1.0)
    trials = np.full(HISTOGRAM_BINS, 4)
    hits = np.clip(np.round(trials * np.arange(HISTOGRAM_BINS) / 20), 0, trials)
    step = pilot_step(law, 8000, ALPHA, hits, trials)
    assert step.law is None

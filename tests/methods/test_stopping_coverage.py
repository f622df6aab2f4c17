"""Bounds at looks miss at most alpha often together, whoever decides when to stop.

The plan fixes looks and their parts of alpha; what is left to an adversary is the question (the
radius, the table, the precision) and with it the moment of stopping. The worst one waits for the
first bound that exceeds the truth. So a run counts as wrong if at any look some bound misses, which
no stopping rule can exceed. Alpha is large, so that a violation would be seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.confidence import clopper_pearson_lower
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian
from dsrs.methods import Estimation, Look, NeymanPearson, Plan, PlannedBound, methods_of
from dsrs.noise import Stream
from dsrs.votes import ESTIMATION, SELECTION, SampledInput, Votes
from methods.simulation import most_misses

ALPHA = 0.2
LAW = GeneralizedGaussian(16, 1.0)
RUNS = [2000, pytest.param(20_000, marks=pytest.mark.slow)]
SHARES = [0.5, 0.8, 0.99]


def looks_of(n: int, batch: int) -> tuple[Look, ...]:
    """The looks of the product, by the method that uses them."""
    plan = Plan(LAW, ("np",), n=n, alpha=ALPHA, batch=batch, precision=1e-6)
    (method,) = methods_of(plan).values()
    assert isinstance(method, NeymanPearson)
    return method.looks(Estimation(method.under_p(ESTIMATION), n))


def counts(
    looks: tuple[Look, ...], shares: list[float], runs: int, seed: int = 0
) -> NDArray[np.int64]:
    """Votes by look, run and class."""
    generator = np.random.default_rng(seed)
    steps = np.diff([0, *(look.votes for look in looks)])
    return np.cumsum([generator.multinomial(step, shares, runs) for step in steps], axis=0)


def first_miss(votes: int, alpha: float, share: float) -> int:
    """The least number of hits whose lower bound exceeds the truth."""
    low, high = 0, votes + 1
    while high - low > 1:
        middle = (low + high) // 2
        exceeds = clopper_pearson_lower(middle, votes, alpha) > share
        low, high = (low, middle) if exceeds else (middle, high)
    return high


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("n", "batch"), [(1024, 16), (20_000, 64)])
def test_no_moment_of_stopping_misses_more_than_alpha_often(
    n: int, batch: int, share: float, runs: int
) -> None:
    looks = looks_of(n, batch)
    hits = counts(looks, [share, 1 - share], runs)[:, :, 0]
    bounds = np.array([[first_miss(look.votes, look.alpha, share)] for look in looks])
    assert (hits >= bounds).any(axis=0).sum() <= most_misses(ALPHA, runs)


def test_the_simulation_sees_looks_that_do_not_share_alpha() -> None:
    looks, runs = looks_of(1024, 16), 2000
    hits = counts(looks, [0.8, 0.2], runs)[:, :, 0]
    bounds = np.array([[first_miss(look.votes, ALPHA, 0.8)] for look in looks])
    assert (hits >= bounds).any(axis=0).sum() > most_misses(ALPHA, runs)


def bounds_of_a_comparison(n: int, batch: int) -> tuple[PlannedBound, ...]:
    """What the product plans where the selection votes advise to compare the class with others."""
    plan = Plan(
        LAW, ("np",), n=n, alpha=ALPHA, batch=batch, precision=1e-6, classes="all", grid=None
    )
    (method,) = methods_of(plan).values()
    none = (0,) * (HISTOGRAM_BINS - 1)
    advice = Votes(Stream(SELECTION, LAW), 0, (45, 28, 27), (100, *none), (45, *none))
    return method.bounds(SampledInput(0, None, 0, 0, (advice,)))


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("shares", [[0.42, 0.3, 0.28], [0.45, 0.45, 0.1], [0.7, 0.02, 0.28]])
def test_a_class_and_its_nearest_rival_are_missed_at_most_alpha_often(
    shares: list[float], runs: int
) -> None:
    # Class 1 is the rival that limits class 0, whatever the votes say; every rival has the bound of
    # the most frequent one.
    own, others = bounds_of_a_comparison(1024, 16)
    assert (own.event, own.side, others.event, others.side) == (
        *("class", "lower"),
        *("others", "lower"),
    )
    votes = counts(own.looks, shares, runs)
    wrong = np.zeros(runs, dtype=bool)
    for look, rivals, taken in zip(own.looks, others.looks, votes, strict=True):
        wrong |= taken[:, 0] >= first_miss(look.votes, look.alpha, shares[0])
        least = rivals.votes - taken[:, 1:].max(axis=1)
        wrong |= least >= first_miss(rivals.votes, rivals.alpha, 1 - shares[1])
    assert wrong.sum() <= most_misses(ALPHA, runs)

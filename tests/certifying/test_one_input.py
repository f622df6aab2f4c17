"""Votes of one input: what the strategies of its plan want, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsrs.certifying import sample_input
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated
from dsrs.methods import Plan
from dsrs.noise import Stream
from dsrs.votes import ESTIMATION, SELECTION, SampledInput, VoteCollector
from known_classifiers import Ball

LAW = GeneralizedGaussian(12, 0.5, 2)
CLASSIFIER = Ball(LAW, reach=float(LAW.radial_quantile(0.8)))
METHODS = ("np", "truncated:heuristic", "rescaled:0.8x")
PLAN = Plan(LAW, METHODS, n=9000, n0=300, seed=3, early_stop=True)
X = np.zeros(12, dtype=np.float32)


def sample(
    plan: Plan = PLAN, workers: int = 1, index: int = 5, label: int | None = None
) -> SampledInput:
    """The votes, without the time that they took."""
    with VoteCollector(workers) as collector:
        sampled = sample_input(CLASSIFIER, X, plan, index, label, collector)
    return replace(sampled, seconds=0.0)


def streams(sampled: SampledInput) -> list[tuple[str, AdditionalLaw | None, int]]:
    """Each stream in the order in which it was begun, with its number of votes."""
    names = dict.fromkeys(votes.stream for votes in sampled.votes)
    return [(name.purpose, name.additional, sampled.taken(name)) for name in names]


def test_votes_do_not_depend_on_the_number_of_workers() -> None:
    assert sample(workers=3) == sample(workers=1)


def test_votes_do_not_depend_on_the_order_of_inputs() -> None:
    one_way = {index: sample(index=index) for index in (0, 1, 2)}
    other_way = {index: sample(index=index) for index in (2, 0, 1)}
    assert one_way == other_way
    assert one_way[0].votes != one_way[1].votes


@pytest.mark.parametrize("change", [{"seed": 4}, {"law": GeneralizedGaussian(12, 0.6, 2)}])
def test_votes_do_depend_on_seed_and_law(change: dict[str, object]) -> None:
    assert sample(PLAN.replace(**change)).votes != sample().votes


@pytest.mark.parametrize(
    "methods", [("rescaled:0.8x",), ("rescaled:0.8x", "np"), ("truncated:0.5", "rescaled:0.4")]
)
def test_the_votes_of_a_law_do_not_depend_on_the_other_methods(methods: tuple[str, ...]) -> None:
    # By this name the law of `rescaled:0.8x` is the same as that of `rescaled:0.4`.
    law = Rescaled(LAW, 0.4)
    alone, together = sample(PLAN.replace(methods=methods)), sample()
    for stream, count in (
        (Stream(ESTIMATION, law), 4500),
        (Stream(ESTIMATION, LAW), 4500),
        (Stream(SELECTION, LAW), 300),
    ):
        assert alone.first(stream, count) == together.first(stream, count)


def test_streams_hold_what_the_plan_says() -> None:
    seen = sample()
    chosen = seen.choices["truncated:heuristic"]
    assert isinstance(chosen, Truncated)
    assert streams(seen) == [
        (SELECTION, None, 300),
        (ESTIMATION, None, 9000),
        (ESTIMATION, chosen, 4500),
        (ESTIMATION, Rescaled(LAW, 0.4), 4500),
    ]
    assert seen.predicted == seen.target == 1
    for votes in seen.votes:
        assert votes.successes == votes.counts[1]
    truncated = seen.first(Stream(ESTIMATION, chosen), 4500)
    share = chosen.percentile
    assert sum(truncated.trials[: int(64 * share)]) > 0.95 * truncated.total
    assert sum(truncated.trials[int(64 * share) + 1 :]) == 0


def test_a_label_needs_no_selection() -> None:
    seen = sample(label=0)
    assert seen.taken(Stream(SELECTION, LAW)) == 0
    assert (seen.target, seen.predicted, seen.label) == (0, 1, 0)
    chosen = sample(PLAN.replace(target="predicted"), label=0)
    assert (chosen.target, chosen.predicted, chosen.label) == (1, 1, 0)


def test_hopeless_inputs_are_given_up_early() -> None:
    assert streams(sample(label=0)) == [(ESTIMATION, None, 1024)]
    patient = sample(PLAN.replace(early_stop=False), label=0)
    assert patient.taken(Stream(ESTIMATION, LAW)) == 9000


def test_the_fallback_goes_on_under_p() -> None:
    plan = PLAN.replace(fallback=True, methods=METHODS[1:], early_stop=False)
    sure = sample_input(Ball(LAW, reach=100.0), X, plan, 0, 1)
    assert streams(sure) == [(ESTIMATION, None, 9000)]
    unsure = sample_input(CLASSIFIER, X, plan, 0, 1)
    assert [(law is None, total) for _, law, total in streams(unsure)] == [
        (True, 4500),
        (False, 4500),
        (False, 4500),
    ]


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(12,\), got \(3, 4\)"):
        sample_input(CLASSIFIER, X.reshape(3, 4), PLAN, 0)
    with pytest.raises(DataError, match="NaN or infinity"):
        sample_input(CLASSIFIER, X + np.float32("nan"), PLAN, 0)
    with pytest.raises(DataError, match="floating point"):
        sample_input(CLASSIFIER, np.zeros(12, np.uint8), PLAN, 0)
    with pytest.raises(DataError, match=r"label of input 0 must be a class from 0 to 1, .*got 2"):
        sample_input(CLASSIFIER, X, PLAN, 0, 2)
    with pytest.raises(InvalidInput, match="use d = 12"):
        sample_input(CLASSIFIER, X, Plan(GeneralizedGaussian(10, 0.5)), 0)

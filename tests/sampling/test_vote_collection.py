"""Votes depend on the plan, the input and the classifier; on nothing else."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from dsrs.sampling.plan import SamplingPlan
from dsrs.sampling.sample import sample_input
from dsrs.sampling.votes import SampledInput
from known_classifiers import Ball, Linear
from numpy.typing import NDArray

from dsrs.errors import ClassifierError, DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.sampling.collect import UNIT_SAMPLES, VoteCollector, WorkUnit, count_votes

LAW = GeneralizedGaussian(12, 0.5, 2)
CLASSIFIER = Ball(LAW, reach=float(LAW.radial_quantile(0.8)))
PLAN = SamplingPlan(
    LAW,
    n=9000,
    n0=300,
    seed=3,
    additional=("truncated:heuristic", "rescaled:0.8x"),
    early_stop=True,
)
X = np.zeros(12, dtype=np.float32)


def votes_alone(sampled: SampledInput) -> SampledInput:
    return replace(sampled, seconds=0.0)


def sample(
    plan: SamplingPlan, workers: int = 1, index: int = 5, label: int | None = None
) -> SampledInput:
    with VoteCollector(workers) as collector:
        return votes_alone(sample_input(CLASSIFIER, X, plan, index, label, collector))


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_votes_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    assert sample(PLAN, workers) == sample(PLAN, 1)


@pytest.mark.parametrize("batch", [1, 16, 64, 1024])
def test_votes_do_not_depend_on_the_batch(batch: int) -> None:
    # This classifier treats rows exactly alike, so only the noise could make a difference.
    assert sample(PLAN.replace(batch=batch)).votes == sample(PLAN).votes


def test_votes_do_not_depend_on_the_order_of_inputs_or_of_units() -> None:
    one_way = {index: sample(PLAN, index=index) for index in (0, 1, 2)}
    other_way = {index: sample(PLAN, index=index) for index in (2, 0, 1)}
    assert one_way == other_way
    assert one_way[0].votes != one_way[1].votes

    law = Truncated(LAW, 0.7)
    whole = WorkUnit(4, "q:truncated", law, 0, 3 * UNIT_SAMPLES + 77)
    cuts = [2 * UNIT_SAMPLES, 0, 3 * UNIT_SAMPLES, UNIT_SAMPLES]
    parts = [
        count_votes(
            CLASSIFIER, X, PLAN, replace(whole, first=c, stop=min(c + UNIT_SAMPLES, whole.stop))
        )
        for c in cuts
    ]
    np.testing.assert_array_equal(sum(parts), count_votes(CLASSIFIER, X, PLAN, whole))


def test_fewer_votes_are_the_first_ones_of_more() -> None:
    some = count_votes(CLASSIFIER, X, PLAN, WorkUnit(0, "p1", LAW, 0, 300))
    rest = count_votes(CLASSIFIER, X, PLAN, WorkUnit(0, "p1", LAW, 0, 512)) - some
    assert (rest >= 0).all()
    assert rest.sum() == 212


@pytest.mark.parametrize("change", [{"seed": 4}, {"law": GeneralizedGaussian(12, 0.6, 2)}])
def test_votes_do_depend_on_seed_and_law(change: dict[str, object]) -> None:
    assert sample(PLAN.replace(**change)).votes != sample(PLAN).votes


def test_every_forward_pass_has_the_same_shape() -> None:
    shapes = set()
    lock = threading.Lock()

    class Watched(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            with lock:
                shapes.add(batch.shape)
            return super().classify(batch)

    plan = PLAN.replace(batch=64, n=1001, n0=7)
    sample_input(Watched(12, 0.3), X, plan, 0, None)
    assert shapes == {(64, 12)}


def test_streams_hold_what_the_plan_says() -> None:
    seen = sample(PLAN)
    assert {votes.stream: votes.total for votes in seen.votes} == {
        "selection": 300,
        "p1": 4500,
        "p2": 4500,
        "q:truncated": 4500,
        "q:rescaled": 4500,
    }
    assert seen.predicted == seen.target == 1
    assert not seen.stopped
    for votes in seen.votes:
        assert votes.successes == votes.counts[1]
        # Equal-mass bins under P; a truncated law leaves the outer ones empty.
        if votes.q is None and votes.total > 1000:
            assert max(votes.trials) < 2 * votes.total / 64
    truncated = seen.stream("q:truncated")
    assert truncated is not None
    assert isinstance(truncated.q, Truncated)
    share = truncated.q.percentile
    assert sum(truncated.trials[: int(64 * share)]) > 0.95 * truncated.total
    assert sum(truncated.trials[int(64 * share) + 1 :]) == 0
    # The ball's votes are decided by the norm alone: its histogram is a step.
    first = seen.stream("p1")
    assert first is not None
    assert first.hits[:50] == first.trials[:50]
    assert sum(first.hits[52:]) == 0


def test_a_label_needs_no_selection() -> None:
    seen = sample(PLAN, label=0)
    assert seen.stream("selection") is None
    assert (seen.target, seen.predicted, seen.label) == (0, 1, 0)
    chosen = sample(PLAN.replace(target="predicted"), label=0)
    assert (chosen.target, chosen.predicted, chosen.label) == (1, 1, 0)


def test_hopeless_inputs_are_given_up_early() -> None:
    seen = sample(PLAN, label=0)
    assert seen.stopped
    assert [votes.stream for votes in seen.votes] == ["p1"]
    assert seen.votes[0].total == 1024
    patient = sample(PLAN.replace(early_stop=False), label=0)
    assert not patient.stopped
    assert patient.votes[0].total == 4500


def test_the_fallback_goes_on_under_p() -> None:
    sure = Ball(LAW, reach=100.0)
    plan = PLAN.replace(fallback=True, neyman_pearson=False)
    streams = [votes.stream for votes in sample_input(sure, X, plan, 0, 1).votes]
    assert streams == ["p1", "p2"]
    unsure = [votes.stream for votes in sample_input(CLASSIFIER, X, plan, 0, 1).votes]
    assert unsure == ["p1", "q:truncated", "q:rescaled"]


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(12,\), got \(3, 4\)"):
        sample_input(CLASSIFIER, X.reshape(3, 4), PLAN, 0)
    with pytest.raises(DataError, match="NaN or infinity"):
        sample_input(CLASSIFIER, X + np.float32("nan"), PLAN, 0)
    with pytest.raises(DataError, match="floating point"):
        sample_input(CLASSIFIER, np.zeros(12, np.uint8), PLAN, 0)
    with pytest.raises(DataError, match="label of input 0 must be a class from 0 to 1, got 2"):
        sample_input(CLASSIFIER, X, PLAN, 0, 2)
    with pytest.raises(InvalidInput, match="use d = 12"):
        sample_input(CLASSIFIER, X, SamplingPlan(GeneralizedGaussian(10, 0.5)), 0)
    with pytest.raises(InvalidInput, match="`workers` must be at least 1"):
        VoteCollector(0)


@pytest.mark.parametrize("answer", [-1, 2])
def test_a_class_out_of_range_is_an_error(answer: int) -> None:
    class Wrong(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            return np.full(len(batch), answer)

    with pytest.raises(ClassifierError, match="expected classes 0 to 1"):
        sample_input(Wrong(12, 0.3), X, PLAN, 0, 1)


def test_an_error_in_one_worker_ends_all() -> None:
    calls = []

    class Broken(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            calls.append(threading.current_thread().name)
            if threading.current_thread().name != calls[0]:
                raise ClassifierError("out of order")
            return super().classify(batch)

    # The worker that never fails would have 10,000 batches to go.
    plan = SamplingPlan(LAW, n=2_560_000, additional=())
    with VoteCollector(2) as collector, pytest.raises(ClassifierError, match="out of order"):
        sample_input(Broken(12, 0.3), X, plan, 0, 1, collector)
    assert len(calls) < 2000


def test_memory_does_not_grow_with_the_number_of_votes() -> None:
    def peak(n: int) -> int:
        plan = SamplingPlan(LAW, n=n, additional=())
        with VoteCollector(1) as collector:
            tracemalloc.start()
            sample_input(CLASSIFIER, X, plan, 0, 1, collector)
            reached = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return reached

    peak(1000)
    assert peak(200_000) < 1.1 * peak(1000)

"""Votes of a unit of work depend on its setting, its stream and the classifier; on nothing else."""

from __future__ import annotations

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Rescaled, Truncated
from dsrs.noise import NoiseLaw, Stream
from dsrs.votes import (
    UNIT_SAMPLES,
    Histogram,
    Setting,
    Stopped,
    VoteCollector,
    WorkUnit,
    count_votes,
)
from known_classifiers import Ball, Linear

LAW = GeneralizedGaussian(12, 0.5, 2)
GAUSSIAN = GeneralizedGaussian(12, 0.5)
CLASSIFIER = Ball(LAW, reach=float(LAW.radial_quantile(0.8)))
SETTING = Setting(seed=3, batch=64)
WHOLE = WorkUnit(5, Stream("estimation", LAW), 0, 3 * UNIT_SAMPLES + 77)
X = np.zeros(12, dtype=np.float32)


def collect(
    setting: Setting = SETTING,
    unit: WorkUnit = WHOLE,
    workers: int = 1,
    classifier: Classifier = CLASSIFIER,
) -> Histogram:
    with VoteCollector(workers) as collector:
        return collector.collect(classifier, X, setting, unit).votes


def count(first: int, stop: int, classifier: Classifier = CLASSIFIER) -> Histogram:
    return count_votes(classifier, X, SETTING, replace(WHOLE, first=first, stop=stop)).votes


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_votes_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    np.testing.assert_array_equal(collect(workers=workers), collect())


@pytest.mark.parametrize("batch", [1, 16, 256, 1024])
def test_votes_do_not_depend_on_the_batch(batch: int) -> None:
    # This classifier treats rows exactly alike, so only the noise could make a difference.
    np.testing.assert_array_equal(collect(replace(SETTING, batch=batch)), collect())


@pytest.mark.parametrize("law", [LAW, Truncated(LAW, 0.7), Rescaled(LAW, 0.4)])
def test_votes_do_not_depend_on_the_order_of_units(law: NoiseLaw) -> None:
    whole = replace(WHOLE, stream=Stream("estimation", law))
    cuts = [2 * UNIT_SAMPLES, 0, 3 * UNIT_SAMPLES, UNIT_SAMPLES]
    parts = [
        count_votes(
            CLASSIFIER, X, SETTING, replace(whole, first=c, stop=min(c + UNIT_SAMPLES, whole.stop))
        ).votes
        for c in cuts
    ]
    np.testing.assert_array_equal(sum(parts), count_votes(CLASSIFIER, X, SETTING, whole).votes)


@pytest.mark.parametrize("base", [LAW, GAUSSIAN], ids=["general", "gaussian"])
@pytest.mark.parametrize("cut", [1, 37, 255, 257, UNIT_SAMPLES + 100])
def test_votes_do_not_depend_on_where_a_unit_begins(base: GeneralizedGaussian, cut: int) -> None:
    whole = replace(WHOLE, stream=Stream("estimation", base))
    parts = [
        collect(unit=replace(whole, stop=cut), workers=2),
        collect(unit=replace(whole, first=cut), workers=2),
    ]
    np.testing.assert_array_equal(sum(parts), collect(unit=whole))


@pytest.mark.parametrize(("first", "stop"), [(0, 1001), (1, 2), (63, 65), (300, 777)])
def test_every_forward_pass_is_full_and_a_sample_keeps_its_row(first: int, stop: int) -> None:
    shapes = set()

    class FirstRow(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            shapes.add(batch.shape)
            return np.asarray(np.arange(len(batch)) == 0, dtype=np.int64)

    votes = count(first, stop, FirstRow(12, 0.3))
    assert shapes == {(SETTING.batch, 12)}
    assert votes.sum() == stop - first
    # Sample i is row i % batch, wherever the unit begins.
    assert votes[1].sum() == sum(sample % SETTING.batch == 0 for sample in range(first, stop))


def test_fewer_votes_are_the_first_ones_of_more() -> None:
    rest = count(0, 512) - count(0, 300)
    assert (rest >= 0).all()
    assert rest.sum() == 212


@pytest.mark.parametrize(
    ("setting", "unit"),
    [
        (replace(SETTING, seed=4), WHOLE),
        (SETTING, replace(WHOLE, index=6)),
        (SETTING, replace(WHOLE, stream=Stream("selection", LAW))),
        (SETTING, replace(WHOLE, first=WHOLE.stop, stop=2 * WHOLE.stop)),
    ],
    ids=["seed", "index", "purpose", "samples"],
)
def test_votes_do_depend_on_what_names_them(setting: Setting, unit: WorkUnit) -> None:
    votes = collect(setting, unit)
    assert votes.sum() == WHOLE.stop
    assert (votes != collect()).any()


def test_votes_are_counted_by_class_and_norm() -> None:
    votes = collect()
    assert votes.shape == (2, HISTOGRAM_BINS)
    # The ball's votes are decided by the norm alone: 0.8 of 64 bins is within the 52nd.
    assert votes[0, :51].sum() == 0
    assert votes[1, 52:].sum() == 0
    # Equal-mass bins under P: about 25 votes in each.
    assert votes.sum(axis=0).max() < 60
    truncated = collect(unit=replace(WHOLE, stream=Stream("estimation", Truncated(LAW, 0.5)))).sum(
        axis=0
    )
    assert truncated[32:].sum() == 0
    assert truncated[:32].min() > 20


def test_workers_are_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="`workers` must be from 1 to 1024, got 0"):
        VoteCollector(0)


@pytest.mark.parametrize("answer", [-1, 2])
def test_a_class_out_of_range_is_an_error(answer: int) -> None:
    class Wrong(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            return np.full(len(batch), answer)

    with pytest.raises(ClassifierError, match="expected classes 0 to 1"):
        collect(classifier=Wrong(12, 0.3))


def test_an_error_in_one_worker_ends_all() -> None:
    calls = []

    class Broken(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            calls.append(threading.current_thread().name)
            if threading.current_thread().name != calls[0]:
                raise ClassifierError("out of order")
            return super().classify(batch)

    # The worker that never fails would have 10,000 batches to go.
    with pytest.raises(ClassifierError, match="out of order"):
        collect(unit=replace(WHOLE, stop=640_000), workers=2, classifier=Broken(12, 0.3))
    assert len(calls) < 2000


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch", [16, 64, 512])
def test_no_batch_is_answered_twice(workers: int, batch: int) -> None:
    rows = []

    class Counting(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            rows.append(len(batch))
            return super().classify(batch)

    for first, stop in ((0, 9000), (100, 7777), (0, 70), (5000, 5001)):
        unit = replace(WHOLE, first=first, stop=stop)
        rows.clear()
        collect(replace(SETTING, batch=batch), unit, workers, Counting(12, 0.3))
        assert sum(rows) == unit.rows(batch)


def test_inputs_share_the_workers() -> None:
    """Whoever counts for several inputs at once counts for each what it would alone."""
    units = [replace(WHOLE, index=index) for index in range(4)]
    with VoteCollector(2) as workers, ThreadPoolExecutor(4) as inputs:
        together = workers.until(threading.Event())
        found = inputs.map(lambda unit: together.collect(CLASSIFIER, X, SETTING, unit), units)
        for unit, counts in zip(units, found, strict=True):
            np.testing.assert_array_equal(counts.votes, collect(unit=unit))


def test_counting_ends_soon_after_a_stop() -> None:
    stop, calls = threading.Event(), []

    class Stopping(Linear):
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            calls.append(1)
            if len(calls) == 10:
                stop.set()
            return super().classify(batch)

    unit = replace(WHOLE, stop=640_000)
    with VoteCollector(2) as workers, pytest.raises(Stopped):
        workers.until(stop).collect(Stopping(12, 0.3), X, SETTING, unit)
    assert len(calls) <= 10 + 2 * UNIT_SAMPLES // SETTING.batch


def test_memory_does_not_grow_with_the_number_of_votes() -> None:
    def peak(votes: int) -> int:
        with VoteCollector(1) as collector:
            tracemalloc.start()
            collector.collect(CLASSIFIER, X, SETTING, replace(WHOLE, stop=votes))
            reached = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return reached

    peak(1000)
    assert peak(200_000) < 1.1 * peak(1000)

"""Threads that share out the votes of one input after the other.

The noise kernel and the model's forward pass both run outside the interpreter lock, so while one
worker makes noise another runs the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from threading import Event, Lock

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.kernels import thread_count
from dsrs.noise import NOISE_BLOCK
from dsrs.votes.collect import (
    UNIT_SAMPLES,
    Collector,
    Setting,
    Stopped,
    VoteCounter,
    WorkUnit,
    count_votes,
    cut,
)
from dsrs.votes.tally import Counts


class VoteCollector(Collector):
    """Worker threads that count votes; use it as a context manager, for many inputs.

    `workers` defaults to the number of cores this process may use. It changes the time taken,
    never the votes.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = thread_count(workers)
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="dsrs-votes")
        self._stop = Event()

    def __enter__(self) -> VoteCollector:
        return self

    def __exit__(self, *failure: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def until(self, stop: Event) -> Collector:
        """These workers for one of several inputs: `Stopped` is raised soon after `stop` is set.

        Units are counted in the order in which inputs ask for them, so that the workers who have
        nothing left to do for one input go on with the next.
        """
        these = copy(self)
        these._stop = stop
        return these

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        stop = self._stop
        if unit.rows(setting.batch) <= setting.batch and not stop.is_set():
            return count_votes(classifier, x, setting, unit)  # one pass is not shared out
        crew = crew_of(classifier, self.workers)
        parts = _Shared(_ending_together(unit, setting.batch, len(crew)), stop)

        def drain(model: Classifier) -> Counts:
            try:
                counter = VoteCounter(model, x, setting, unit)
                for part in parts:
                    counter.count(part.first, part.stop)
            finally:
                # Nothing is left, or something failed: either way the others end as well.
                parts.close()
            return counter.counts

        pending = [self._pool.submit(drain, model) for model in crew]
        try:
            total, *others = (future.result() for future in pending)
            if stop.is_set():
                raise Stopped
            for counts in others:
                total.merge(counts)
            return total
        finally:
            # After Ctrl-C the workers end with the unit in their hands.
            parts.close()


def crew_of(classifier: Classifier, workers: int) -> Sequence[Classifier]:
    """The model that each worker asks: one worker for each device that makes its own noise.

    Where the processor makes the noise, all workers make it, and share the devices.
    """
    replicas = classifier.replicas or (classifier,)
    if classifier.makes_noise:
        return replicas
    return [replicas[worker % len(replicas)] for worker in range(max(workers, len(replicas)))]


class _Shared:
    """An iterator that several threads draw from, until it is closed or `stop` is set."""

    def __init__(self, units: Iterator[WorkUnit], stop: Event) -> None:
        self._units = units
        self._stop = stop
        self._lock = Lock()
        self._closed = Event()

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> WorkUnit:
        with self._lock:
            if self._closed.is_set() or self._stop.is_set():
                raise StopIteration
            return next(self._units)

    def close(self) -> None:
        self._closed.set()


def _ending_together(whole: WorkUnit, batch: int, workers: int) -> Iterator[WorkUnit]:
    """Short units, and single blocks at the end, so that no worker waits long for the last one."""
    block = max(batch, NOISE_BLOCK)
    rest = whole.stop - 2 * workers * UNIT_SAMPLES
    rest = max(whole.first, rest - rest % block)
    yield from cut(replace(whole, stop=rest), batch)
    yield from cut(replace(whole, first=rest), batch, block)

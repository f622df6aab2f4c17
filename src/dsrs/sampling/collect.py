"""Votes of one stream, counted by class and noise norm, in memory that does not grow with n.

The unit of work is a range of samples of one stream: it can be counted anywhere that has the
classifier and the input, and the counts of units add up. Here threads share them out; the noise
kernel and the model's forward pass both run outside the interpreter lock, so while one worker
makes noise another runs the model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event, Lock
from types import TracebackType
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, NoiseMaker, answer_of
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.grid import Grid
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.records import HISTOGRAM_BINS
from dsrs.sampling.noise import NOISE_BLOCK, NoiseStream, Sums, radial_edges

# votes[c, b]: votes for class c whose noise norm fell into radial bin b.
Histogram = NDArray[np.int64]

# Sees the noisy copies that were counted, one a row, with their noise norms and classes.
Watcher = Callable[[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]], None]

# Samples of one unit of work: short, so that workers end a stream together.
UNIT_SAMPLES = 512
MOST_WORKERS = 1024  # threads; more than any machine has cores for


@dataclass(frozen=True, slots=True)
class Setting:
    """What all votes of a run share: the smoothing law, the seed, rows of a forward pass.

    `grid` is what inputs and noise are rounded to; None adds them in float32.
    """

    base: GeneralizedGaussian
    seed: int
    batch: int
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Samples `first` up to `stop` of one stream; `law` None is P.

    With a class `missed`, the noise of the votes that are not for it is added up as well.
    """

    index: int
    purpose: str
    law: AdditionalLaw | None
    first: int
    stop: int
    missed: int | None = None

    def rows(self, batch: int) -> int:
        """How many rows the model runs for it: whole batches, each in its place."""
        return (-(-self.stop // batch) - self.first // batch) * batch


def count_votes(
    classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
) -> Histogram:
    """The votes of one unit of work; they add up, for any division of a stream into units."""
    return VoteCounter(classifier, x, setting, unit).count(unit.first, unit.stop)


class VoteCounter:
    """Counts votes of one stream, with buffers that serve any number of its units.

    Every forward pass has exactly `setting.batch` rows. Rows before and after a unit carry noise as
    well, but are not counted: a model's rounding may depend on the shape of its batch.
    """

    def __init__(
        self,
        classifier: Classifier,
        x: NDArray[np.float32],
        setting: Setting,
        of: WorkUnit,
        watcher: Watcher | None = None,
    ) -> None:
        self._classifier = classifier
        self._watcher = watcher
        self._x = x
        self._flat = np.ascontiguousarray(x, dtype=np.float32).ravel()
        self._batch = setting.batch
        self._stream = NoiseStream(
            of.law or setting.base, setting.seed, of.index, of.purpose, setting.grid
        )
        self._edges = radial_edges(setting.base)
        # Noise comes in whole blocks, the model takes whole batches: one buffer serves both.
        self._rows = max(setting.batch, NOISE_BLOCK)
        # Some models make the noise of a grid themselves, where they are.
        self._asks = setting.grid is not None and getattr(classifier, "makes_noise", False)
        self._noisy = np.empty((0 if self._asks else self._rows, x.size), dtype=np.float32)
        self._norms = np.empty(self._rows)
        self._missed = of.missed
        self.sums: Sums = np.zeros(0 if of.missed is None else x.size, dtype=np.int64)

    def count(self, start: int, stop: int) -> Histogram:
        classes = self._classifier.num_classes
        votes = np.zeros(classes * HISTOGRAM_BINS, dtype=np.int64)
        # A sample has its place in a batch, wherever a unit begins.
        aligned = start - start % self._rows if stop > start else stop
        for first in range(aligned, stop, self._rows):
            begin, end = max(start - first, 0), min(stop - first, self._rows)
            self._add_block(first, begin, end, votes)
        return votes.reshape(classes, HISTOGRAM_BINS)

    def _add_block(self, first: int, begin: int, end: int, votes: NDArray[np.int64]) -> None:
        """Count rows begin <= i < end of the block whose first sample is `first`."""
        batch = self._batch
        filled = -(-end // batch) * batch
        if not self._asks:
            self._stream.add_to(self._flat, first, self._noisy[:filled], self._norms[:filled])
        for start in range(begin - begin % batch, filled, batch):
            counted = slice(max(begin, start), min(end, start + batch))
            answer = self._answer(first, start)
            classes = answer[counted.start - start : counted.stop - start]
            bins = np.searchsorted(self._edges, self._norms[counted])
            votes += _tally(classes * HISTOGRAM_BINS + bins, votes.size, self._classifier)
            if self._missed is not None:
                missed = np.flatnonzero(classes != self._missed) + (first + counted.start)
                self._stream.add_normals(missed, self.sums)
            if self._watcher is not None:
                self._watcher(self._noisy[counted], self._norms[counted], classes)

    def _answer(self, first: int, start: int) -> NDArray[np.int64]:
        """The classes of the batch that begins at row `start` of the block at sample `first`."""
        model, rows = self._classifier, slice(start, start + self._batch)
        if not self._asks:
            noisy = self._noisy[rows].reshape(self._batch, *self._x.shape)
            return cast(NDArray[np.int64], answer_of(model.classify, noisy, model.description))
        block = self._stream.block(self._flat, first + start, self._batch)
        classes, self._norms[rows] = cast(NoiseMaker, model).classify_noisy(block)
        return classes


def _tally(cells: NDArray[np.int64], size: int, classifier: Classifier) -> Histogram:
    if cells.min() < 0 or cells.max() >= size:
        raise ClassifierError(
            f"expected classes 0 to {classifier.num_classes - 1} from {classifier.description}, "
            f"got classes {cells.min() // HISTOGRAM_BINS} to {cells.max() // HISTOGRAM_BINS}"
        )
    return np.bincount(cells, minlength=size)


class Stopped(Exception):
    """Whoever wanted the votes wants them no more."""


class Collector(Protocol):
    """Whoever counts the votes of a unit of work, however long it is."""

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> Histogram:
        """votes[c, b]: votes for class c in radial bin b."""

    def collect_with_sums(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> tuple[Histogram, Sums]:
        """The votes, and the sum of the noise of those that missed `whole.missed`."""


class VoteCollector:
    """Worker threads that count votes; use it as a context manager, for many inputs.

    `workers` defaults to the number of cores this process may use. It changes the time taken,
    never the votes.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and not 1 <= workers <= MOST_WORKERS:
            raise InvalidInput(f"`workers` must be from 1 to {MOST_WORKERS}, got {workers}")
        self.workers = workers or available_cores()
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="dsrs-votes")

    def __enter__(self) -> VoteCollector:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def collect(
        self,
        classifier: Classifier,
        x: NDArray[np.float32],
        setting: Setting,
        whole: WorkUnit,
    ) -> Histogram:
        """The votes of a long unit, shared out among the workers in shorter ones."""
        return self.collect_with_sums(classifier, x, setting, whole)[0]

    def collect_with_sums(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> tuple[Histogram, Sums]:
        """The votes of a long unit, and the sum of the noise of those that missed."""
        return self._share_out(classifier, x, setting, whole, Event())

    def until(self, stop: Event) -> Collector:
        """These workers for one of several inputs: `Stopped` is raised soon after `stop` is set.

        Units are counted in the order in which inputs ask for them, so that the workers who have
        nothing left to do for one input go on with the next.
        """
        return _UntilStopped(self, stop)

    def _share_out(
        self,
        classifier: Classifier,
        x: NDArray[np.float32],
        setting: Setting,
        whole: WorkUnit,
        stop: Event,
    ) -> tuple[Histogram, Sums]:
        units = _Shared(cut(whole, setting.batch), stop)

        def drain() -> tuple[Histogram, Sums]:
            votes = np.zeros((classifier.num_classes, HISTOGRAM_BINS), dtype=np.int64)
            try:
                counter = VoteCounter(classifier, x, setting, whole)
                for unit in units:
                    votes += counter.count(unit.first, unit.stop)
            finally:
                # Nothing is left, or something failed: either way the others end as well.
                units.close()
            return votes, counter.sums

        pending = [self._pool.submit(drain) for _ in range(self.workers)]
        try:
            votes, sums = zip(*(future.result() for future in pending), strict=True)
            if stop.is_set():
                raise Stopped
            return np.sum(votes, axis=0), np.sum(sums, axis=0)
        finally:
            # After Ctrl-C the workers end with the unit in their hands.
            units.close()


class _UntilStopped:
    """A collector that counts with the workers of another one."""

    def __init__(self, workers: VoteCollector, stop: Event) -> None:
        self._workers = workers
        self._stop = stop

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> Histogram:
        return self.collect_with_sums(classifier, x, setting, whole)[0]

    def collect_with_sums(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> tuple[Histogram, Sums]:
        return self._workers._share_out(classifier, x, setting, whole, self._stop)


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


def cut(whole: WorkUnit, batch: int, samples: int = UNIT_SAMPLES) -> Iterator[WorkUnit]:
    """A long unit as short ones of about so many samples."""
    first, samples = whole.first, -(-max(samples, batch) // batch) * batch
    while first < whole.stop:
        # Units end where batches do.
        stop = min(first - first % samples + samples, whole.stop)
        yield replace(whole, first=first, stop=stop)
        first = stop


def available_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Counting the votes of one input: by the calling thread, or by threads that share them out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, Share, answer_of
from dsrs.errors import ClassifierError
from dsrs.kernels import thread_count
from dsrs.laws import Grid
from dsrs.noise import NOISE_BLOCK, NoiseStream, Stream, radial_edges
from dsrs.votes.records import Batch, Counts, Tally

# Samples of one unit of work: short, so that workers end a stream together.
UNIT_SAMPLES = 512


@dataclass(frozen=True, slots=True)
class Setting:
    """What all votes of a run share: the seed, and the rows of a forward pass.

    `grid` is what inputs and noise are rounded to; None adds them in float32.
    """

    seed: int
    batch: int
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Samples `first` up to `stop` of one stream of the input `index`.

    `tallies` are empty: what is to be added up over these votes beside their counts.
    """

    index: int
    stream: Stream
    first: int
    stop: int
    tallies: tuple[Tally, ...] = ()

    def rows(self, batch: int) -> int:
        """How many rows the model runs for it: whole batches, each in its place."""
        return (-(-self.stop // batch) - self.first // batch) * batch


def count_votes(
    classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
) -> Counts:
    """The votes of one unit of work; they add up, for any division of a stream into units."""
    counter = VoteCounter(classifier, x, setting, unit)
    counter.count(unit.first, unit.stop)
    return counter.counts


class VoteCounter:
    """Adds up votes of one stream in `counts`, with buffers that serve any number of its units.

    Where a model makes its own noise, its device counts as well, and nothing waits for it before
    `counts` is read. Every forward pass has exactly `setting.batch` rows. Rows before and after a
    unit carry noise as well, but are not counted: a model's rounding may depend on the shape of its
    batch.
    """

    def __init__(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, of: WorkUnit
    ) -> None:
        # Only who takes votes needs Numba, whose import takes a third of a second.
        from dsrs.votes.histogram import add_votes

        self._counts = Counts.zero(classifier.num_classes, of.tallies)
        self._add_votes = add_votes
        self._classifier = classifier
        self._flat = np.ascontiguousarray(x, dtype=np.float32).ravel()
        self._batch = setting.batch
        self._stream = NoiseStream(of.stream, setting.seed, of.index, setting.grid)
        self._edges = radial_edges(of.stream.base)
        # Noise comes in whole blocks, the model takes whole batches: one buffer serves both.
        self._rows = max(setting.batch, NOISE_BLOCK)
        # Some models make the noise of a grid themselves, where they are.
        self._asks = (
            setting.grid is not None
            and classifier.makes_noise
            and not any(tally.needs_rows for tally in of.tallies)
        )
        self._noisy = np.empty((0 if self._asks else self._rows, x.size), dtype=np.float32)
        self._batches = self._noisy.reshape(-1, setting.batch, *x.shape)
        self._norms = np.empty(self._rows)
        counted_there = self._asks and not of.tallies
        self._there = classifier.votes_there(self._edges) if counted_there else None

    @property
    def counts(self) -> Counts:
        """All counts so far. Votes that a device counts are waited for only here."""
        if self._there is not None:
            self._count_here(self._there.finish())
            self._counts.votes += self._there.taken()
        return self._counts

    def count(self, start: int, stop: int) -> None:
        """Add the votes of the samples `start` up to `stop`."""
        # A sample has its place in a batch, wherever a unit begins.
        aligned = start - start % self._rows if stop > start else stop
        for first in range(aligned, stop, self._rows):
            begin, end = max(start - first, 0), min(stop - first, self._rows)
            self._add_block(first, begin, end)

    def _add_block(self, first: int, begin: int, end: int) -> None:
        """Count rows begin <= i < end of the block whose first sample is `first`."""
        batch = self._batch
        made = slice(begin - begin % batch, -(-end // batch) * batch)
        if not self._asks:
            noisy, norms = self._noisy[made], self._norms[made]
            self._stream.add_to(self._flat, first + made.start, noisy, norms)
        for start in range(made.start, made.stop, batch):
            counted = slice(max(begin, start), min(end, start + batch))
            if self._there is not None and self._classifier.rows_at_once is None:
                block = self._stream.block(self._flat, first + start, batch)
                share = Share(block, counted.start - start, counted.stop - start)
                self._count_here(self._there.add(share))
                continue
            answer = self._answer(first, start)
            classes = answer[counted.start - start : counted.stop - start]
            norms = self._norms[counted]
            self._add(classes, norms)
            if self._counts.tallies:
                rows = self._noisy[counted]
                votes = Batch(classes, norms, first + counted.start, rows, self._stream)
                for tally in self._counts.tallies:
                    tally.add(votes)

    def _answer(self, first: int, start: int) -> NDArray[np.int64]:
        """The classes of the batch that begins at row `start` of the block at sample `first`."""
        model = self._classifier
        if not self._asks:
            noisy = self._batches[start // self._batch]
            return cast("NDArray[np.int64]", answer_of(model.classify, noisy, model.description))
        rows = slice(start, start + self._batch)
        block = self._stream.block(self._flat, first + start, self._batch)
        classes, self._norms[rows] = model.classify_noisy(block)
        return classes

    def _count_here(self, shares: Iterable[Share]) -> None:
        """Count what a device has no memory for: in fewer rows, and the sums here."""
        for block, begin, end in shares:
            classes, norms = self._classifier.classify_noisy(block)
            self._add(classes[begin:end], norms[begin:end])

    def _add(self, classes: NDArray[np.int64], norms: NDArray[np.float64]) -> None:
        if classes.dtype != np.int64:
            classes = classes.astype(np.int64, casting="safe")
        if not self._add_votes(classes, norms, self._edges, self._counts.votes):
            model = self._classifier
            raise ClassifierError(
                f"expected classes 0 to {model.num_classes - 1} from {model.description}, "
                f"got classes {classes.min()} to {classes.max()}"
            )


class Stopped(Exception):
    """Counting was ended on request before all votes were there."""


class Collector(ABC):
    """Counts the votes of a unit of work, however long it is."""

    @abstractmethod
    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        """The counts of all votes of `unit`, and the tallies that it asks for.

        Args:
            classifier: gives the votes.
            x: the input, in the classifier's shape.
            setting: what all votes of the run share.
            unit: which votes to take.
        """


def cut(whole: WorkUnit, batch: int, samples: int = UNIT_SAMPLES) -> Iterator[WorkUnit]:
    """A long unit as short ones of about `samples` samples each."""
    first, samples = whole.first, -(-max(samples, batch) // batch) * batch
    while first < whole.stop:
        # Units end where batches do.
        stop = min(first - first % samples + samples, whole.stop)
        yield replace(whole, first=first, stop=stop)
        first = stop


# ---- Votes counted by the calling thread: for inputs that share the machine, one thread each


class InlineCollector(Collector):
    """Counts the votes of one input; `stop` ends it between two short units.

    Of a model on several devices, `turn` chooses one.
    """

    def __init__(self, stop: Event, turn: int = 0) -> None:
        self._stop, self._turn = stop, turn

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        replicas = classifier.replicas or (classifier,)
        model = replicas[self._turn % len(replicas)]
        counter = VoteCounter(model, x, setting, unit)
        for part in cut(unit, setting.batch):
            if self._stop.is_set():
                raise Stopped
            counter.count(part.first, part.stop)
        return counter.counts


# ---- Threads that share out the votes of one input after the other
#
# The noise kernel and the model's forward pass both run outside the interpreter lock, so while one
# worker makes noise another runs the model.


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

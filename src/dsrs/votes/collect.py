"""Votes of one stream, counted by class and noise norm, in memory that does not grow with n.

The unit of work is a range of samples of one stream: it can be counted anywhere that has the
classifier and the input, and the counts of units add up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, answer_of
from dsrs.errors import ClassifierError
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.laws.grid import Grid
from dsrs.noise.stream import NOISE_BLOCK, NoiseStream, Stream, Sums, radial_edges

# votes[c, b]: votes for class c whose noise norm fell into radial bin b.
Histogram = NDArray[np.int64]

# Sees the noisy copies that were counted, one a row, with their noise norms and classes.
Watcher = Callable[[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]], None]

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

    With a class `missed`, the noise of the votes that are not for it is added up as well.
    """

    index: int
    stream: Stream
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
        # Only who takes votes needs Numba, whose import takes a third of a second.
        from dsrs.votes.tally import add_votes

        self._add_votes = add_votes
        self._classifier = classifier
        self._watcher = watcher
        self._flat = np.ascontiguousarray(x, dtype=np.float32).ravel()
        self._batch = setting.batch
        self._stream = NoiseStream(of.stream, setting.seed, of.index, setting.grid)
        self._edges = radial_edges(of.stream.base)
        # Noise comes in whole blocks, the model takes whole batches: one buffer serves both.
        self._rows = max(setting.batch, NOISE_BLOCK)
        # Some models make the noise of a grid themselves, where they are.
        self._asks = setting.grid is not None and classifier.makes_noise
        self._noisy = np.empty((0 if self._asks else self._rows, x.size), dtype=np.float32)
        self._batches = self._noisy.reshape(-1, setting.batch, *x.shape)
        self._norms = np.empty(self._rows)
        self._missed = of.missed
        self.sums: Sums = np.zeros(0 if of.missed is None else x.size, dtype=np.int64)

    def count(self, start: int, stop: int) -> Histogram:
        classes = self._classifier.num_classes
        votes = np.zeros((classes, HISTOGRAM_BINS), dtype=np.int64)
        # A sample has its place in a batch, wherever a unit begins.
        aligned = start - start % self._rows if stop > start else stop
        for first in range(aligned, stop, self._rows):
            begin, end = max(start - first, 0), min(stop - first, self._rows)
            self._add_block(first, begin, end, votes)
        return votes

    def _add_block(self, first: int, begin: int, end: int, votes: Histogram) -> None:
        """Count rows begin <= i < end of the block whose first sample is `first`."""
        batch = self._batch
        filled = -(-end // batch) * batch
        if not self._asks:
            self._stream.add_to(self._flat, first, self._noisy[:filled], self._norms[:filled])
        for start in range(begin - begin % batch, filled, batch):
            counted = slice(max(begin, start), min(end, start + batch))
            answer = self._answer(first, start)
            classes = answer[counted.start - start : counted.stop - start]
            self._tally(classes, self._norms[counted], votes)
            if self._missed is not None:
                missed = np.flatnonzero(classes != self._missed) + (first + counted.start)
                self._stream.add_normals(missed, self.sums)
            if self._watcher is not None:
                self._watcher(self._noisy[counted], self._norms[counted], classes)

    def _answer(self, first: int, start: int) -> NDArray[np.int64]:
        """The classes of the batch that begins at row `start` of the block at sample `first`."""
        model = self._classifier
        if not self._asks:
            noisy = self._batches[start // self._batch]
            return cast(NDArray[np.int64], answer_of(model.classify, noisy, model.description))
        rows = slice(start, start + self._batch)
        block = self._stream.block(self._flat, first + start, self._batch)
        classes, self._norms[rows] = model.classify_noisy(block)
        return classes

    def _tally(
        self, classes: NDArray[np.int64], norms: NDArray[np.float64], votes: Histogram
    ) -> None:
        if classes.dtype != np.int64:
            classes = classes.astype(np.int64, casting="safe")
        if not self._add_votes(classes, norms, self._edges, votes):
            model = self._classifier
            raise ClassifierError(
                f"expected classes 0 to {model.num_classes - 1} from {model.description}, "
                f"got classes {classes.min()} to {classes.max()}"
            )


class Stopped(Exception):
    """Whoever wanted the votes wants them no more."""


class Collector(ABC):
    """Whoever counts the votes of a unit of work, however long it is."""

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> Histogram:
        """votes[c, b]: votes for class c in radial bin b."""
        return self.collect_with_sums(classifier, x, setting, whole)[0]

    @abstractmethod
    def collect_with_sums(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> tuple[Histogram, Sums]:
        """The votes, and the sum of the noise of those that missed `whole.missed`."""


def cut(whole: WorkUnit, batch: int, samples: int = UNIT_SAMPLES) -> Iterator[WorkUnit]:
    """A long unit as short ones of about so many samples."""
    first, samples = whole.first, -(-max(samples, batch) // batch) * batch
    while first < whole.stop:
        # Units end where batches do.
        stop = min(first - first % samples + samples, whole.stop)
        yield replace(whole, first=first, stop=stop)
        first = stop

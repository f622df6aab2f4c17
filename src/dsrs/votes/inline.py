"""Votes counted by the calling thread: for inputs that share the machine, one thread each."""

from __future__ import annotations

from threading import Event

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.noise.stream import Sums
from dsrs.votes.collect import (
    Collector,
    Histogram,
    Setting,
    Stopped,
    VoteCounter,
    Watcher,
    WorkUnit,
    cut,
)


class InlineCollector(Collector):
    """Counts the votes of one input; `stop` ends it between two short units.

    `watcher` sees every noisy copy that is counted.
    """

    def __init__(self, stop: Event, watcher: Watcher | None = None) -> None:
        self._stop = stop
        self._watcher = watcher

    def collect_with_sums(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, whole: WorkUnit
    ) -> tuple[Histogram, Sums]:
        counter = VoteCounter(classifier, x, setting, whole, self._watcher)
        votes = counter.count(whole.first, whole.first)
        for unit in cut(whole, setting.batch):
            if self._stop.is_set():
                raise Stopped
            votes += counter.count(unit.first, unit.stop)
        return votes, counter.sums

"""Votes counted by the calling thread: for inputs that share the machine, one thread each."""

from __future__ import annotations

from threading import Event

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.votes.collect import Collector, Setting, Stopped, VoteCounter, WorkUnit, cut
from dsrs.votes.tally import Counts


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

"""What runs on the nodes of a cluster: a classifier of their own, and threads that count votes."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.votes.collect import Setting, WorkUnit
from dsrs.votes.executors.model_spec import ModelSpec
from dsrs.votes.tally import Counts
from dsrs.votes.workers import VoteCollector


class VoteActor:
    """Counts units of work; `prepare` comes first."""

    def __init__(self) -> None:
        self._classifier: Classifier | None = None
        self._collector: VoteCollector | None = None

    def prepare(self, spec: ModelSpec, threads: int, where: str) -> None:
        """Build the classifier from this machine's files; another one than asked for is refused."""
        self._classifier = spec.build(where)
        self._collector = VoteCollector(threads)

    def count(
        self, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> tuple[Counts, float, int | None]:
        """The counts of a unit, and the processor seconds that they took.

        The last one is how many rows there is memory for, where there was not enough.
        """
        assert self._classifier is not None, "prepare comes first"
        assert self._collector is not None
        began = time.process_time()
        counts = self._collector.collect(self._classifier, x, setting, unit)
        fewer = self._classifier.rows_at_once
        return counts, time.process_time() - began, fewer

"""What runs on the nodes of a cluster: a classifier of their own, and threads that count votes."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.noise.stream import Sums
from dsrs.votes import Setting, VoteCollector, WorkUnit
from dsrs.votes.collect import Histogram
from dsrs.votes.executors.model_spec import ModelSpec


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
    ) -> tuple[Histogram, Sums, float, int | None]:
        """The votes of a unit, the sums of their noise where asked for, processor seconds.

        The last one is how many rows there is memory for, where there was not enough.
        """
        assert self._classifier is not None, "prepare comes first"
        assert self._collector is not None
        began = time.process_time()
        votes, sums = self._collector.collect_with_sums(self._classifier, x, setting, unit)
        fewer = self._classifier.rows_at_once
        return votes, sums, time.process_time() - began, fewer

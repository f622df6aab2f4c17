"""Threads of this process: together on one input after the other, or one input each."""

from __future__ import annotations

import itertools
import time
from threading import Event

from dsrs.kernels import thread_count
from dsrs.votes.collect import UNIT_SAMPLES, Collector
from dsrs.votes.executors.base import Executor
from dsrs.votes.inline import InlineCollector
from dsrs.votes.workers import VoteCollector

# Units of one input for each thread, at least, that they share it: the last unit leaves gaps.
UNITS_EACH = 4


class ThreadExecutor(Executor):
    """`workers` threads, all cores when None; `at_least` as many as the model has devices."""

    def __init__(self, workers: int | None = None, at_least: int = 0) -> None:
        self._shared = VoteCollector(max(thread_count(workers), at_least))
        self._one_input = True
        self._turns = itertools.count()
        self._opened = time.perf_counter(), time.process_time()

    def open(self) -> None:
        self._shared.__enter__()
        self._opened = time.perf_counter(), time.process_time()

    def close(self) -> None:
        self._shared.__exit__(None, None, None)

    def in_flight(self, votes: int, inputs: int) -> int:
        enough = UNITS_EACH * UNIT_SAMPLES * self._shared.workers
        self._one_input = inputs == 1 or votes >= enough
        # With two, no worker waits for the last votes, the certificate or the file of one input.
        return min(2, inputs) if self._one_input else self._shared.workers

    def collector(self, stop: Event) -> Collector:
        if self._one_input:
            return self._shared.until(stop)
        return InlineCollector(stop, next(self._turns))

    @property
    def place(self) -> str:
        return f"{self._shared.workers} threads of this machine"

    @property
    def busy(self) -> tuple[float, int]:
        wall, processor = self._opened
        spent = time.process_time() - processor
        return spent / max(time.perf_counter() - wall, 1e-9), self._shared.workers

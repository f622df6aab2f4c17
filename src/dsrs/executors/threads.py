"""Threads of this process: together on one input, or one input each."""

from __future__ import annotations

import time
from threading import Event

from dsrs.executors.base import Executor
from dsrs.sampling import Collector, InlineCollector, VoteCollector


class ThreadExecutor(Executor):
    """`workers` threads; all cores when None."""

    def __init__(self, workers: int | None = None) -> None:
        self._shared = VoteCollector(workers)
        self._one_input = True
        self._opened = time.perf_counter(), time.process_time()

    def open(self) -> None:
        self._shared.__enter__()
        self._opened = time.perf_counter(), time.process_time()

    def close(self) -> None:
        self._shared.__exit__(None, None, None)

    def in_flight(self, one_input_keeps_busy: bool) -> int:
        self._one_input = one_input_keeps_busy
        return 1 if one_input_keeps_busy else self._shared.workers

    def collector(self, stop: Event) -> Collector:
        return self._shared if self._one_input else InlineCollector(stop)

    @property
    def place(self) -> str:
        return f"{self._shared.workers} threads of this machine"

    @property
    def busy(self) -> tuple[float, int]:
        wall, processor = self._opened
        spent = time.process_time() - processor
        return spent / max(time.perf_counter() - wall, 1e-9), self._shared.workers

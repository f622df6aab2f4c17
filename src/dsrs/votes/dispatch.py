"""Units of work for workers that may join, die, or be slow: each is counted, and once.

A unit is given to a worker; when the worker is lost, to another one; when it takes far longer than
such a unit usually does and others have nothing to do, to another one as well. The first answer
counts and the rest are dropped: the votes of a unit are the same from every worker.

All decisions are made by one thread, in the order in which things happen.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

from dsrs.errors import ClusterError, DsrsError

LOG = logging.getLogger("dsrs")

TICK = 0.5  # seconds between looks at who is there and who is late
AT_ONCE = 2  # units that a worker has: it counts one and need not wait for the next
LATE_FACTOR, LATE_SECONDS = 4.0, 2.0
MOST_TRIES = 5  # workers that may be lost with one unit
PATIENCE = 120.0  # seconds without any worker


class WorkerLost(Exception):
    """The worker is gone, and what it had in hand with it."""


class Worker(Protocol):
    """Counts units of work elsewhere; all calls return at once."""

    name: str
    ready: Future[Any]  # done when it may be given work, or failed with why it may not

    def count(self, work: Any) -> Future[Any]: ...
    def dismiss(self) -> None: ...


class Crew(Protocol):
    """Starts workers, and tells which are new."""

    def recruit(self) -> Sequence[Worker]:
        """Workers that are new since the last call."""

    def lost(self, worker: Worker, refused: bool) -> None:
        """Take note that a worker is gone, or was not ready to work as asked."""


@dataclass(slots=True, eq=False)
class _Job:
    work: Any
    size: int
    answer: Future[Any]
    begun: bool = False
    tries: int = 0
    holders: dict[Any, float] = field(default_factory=dict)  # worker -> since when


class Dispatcher:
    """Gives units to the workers of a crew, until it is closed."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._events: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._waiting: deque[_Job] = deque()
        self._running: set[_Job] = set()
        self._free: dict[Worker, int] = {}  # ready workers and how many units they may still take
        self._joining: set[Worker] = set()
        self._refusal = ""
        self._alone_since = time.monotonic()
        self._last_tick = 0.0
        self.seconds_per_sample = 0.0  # of one worker, for those who cut units; 0: not known yet
        self._thread = Thread(target=self._run, name="dsrs-dispatch", daemon=True)
        self._thread.start()

    def submit(self, work: Any, size: int) -> Future[Any]:
        """What a worker returns for this work of `size` samples."""
        job = _Job(work, size, Future())
        self._events.put(lambda: self._queue(job))
        return job.answer

    @property
    def workers(self) -> int:
        """How many are ready now."""
        return len(self._free)

    def close(self) -> None:
        """Dismiss all workers; what is not counted yet is cancelled."""
        self._events.put(None)
        self._thread.join()

    def _run(self) -> None:
        event: Callable[[], None] | None = self._tick
        while event is not None:
            try:
                event()
            except Exception as error:
                # Whatever fails here, a lost connection to the cluster say, ends all waiting.
                self._refusal = f"{type(error).__name__}: {error}"
                self._fail(self._refusal)
            event = self._next_event()
        self._fail("the work was ended")
        for worker in {*self._free, *self._joining}:
            worker.dismiss()

    def _next_event(self) -> Callable[[], None] | None:
        wait = self._last_tick + TICK - time.monotonic()
        if wait <= 0:
            return self._tick
        try:
            return self._events.get(timeout=wait)
        except Empty:
            return self._tick

    def _queue(self, job: _Job) -> None:
        self._waiting.append(job)
        self._deal()

    def _deal(self) -> None:
        """Give waiting units to the workers with most room."""
        while self._waiting:
            worker = max(self._free, key=lambda one: self._free[one], default=None)
            if worker is None or not self._free[worker]:
                return
            job = self._waiting.popleft()
            # The answer may have been cancelled. From now on it cannot be.
            job.begun = job.begun or job.answer.set_running_or_notify_cancel()
            if job.begun and not job.answer.done():
                self._give(job, worker)

    def _give(self, job: _Job, worker: Worker) -> None:
        self._free[worker] -= 1
        self._running.add(job)
        job.holders[worker] = time.monotonic()
        found = worker.count(job.work)
        found.add_done_callback(
            lambda done: self._events.put(lambda: self._counted(job, worker, done))
        )

    def _counted(self, job: _Job, worker: Worker, found: Future[Any]) -> None:
        began = job.holders.pop(worker, None)
        error = found.exception() if not found.cancelled() else WorkerLost()
        if isinstance(error, WorkerLost):
            self._lose(worker, refused=False)
            if not job.holders and not job.answer.done():
                self._again(job)
        else:
            if worker in self._free:
                self._free[worker] += 1
            if not job.holders:
                self._running.discard(job)
            self._settle(job, found, error, began)
        self._deal()

    def _settle(
        self, job: _Job, found: Future[Any], error: BaseException | None, began: float | None
    ) -> None:
        if job.answer.done():
            return  # another worker was faster
        if error is not None:
            job.answer.set_exception(error)
            return
        if began is not None and job.size:
            # A worker with two units has begun with this one up to one unit later.
            each = (time.monotonic() - began) / job.size / AT_ONCE
            known = self.seconds_per_sample
            self.seconds_per_sample = each if not known else 0.8 * known + 0.2 * each
        job.answer.set_result(found.result())

    def _again(self, job: _Job) -> None:
        self._running.discard(job)
        job.tries += 1
        if job.tries < MOST_TRIES:
            self._waiting.appendleft(job)
            return
        job.answer.set_exception(
            ClusterError(
                f"{MOST_TRIES} workers were lost with the same unit of work; their logs may say why"
            )
        )

    def _lose(self, worker: Worker, refused: bool) -> None:
        known = worker in self._free or worker in self._joining
        self._free.pop(worker, None)
        self._joining.discard(worker)
        if known:
            self._crew.lost(worker, refused)
            worker.dismiss()

    def _tick(self) -> None:
        self._last_tick = now = time.monotonic()
        for worker in self._crew.recruit():
            self._joining.add(worker)
            self._expect(worker)
        if self._free or self._joining:
            self._alone_since = now
        elif self._refusal or now - self._alone_since > PATIENCE:
            self._fail(self._refusal or f"there was no worker for {PATIENCE:.0f} seconds")
        self._help_the_late(now)

    def _expect(self, worker: Worker) -> None:
        worker.ready.add_done_callback(
            lambda done: self._events.put(lambda: self._join(worker, done))
        )

    def _join(self, worker: Worker, ready: Future[Any]) -> None:
        if worker not in self._joining:
            return
        error = ready.exception() if not ready.cancelled() else WorkerLost()
        if error is None:
            self._joining.discard(worker)
            self._free[worker] = AT_ONCE
            self._deal()
            return
        refused = isinstance(error, DsrsError)
        if refused:
            self._refusal = str(error)
            LOG.warning("refused: %s", error)
        self._lose(worker, refused)

    def _help_the_late(self, now: float) -> None:
        """Give units that are late to idle workers as well."""
        if self._waiting or not self.seconds_per_sample:
            return
        idle = [worker for worker, room in self._free.items() if room == AT_ONCE]
        late = [
            (min(job.holders.values()), job)
            for job in self._running
            if len(job.holders) == 1 and not job.answer.done()
        ]
        for began, job in sorted(late, key=lambda pair: pair[0]):
            usual = AT_ONCE * job.size * self.seconds_per_sample
            if not idle or now - began < max(LATE_SECONDS, LATE_FACTOR * usual):
                return
            self._give(job, idle.pop())

    def _fail(self, why: str) -> None:
        for job in {*self._waiting, *self._running}:
            with suppress(InvalidStateError):  # it was answered or cancelled
                job.answer.set_exception(ClusterError(f"no worker is left: {why}"))
        self._waiting.clear()
        self._running.clear()

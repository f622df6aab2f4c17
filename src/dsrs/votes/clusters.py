"""Votes counted by actors of a Ray cluster, and the executors that `--cluster` knows by name."""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from threading import Event, Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.errors import ClusterError, InvalidInput, MissingExtra
from dsrs.kernels import MOST_WORKERS, available_cores
from dsrs.votes.collect import (
    UNIT_SAMPLES,
    Collector,
    Setting,
    Stopped,
    VoteCollector,
    WorkUnit,
    cut,
)
from dsrs.votes.dispatch import Dispatcher, Worker, WorkerLost
from dsrs.votes.executors import Executor, ModelSpec
from dsrs.votes.records import Counts

# ---- What runs on the nodes of a cluster: a classifier of their own, and threads that count votes


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


# ---- Actors of a Ray cluster: each holds the classifier, takes units of work, returns counts
#
# The driver, the process of `dsrs certify`, alone writes the run. Ray is an extra.

LOG = logging.getLogger("dsrs.counting")

LOCAL = "local"
UNIT_SECONDS = 0.5  # about how long a worker counts one unit, at least
DRIVER_SECONDS = 0.004  # of that for each worker: a unit takes the driver a third of it
MOST_SAMPLES = 2**16
MOST_LOSSES = 10  # actors of one node
MOST_IN_FLIGHT = 256


class RayExecutor(Executor):
    """`address` is `local` (a cluster on this machine, for this run) or that of a cluster.

    A node has one actor for each GPU with the device `cuda`, else one for each `threads` cores.
    """

    def __init__(
        self, spec: ModelSpec, address: str, *, threads: int = 1, device: str = "cpu"
    ) -> None:
        if not 1 <= threads <= MOST_WORKERS:
            raise InvalidInput(
                f"`threads_per_actor` must be from 1 to {MOST_WORKERS}, got {threads}"
            )
        self._ray = _imported_ray()
        self._spec, self._address, self._threads = spec, address, threads
        self._gpu = device.startswith("cuda")
        self._dispatcher: Dispatcher | None = None
        self._started = False
        self._opened, self._spent = time.perf_counter(), _Spent()

    def open(self) -> None:
        self._started = not self._ray.is_initialized()
        if self._started:
            connect_to_ray(self._ray, self._address, self._threads)
        self._opened, self._spent = time.perf_counter(), _Spent()
        self._dispatcher = Dispatcher(_Nodes(self._ray, self._spec, self._threads, self._gpu))

    def close(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.close()
            self._dispatcher = None
        if self._started:
            self._ray.shutdown()

    def in_flight(self, votes: int, inputs: int) -> int:
        # Two for each actor: while one is certified or waits for its last unit, others are counted.
        return min(max(4, 2 * self._slots()), MOST_IN_FLIGHT)

    def collector(self, stop: Event) -> Collector:
        assert self._dispatcher is not None, "the executor is not open"
        return _RayCollector(self._ray, self._dispatcher, self._threads, stop, self._spent)

    @property
    def place(self) -> str:
        what = "a GPU" if self._gpu else f"{self._threads} threads"
        return f"a Ray cluster ({self._address}), actors of {what} each"

    @property
    def busy(self) -> tuple[float, int]:
        wall = max(time.perf_counter() - self._opened, 1e-9)
        return self._spent.seconds / wall, self._threads * self._slots()

    def fewest_rows(self, classifier: Classifier) -> int | None:
        return self._spent.rows

    def _slots(self) -> int:
        return sum(_slots(node, self._threads, self._gpu) for node in self._ray.nodes())


class _Spent:
    """Processor time of the actors, and the rows that one had memory for, from several threads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rows: int | None = None
        self._lock = Lock()

    def add(self, seconds: float, rows: int | None) -> None:
        with self._lock:
            self.seconds += seconds
            if rows is not None and (self.rows is None or rows < self.rows):
                self.rows = rows
                LOG.warning("an actor ran out of memory: it takes %d rows at a time", rows)


class _RayCollector(Collector):
    """Counts the votes of one input, cut into units for the actors that are free."""

    def __init__(
        self, ray: Any, dispatcher: Dispatcher, threads: int, stop: Event, spent: _Spent
    ) -> None:
        self._ray, self._dispatcher, self._threads = ray, dispatcher, threads
        self._stop, self._spent = stop, spent

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        del classifier  # the actors have their own
        image = self._ray.put(x)
        answers = [
            self._dispatcher.submit((image, setting, part), part.stop - part.first)
            for part in cut(unit, setting.batch, self._samples())
        ]
        try:
            counted = [self._waited(answer) for answer in answers]
        finally:
            for answer in answers:
                answer.cancel()
        parts, seconds, rows = zip(*counted, strict=True)
        self._spent.add(sum(seconds), min(filter(None, rows), default=None))
        # What comes from Ray's store cannot be written to.
        total = Counts.zero(len(parts[0].votes), unit.tallies)
        for counts in parts:
            total.merge(counts)
        return total

    def _samples(self) -> int:
        """Samples of a unit that keeps an actor busy, and leaves the driver time for all others."""
        each = self._dispatcher.seconds_per_sample
        seconds = max(UNIT_SECONDS, DRIVER_SECONDS * self._dispatcher.workers)
        samples = seconds / each if each else UNIT_SAMPLES * self._threads
        whole = min(samples, MOST_SAMPLES) // UNIT_SAMPLES
        return UNIT_SAMPLES * max(1, int(whole))

    def _waited(self, answer: Future[Any]) -> Any:
        while not self._stop.is_set():
            try:
                return answer.result(timeout=0.2)
            except NotYet:
                continue
        raise Stopped


class _Nodes:
    """The crew: as many actors as every node of the cluster has room for."""

    def __init__(self, ray: Any, spec: ModelSpec, threads: int, gpu: bool) -> None:
        self._ray, self._spec, self._threads, self._gpu = ray, spec, threads, gpu
        self._here: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()
        self._refused: set[str] = set()

    def recruit(self) -> Sequence[Worker]:
        made = []
        for node in self._ray.nodes():
            key = node["NodeID"]
            if key in self._refused or self._losses[key] >= MOST_LOSSES:
                continue
            for _ in range(_slots(node, self._threads, self._gpu) - self._here[key]):
                self._here[key] += 1
                made.append(self._actor(key, node["NodeManagerHostname"]))
        return made

    def lost(self, worker: Worker, refused: bool) -> None:
        assert isinstance(worker, _RayWorker)
        self._here[worker.node] -= 1
        self._losses[worker.node] += 1
        if refused:
            self._refused.add(worker.node)

    def _actor(self, node: str, host: str) -> _RayWorker:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        options: dict[str, Any] = {
            "num_cpus": self._threads,
            "max_concurrency": 1,
            "scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False),
        }
        if self._gpu:
            options |= {"num_gpus": 1}
        actor = self._ray.remote(VoteActor).options(**options).remote()
        name = f"node {node[:8]} ({host})"
        prepared = actor.prepare.remote(self._spec, self._threads, name)
        return _RayWorker(self._ray, actor, node, name, prepared)


class _RayWorker:
    """One actor, as the dispatcher sees it."""

    def __init__(self, ray: Any, actor: Any, node: str, name: str, prepared: Any) -> None:
        self._ray, self._actor, self.node, self.name = ray, actor, node, name
        self.ready = self._future(prepared)

    def count(self, work: Any) -> Future[Any]:
        image, setting, unit = work
        return self._future(self._actor.count.remote(image, setting, unit))

    def dismiss(self) -> None:
        self._ray.kill(self._actor)

    def _future(self, reference: Any) -> Future[Any]:
        """The answer, in the words of the dispatcher: the error, or that the actor is gone."""
        answer: Future[Any] = Future()

        def pass_on(done: Future[Any], kept: Any = reference) -> None:
            del kept  # Ray forgets an answer without a reference to it
            error = done.exception()
            if error is None:
                answer.set_result(done.result())
            elif isinstance(error, self._ray.exceptions.RayTaskError):
                answer.set_exception(getattr(error, "cause", None) or error)
            else:
                answer.set_exception(WorkerLost(f"{self.name}: {error}"))

        reference.future().add_done_callback(pass_on)
        return answer


def _slots(node: dict[str, Any], threads: int, gpu: bool) -> int:
    """How many actors a node has room for."""
    if not node["Alive"]:
        return 0
    resources = node["Resources"]
    room = int(resources.get("CPU", 0) // threads)
    return min(room, int(resources.get("GPU", 0))) if gpu else room


def connect_to_ray(ray: Any, address: str, threads: int) -> None:
    """Start a cluster on this machine, or join the one at `address`."""
    refusals = (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address == LOCAL:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            cores = max(available_cores(), threads)
            ray.init(address=LOCAL, num_cpus=cores, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except refusals as error:
        raise ClusterError(
            f"there is no Ray cluster at {address!r}: {str(error).strip().splitlines()[0]}; "
            "expected `local`, `auto`, HOST:6379 or ray://HOST:10001, and for a cluster with "
            "tokens the same RAY_AUTH_MODE and token as its nodes have"
        ) from error


def _imported_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtra("ray", "ray") from None


# ---- The executors that `dsrs certify --cluster` knows, by name


class Factory(Protocol):
    """Makes an executor that counts the votes of a model elsewhere."""

    def __call__(self, spec: ModelSpec, address: str, *, threads: int, device: str) -> Executor:
        """The executor at an address.

        Args:
            spec: how to build the model there.
            address: what follows --cluster.
            threads: cores of each worker.
            device: where the model runs.
        """


RAY = "ray"

# A new executor is added here.
EXECUTORS: dict[str, Factory] = {RAY: RayExecutor}


def register_executor(name: str, factory: Factory) -> None:
    """Make an executor of another package known to `--cluster`, as NAME or NAME://ADDRESS."""
    if EXECUTORS.get(name, factory) is not factory:
        raise InvalidInput(f"there is an executor named {name!r} already")
    EXECUTORS[name] = factory


def executor_at(address: str, spec: ModelSpec, *, threads: int, device: str) -> Executor:
    """The executor at `address`: NAME or NAME://ADDRESS; all other addresses are Ray's."""
    name, is_scheme, _ = address.partition("://")
    if is_scheme and name not in EXECUTORS:
        raise InvalidInput(f"{address!r} must begin with one of {', '.join(EXECUTORS)}")
    factory = EXECUTORS.get(name, EXECUTORS[RAY])
    return factory(spec, address, threads=threads, device=device)

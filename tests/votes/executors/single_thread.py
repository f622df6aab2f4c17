"""An executor that the package does not know: the thread that asks counts the votes itself."""

from __future__ import annotations

from threading import Event

from dsrs.votes import Collector, InlineCollector
from dsrs.votes.executors import Cluster, Executor, ModelSpec


class SingleThread(Executor):
    """Counts with one thread, in the process that asks."""

    opened = 0

    def __init__(self, spec: ModelSpec, cluster: Cluster) -> None:
        self.name = f"{spec.name} at {cluster.address}"

    def open(self) -> None:
        SingleThread.opened += 1

    def close(self) -> None:
        pass

    def in_flight(self, votes: int, inputs: int) -> int:
        return 1

    def collector(self, stop: Event) -> Collector:
        return InlineCollector(stop)

    @property
    def place(self) -> str:
        return f"one thread ({self.name})"

    @property
    def busy(self) -> tuple[float, int]:
        return 1.0, 1

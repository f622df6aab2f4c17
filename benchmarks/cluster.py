"""What a Ray cluster costs: two actors against two threads, and the driver's time for a unit.

    python benchmarks/cluster.py            needs dsrs[ray], dsrs[torch] and Linux's /proc

Both certify the same inputs of a small CNN; their runs must be equal. Processor time of actors is
read from the system, so that time lost to other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from random_models import SHAPE, small_cnn

from dsrs.certifying import certify_run
from dsrs.classifiers import load_classifier
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.noise import Stream
from dsrs.store import open_run
from dsrs.votes import Executor, ModelSpec, RayExecutor, Setting, ThreadExecutor, WorkUnit

ACTOR = "ray::VoteActor"


def actor_seconds() -> float:
    """Processor time of all actors of this machine."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_text().startswith(ACTOR):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:
            continue  # it has ended meanwhile
    return total / os.sysconf("SC_CLK_TCK")


class Watched(RayExecutor):
    """Notes what its actors spent from when they were ready, before they go."""

    def open(self) -> None:
        super().open()
        # The first votes load the model and the kernels.
        law = GeneralizedGaussian(int(np.prod(SHAPE)), 0.5)
        setting = Setting(0, 256, Grid.of_bounds((0.0, 1.0)))
        unit = WorkUnit(0, Stream("warm", law), 0, 8192)
        collector = self.collector(Event())
        for _ in range(2):
            collector.collect(None, np.zeros(SHAPE, np.float32), setting, unit)  # type: ignore[arg-type]
        self.began, self.spent = time.perf_counter(), actor_seconds()
        self.driver = time.process_time()

    def close(self) -> None:
        self.driver = time.process_time() - self.driver
        self.spent = actor_seconds() - self.spent
        self.took = time.perf_counter() - self.began
        super().close()


def contents(path: Path) -> tuple[list[Any], int]:
    with open_run(path) as run:
        found = [(one.index, one.votes, one.certificates) for one in run.results()]
    return found, sum(votes.total for _, streams, _ in found for votes in streams)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--inputs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--actors", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "net.onnx").write_bytes(small_cnn())
        options: dict[str, Any] = {"input_shape": SHAPE}
        model = load_classifier(home / "net.onnx", **options)
        spec = ModelSpec.of(home / "net.onnx", options, model)
        images = np.random.default_rng(0).random((arguments.inputs, *SHAPE), dtype=np.float32)
        data = Dataset.from_arrays(images, np.zeros(arguments.inputs, dtype=np.int64))
        law = GeneralizedGaussian(int(np.prod(SHAPE)), 0.5)
        plan = Plan(law, ("np",), n=arguments.n, grid=Grid.of_bounds((0.0, 1.0)))

        def take(name: str, executor: Executor) -> tuple[float, float]:
            wall, processor = time.perf_counter(), time.process_time()
            certify_run(model, data, plan, range(arguments.inputs), home / name, executor=executor)
            return time.perf_counter() - wall, time.process_time() - processor

        take("warm", ThreadExecutor(arguments.actors))
        threads, cluster = np.zeros(2), np.zeros(3)
        for turn in range(arguments.rounds):
            threads += take(f"threads-{turn}", ThreadExecutor(arguments.actors))
            watched = Watched(spec, "local")
            take(f"cluster-{turn}", watched)
            cluster += watched.took, watched.spent, watched.driver
            expected, votes = contents(home / f"threads-{turn}")
            assert contents(home / f"cluster-{turn}") == (expected, votes), "the runs differ"
        total = votes * arguments.rounds
        print(f"{arguments.rounds} x {arguments.inputs} inputs, {votes:,} votes; runs are equal")
        used = cluster[1] + cluster[2]
        for name, wall, processor in (("threads", *threads), ("cluster", cluster[0], used)):
            rate, each = total / wall, processor / total * 1e6
            print(f"{name}  {rate:9,.0f} votes/s  {each:7.2f} us of a core a vote")
        print(f"the driver's part  {cluster[2] / total * 1e6:7.2f} us")
        print(f"processor time a vote: {used / threads[1] - 1:+.1%} against threads")
        driver_overhead()


def driver_overhead(units: int = 400) -> None:
    """Time of the driver for a unit, with units that are counted at once."""
    options: dict[str, Any] = {"input_shape": SHAPE, "num_classes": 10}
    name = "cluster:instant"
    known = load_classifier(name, **options)
    executor = RayExecutor(ModelSpec.of(name, options, known), "local")
    law = GeneralizedGaussian(int(np.prod(SHAPE)), 0.5)
    setting = Setting(0, 16, Grid.of_bounds((0.0, 1.0)))
    x = np.zeros(SHAPE, np.float32)
    with executor:
        collector = executor.collector(Event())
        collector._samples = lambda: 16  # type: ignore[attr-defined]
        collector.collect(known, x, setting, WorkUnit(0, Stream("warm", law), 0, 160))
        wall, processor = time.perf_counter(), time.process_time()
        collector.collect(known, x, setting, WorkUnit(0, Stream("units", law), 0, 16 * units))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"a unit costs the driver {processor / units * 1e3:.2f} ms of a core, "
        f"{wall / units * 1e3:.2f} ms of time with units of 16 votes"
    )


def instant(batch: Any) -> Any:
    """A classifier that takes no time."""
    return np.zeros(len(batch), dtype=np.int64)


if __name__ == "__main__":
    main()

"""Forward passes alone, and a process that is held while they run and let go while they rest."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

WINDOW = 0.25  # seconds that one side runs while the other is held


class Cost(NamedTuple):
    """Seconds of a row."""

    wall: float
    processor: float


class Raw:
    """Forward passes alone: `workers` threads with `threads` cores each."""

    def __init__(
        self, model: bytes, shape: tuple[int, ...], batch: int, workers: int, threads: int
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session: Any = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._source = self._session.get_inputs()[0].name
        self._target = self._session.get_outputs()[0].name
        self._workers, self._batch = workers, batch
        self._pool = ThreadPoolExecutor(workers)
        # More batches than a processor's cache holds, as a model meets them in use.
        self._ready = np.random.default_rng(1).random((32, batch, *shape), dtype=np.float32)
        self.text = f"{workers} x {threads} threads"
        self.clear()

    def clear(self) -> None:
        self._rows, self._wall, self._processor = 0, 0.0, 0.0

    @property
    def cost(self) -> Cost:
        return Cost(self._wall / self._rows, self._processor / self._rows)

    def one_pass(self, turn: int) -> None:
        self._session.run([self._target], {self._source: self._ready[turn % len(self._ready)]})

    def run(self, seconds: float) -> None:
        """Forward passes on all threads for about so long."""
        begun, processor = time.perf_counter(), time.process_time()

        def work(worker: int) -> tuple[int, float]:
            turn = 0
            while not turn or time.perf_counter() < begun + seconds:
                self.one_pass(turn * self._workers + worker)
                turn += 1
            return turn * self._batch, time.perf_counter() - begun

        done = list(self._pool.map(work, range(self._workers)))
        rows = sum(one for one, _ in done)
        self._processor += time.process_time() - processor
        # Threads end at different times: that one waits for the other is none of its slowness.
        self._wall += rows / sum(one / lasted for one, lasted in done)
        self._rows += rows


def held_to_raw(command: list[str], raw: Raw) -> tuple[Cost, Cost, dict[str, float]]:
    """What a row costs raw, and by a process that says when it counts; both in turns."""
    raw.clear()
    running: list[tuple[float, float]] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            while process.poll() is None:
                begun = time.perf_counter()
                time.sleep(WINDOW)
                process.send_signal(signal.SIGSTOP)
                running.append((begun, time.perf_counter()))
                raw.run(WINDOW)
                process.send_signal(signal.SIGCONT)
        except BaseException:
            process.kill()  # it would be waited for, and may be held
            raise
        assert process.stdout is not None
        told: dict[str, float] = json.loads(process.stdout.read().splitlines()[-1])
    if process.returncode:
        raise SystemExit(f"{command} failed")
    first, last = told["begun"], told["ended"]
    wall = sum(max(0.0, min(end, last) - max(begin, first)) for begin, end in running)
    return raw.cost, Cost(wall / told["rows"], told["processor"] / told["rows"]), told

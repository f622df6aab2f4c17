"""Votes against the model's own forward passes, from Python and by `dsrs certify`, in one run.

    python benchmarks/sampling_throughput.py [--model resnet-20]   wall time and processor time
    python benchmarks/sampling_throughput.py --beside 1            the same beside a busy process
    python benchmarks/sampling_throughput.py --against-float [--model resnet-20]
                                                        noise on the grid against noise in float32
    python benchmarks/sampling_throughput.py --memory   peak memory for n = 1,000 to 1,000,000

Raw forward passes are ONNX Runtime alone, without the classes of its answers, on ready-made batches
of the same shape: either as many threads as the sampler has workers with a core each, or one call
at a time on all cores, whichever is faster here. Slices of all three alternate and each is held to
the raw slices beside it, so that other work on the machine slows all alike. Votes are counted by
the rows that the model answered: those that fill up a batch are the plan's, not the sampler's.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from random_models import MODELS, SHAPE, small_cnn

from dsrs.classifiers import Classifier
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.grid import Grid
from dsrs.laws import GeneralizedGaussian, Truncated, Weighted
from dsrs.runs import open_run
from dsrs.sampling import VoteCollector
from dsrs.sampling.noise import NoiseLaw, NoiseStream
from dsrs.sampling.workers import available_cores
from dsrs.strategies import Plan, certificates_of
from dsrs.votes import ESTIMATION
from dsrs.voting import sample_input

COMMAND = "import sys; from dsrs.cli.main import main; sys.exit(main())"
INPUTS = 4  # of one run of the command


class Cost(NamedTuple):
    """Seconds of a row."""

    wall: float
    processor: float


def measured(work: Callable[[], int]) -> Cost:
    """What a row costs; `work` returns how many there were."""
    wall, processor = time.perf_counter(), _processor()
    rows = work()
    return Cost((time.perf_counter() - wall) / rows, (_processor() - processor) / rows)


def _processor() -> float:
    """Of this process and of those that it waited for."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


class Raw:
    """Forward passes alone: `workers` threads with `threads` cores each."""

    def __init__(
        self, model: bytes, shape: tuple[int, ...], batch: int, workers: int, threads: int
    ):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session: Any = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._workers, self._batch = workers, batch
        self._pool = ThreadPoolExecutor(workers)
        # More batches than a processor's cache holds, as a model meets them in use.
        self._ready = np.random.default_rng(1).random((32, batch, *shape), dtype=np.float32)
        self.text = f"{workers} x {threads} threads"

    def __call__(self, rows: int) -> int:
        passes = max(1, rows // (self._batch * self._workers))
        source, target = self._session.get_inputs()[0].name, self._session.get_outputs()[0].name

        def work(worker: int) -> None:
            for turn in range(passes):
                batch = self._ready[(turn * self._workers + worker) % len(self._ready)]
                self._session.run([target], {source: batch})

        list(self._pool.map(work, range(self._workers)))
        return passes * self._batch * self._workers


def throughput(name: str, n: int, rounds: int, workers: int, k: float) -> None:
    make, shape = MODELS[name]
    model, d = make(), int(np.prod(shape))
    plan = Plan(GeneralizedGaussian(d, 0.5, k), n=n, grid=Grid.of_bounds((0.0, 1.0)))
    classifier = from_onnx(model)
    x = np.random.default_rng(2).integers(0, 256, (INPUTS, *shape), dtype=np.uint8)
    image = x[0].astype(np.float32) / 255
    ways = [Raw(model, shape, plan.batch, *split) for split in ((workers, 1), (1, workers))]
    with tempfile.TemporaryDirectory() as folder, VoteCollector(workers) as collector:
        home = Path(folder)
        (home / "net.onnx").write_bytes(model)
        np.savez(home / "images.npz", x=x, y=np.zeros(INPUTS, np.int64))

        def from_python(index: int) -> int:
            seen = sample_input(classifier, image, plan, index, 0, collector)
            certificates_of(seen, plan)
            return seen.queries or 0

        def command(label: str, votes: int, inputs: int) -> int:
            return _certify(home, label, votes, inputs, workers, k)

        from_python(0)
        command("warm", 1000, 1)
        raw = min(ways, key=lambda way: min(measured(lambda: way(n // 2)).wall for _ in range(3)))
        ratios: dict[str, list[Cost]] = {"from Python": [], "by command": []}
        costs: dict[str, list[Cost]] = {"raw": [], "from Python": [], "by command": []}
        starts: list[Cost] = []
        for turn in range(rounds):
            before = measured(lambda: raw(n))
            costs["from Python"].append(measured(lambda t=turn: from_python(t)))  # type: ignore[misc]
            between = measured(lambda: raw(n))
            # The command loads Python, the model and the data: that is not counting votes.
            rows = 0
            start = measured(lambda t=turn: command(f"start-{t}", 256, 1) and 1)  # type: ignore[misc]

            def counting(label: str = f"run-{turn}") -> int:
                nonlocal rows
                rows = command(label, n, INPUTS)
                return 1

            whole = measured(counting)
            after = measured(lambda: raw(n))
            counted = Cost(*((w - s) / rows for w, s in zip(whole, start, strict=True)))
            costs["by command"].append(counted)
            costs["raw"] += [before, between, after]
            starts.append(start)
            for way, one, beside in (
                ("from Python", costs["from Python"][-1], (before, between)),
                ("by command", counted, (between, after)),
            ):
                mean = Cost(*(sum(pair) / 2 for pair in zip(*beside, strict=True)))
                ratios[way].append(Cost(mean.wall / one.wall, mean.processor / one.processor))
    print(f"{name}, random weights; {plan.law.describe()}; {workers} workers; raw: {raw.text};")
    print(f"{rounds} rounds of {n:,} rows from Python, {INPUTS} x {n:,} by command; medians")
    print(f"{'':12} {'rows/s':>8} {'core us':>8}   of raw: {'wall':<24}processor")
    for way, found in costs.items():
        wall, core = (statistics.median(values) for values in zip(*found, strict=True))
        share = (
            "".join(f"{_spread(values):24}" for values in zip(*ratios[way], strict=True))
            if (way in ratios)
            else ""
        )
        print(f"{way:12} {1 / wall:8,.0f} {core * 1e6:8.2f}           {share}")
    wall, core = (statistics.median(values) for values in zip(*starts, strict=True))
    print(f"the command starts in {wall:.2f} s ({core:.2f} s of a core), which is not in its rows")
    busy = statistics.median(one.processor / one.wall for one in costs["raw"])
    print(f"cores that raw forward passes got: {busy:.2f} of {workers}")
    for of in (plan.law, Truncated(plan.law, 0.7), _weighted(plan.law)):
        print(f"noise of {of.describe()}: {noise_cost(of, image.ravel(), plan.batch) * 1e6:.2f} us")


def _spread(values: tuple[float, ...]) -> str:
    return f"{statistics.median(values):.1%} ({min(values):.1%} to {max(values):.1%})"


def _weighted(law: GeneralizedGaussian) -> Weighted:
    return Weighted(law, (0.9 * law.m, 1.1 * law.m), (0.0, -1.0), inner=0.0)


def _certify(home: Path, label: str, n: int, inputs: int, workers: int, k: float) -> int:
    """Run the command; how many rows its model answered."""
    options = {"--model": home / "net.onnx", "--data": home / "images.npz", "--sigma": 0.5}
    options |= {"--k": k, "--n": n, "--stop": inputs, "--workers": workers}
    given = [str(part) for pair in options.items() for part in pair]
    run = home / label
    command = [sys.executable, "-c", COMMAND, "certify", *given, "--output", str(run), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open_run(run) as finished:
        return sum(one.sampled.queries or 0 for one in finished.results())


def noise_cost(law: NoiseLaw, x: np.ndarray[Any, Any], batch: int) -> float:
    """Processor seconds of one noisy copy."""
    stream = NoiseStream(law, 0, 0, ESTIMATION, Grid.of_bounds((0.0, 1.0)))
    noisy, norms = np.empty((batch, x.size), np.float32), np.empty(batch)
    stream.add_to(x, 0, noisy, norms)
    started = time.thread_time()
    for block in range(50):
        stream.add_to(x, block * batch, noisy, norms)
    return (time.thread_time() - started) / (50 * batch)


def against_float(classifier: Classifier, n: int, rounds: int, workers: int, k: float) -> None:
    """Processor time and wall time of votes on the grid over those of votes in float32.

    Short slices of both alternate, as above.
    """
    d = int(np.prod(classifier.input_shape))
    law = GeneralizedGaussian(d, 0.5, k)
    x = np.random.default_rng(2).random(classifier.input_shape, dtype=np.float32)
    plans = [Plan(law, ("np",), n=n, grid=grid) for grid in (Grid.of_bounds((0.0, 1.0)), None)]
    wall, processor = [0.0, 0.0], [0.0, 0.0]
    with VoteCollector(workers) as collector:
        for plan in plans:
            sample_input(classifier, x, plan.replace(n=1000), 0, 0, collector)
        for index in range(rounds):
            for place in (0, 1) if index % 2 else (1, 0):
                cpu = time.process_time()
                wall[place] += sample_input(
                    classifier, x, plans[place], index, 0, collector
                ).seconds
                processor[place] += time.process_time() - cpu
    print(f"noise: {law.describe()}; workers: {workers}; {rounds} x {n:,} votes each")
    for name, place in (("on the grid", 0), ("in float32", 1)):
        each = processor[place] / (n * rounds) * 1e6
        print(
            f"{name:14} {rounds * n / wall[place]:10,.0f} votes/s  {each:.2f} us of a core a vote"
        )
    print(f"throughput     {wall[1] / wall[0]:10.1%} of float32's by wall time")
    print(f"               {processor[1] / processor[0]:10.1%} by processor time")


def peak_memory(n: int) -> float:
    """Peak resident megabytes of a fresh process that samples one input n times."""
    command = [sys.executable, __file__, "--peak-of", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sample_and_print_peak(n: int) -> None:
    plan = Plan(GeneralizedGaussian(784, 0.5), ("np",), n=n)
    sample_input(from_onnx(small_cnn()), np.zeros(SHAPE, np.float32), plan, 0, None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--n", type=int, help="votes of a slice (mnist-cnn 49,152, resnet-20 6,144)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--k", type=float, default=0.0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--against-float", action="store_true")
    parser.add_argument("--model", choices=MODELS, default="mnist-cnn")
    parser.add_argument("--beside", type=int, default=0, help="busy processes beside this one")
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n = arguments.n or (49_152 if arguments.model == "mnist-cnn" else 6_144)
    if arguments.peak_of:
        sample_and_print_peak(arguments.peak_of)
    elif arguments.memory:
        for votes in (1_000, 10_000, 100_000, 1_000_000):
            print(f"n = {votes:9,}: {peak_memory(votes):7.1f} MB")
    elif arguments.against_float:
        model = from_onnx(MODELS[arguments.model][0]())
        against_float(model, n, arguments.rounds, arguments.workers, arguments.k)
    else:
        loop = [sys.executable, "-c", "while True: pass"]
        others = [subprocess.Popen(loop) for _ in range(arguments.beside)]
        try:
            throughput(arguments.model, n, arguments.rounds, arguments.workers, arguments.k)
        finally:
            for other in others:
                other.kill()


if __name__ == "__main__":
    main()

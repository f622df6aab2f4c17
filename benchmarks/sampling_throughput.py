"""Votes against the model's own forward passes, from Python and by `dsrs certify`, in one run.

    python benchmarks/sampling_throughput.py [--model resnet-20]   wall time and processor time
    python benchmarks/sampling_throughput.py --beside 2            the same beside busy processes
    python benchmarks/sampling_throughput.py --against-float [--model resnet-20]
                                                        noise on the grid against noise in float32
    python benchmarks/sampling_throughput.py --memory   peak memory for n = 1,000 to 1,000,000

Raw forward passes are ONNX Runtime alone, without the classes of its answers, on ready-made batches
of the same shape: either as many threads as the sampler has workers with a core each, or one call
at a time on all cores, whichever is faster here. Votes are counted by another process, which is
held while raw passes run and let go while they rest, every quarter of a second: whatever else the
machine does slows both alike. Rows are what the model answered; those that fill up a last batch are
the plan's, not the sampler's. Loading Python, the model and the data is not counting.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from random_models import MODELS, SHAPE, small_cnn
from raw_passes import WINDOW, Cost, Raw, held_to_raw

from dsrs.certifying import sample_input, setting_of
from dsrs.classifiers import Classifier, from_onnx
from dsrs.kernels import available_cores
from dsrs.laws import GeneralizedGaussian, Grid, Truncated, Weighted
from dsrs.methods import Plan, certificates_of
from dsrs.noise import NoiseLaw, NoiseStream, Stream
from dsrs.store import open_run
from dsrs.votes import ESTIMATION, VoteCollector, VoteCounter, WorkUnit

FROM_PYTHON, BY_COMMAND = "from Python", "by command"
INPUTS = 2


Mark = Callable[[], None]


def count_and_tell(way: str, home: Path, plan: Plan, workers: int) -> None:
    """In a process of its own: count votes, then print when, how long and how many rows."""
    told: dict[str, float] = {}

    def begin() -> None:
        told["start"] = time.process_time()
        told["begun"] = time.perf_counter()

    def end() -> None:
        told["ended"] = time.perf_counter()
        told["processor"] = time.process_time() - told["start"]

    counting = by_command if way == BY_COMMAND else from_python
    told["rows"] = counting(home, plan, workers, begin, end)
    print(json.dumps(told), flush=True)


def from_python(home: Path, plan: Plan, workers: int, begin: Mark, end: Mark) -> int:
    classifier = from_onnx(home / "net.onnx")
    images = np.load(home / "images.npz")["x"].astype(np.float32) / 255
    load_kernels(classifier, images[0], plan)
    with VoteCollector(workers) as collector:
        begin()
        rows = 0
        for index, image in enumerate(images):
            seen = sample_input(classifier, image, plan, index, 0, collector)
            certificates_of(seen, plan)
            rows += seen.queries or 0
        end()
    return rows


def load_kernels(classifier: Classifier, image: NDArray[np.float32], plan: Plan) -> None:
    """Compiled code is loaded when it is first used, which is not counting either."""
    few = plan.replace(n=1024)
    certificates_of(sample_input(classifier, image, few, 0, 0), few)


def by_command(home: Path, plan: Plan, workers: int, begin: Mark, end: Mark) -> int:
    """`dsrs certify` as a user gives it; it logs when it begins to count and when it has ended."""
    from dsrs.cli.main import main as dsrs

    model = from_onnx(home / "net.onnx")
    load_kernels(model, np.zeros(model.input_shape, np.float32), plan)

    class Clock(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("counting"):
                begin()
            elif record.getMessage().startswith("busy"):
                end()

    logger = logging.getLogger("dsrs.counting")
    logger.setLevel(logging.INFO)
    logger.addHandler(Clock())
    run = home / f"run-{os.getpid()}"
    options = {"--model": home / "net.onnx", "--data": home / "images.npz", "--sigma": 0.5}
    options |= {"--k": plan.law.k, "--n": plan.n, "--workers": workers, "--output": run}
    options |= {"--q": plan.methods[-1] if len(plan.methods) > 1 else "none"}
    code = dsrs(["certify", *(str(part) for pair in options.items() for part in pair)])
    assert code == 0, code
    with open_run(run) as finished:
        return sum(one.sampled.queries or 0 for one in finished.results())


def batch_by_batch(model: bytes, shape: tuple[int, ...], plan: Plan, batches: int) -> None:
    """Processor time of one thread: a raw forward pass, then a batch of votes, and so on."""
    raw, classifier = Raw(model, shape, plan.batch, 1, 1), from_onnx(model)
    unit = WorkUnit(0, Stream(ESTIMATION, plan.law), 0, plan.n)
    counter = VoteCounter(classifier, np.full(shape, 0.5, np.float32), setting_of(plan), unit)
    spent: tuple[list[float], list[float]] = ([], [])
    for turn in range(batches):
        first = turn * plan.batch
        for times, work in (
            (spent[0], lambda t=turn: raw.one_pass(t)),
            (spent[1], lambda f=first: counter.count(f, f + plan.batch)),
        ):
            started = time.thread_time()
            work()
            times.append((time.thread_time() - started) / plan.batch * 1e6)
    for name, share in (("least disturbed tenth", 0.1), ("median", 0.5)):
        passed, voted = (float(np.quantile(times, share)) for times in spent)
        print(
            f"batch by batch, {name}: {passed:.2f} of {voted:.2f} us a vote, {passed / voted:.1%}"
        )


def throughput(name: str, plan: Plan, rounds: int, workers: int) -> None:
    make, shape = MODELS[name]
    model = make()
    x = np.random.default_rng(2).integers(0, 256, (INPUTS, *shape), dtype=np.uint8)
    ways = [Raw(model, shape, plan.batch, *split) for split in ((workers, 1), (1, workers))]
    for _ in range(3):
        for candidate in ways:
            candidate.run(2 * WINDOW)
    raw = min(ways, key=lambda candidate: candidate.cost.wall)
    found: dict[str, list[tuple[Cost, Cost, dict[str, float]]]] = {FROM_PYTHON: [], BY_COMMAND: []}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "net.onnx").write_bytes(model)
        np.savez(home / "images.npz", x=x, y=np.zeros(INPUTS, np.int64))
        options = ["--home", folder, *sys.argv[1:]]
        for turn in range(-1, rounds):
            for way, costs in found.items():
                command = [sys.executable, __file__, "--count", way, *options]
                measured = held_to_raw(command, raw)
                if turn >= 0:  # the first time kernels may have to be compiled
                    costs.append(measured)
    print(f"{name}, random weights; {plan.law.describe()}; {workers} workers; raw: {raw.text};")
    print(
        f"medians of {rounds} rounds, {INPUTS} inputs of {plan.n:,} votes a method: {plan.methods}"
    )
    print(f"{'':12} {'rows/s':>8} {'core us':>8}   raw: {'core us':>8}   of raw: wall, processor")
    for way, costs in found.items():
        raw_us, wall, us, start = (
            statistics.median(values)
            for values in zip(
                *((r.processor, c.wall, c.processor, told["start"]) for r, c, told in costs),
                strict=True,
            )
        )
        shares = [
            _spread([r[kind] / c[kind] for r, c, _ in costs]) for kind in range(len(Cost._fields))
        ]
        print(f"{way:12} {1 / wall:8,.0f} {us * 1e6:8.2f}        {raw_us * 1e6:8.2f}   ", *shares)
        print(f"{'':12} ready to count after {start:.2f} s of a core")
    busy = statistics.median(r.processor / r.wall for costs in found.values() for r, _, _ in costs)
    print(f"cores that raw forward passes got: {busy:.2f} of {workers}")
    batch_by_batch(model, shape, plan, 240 if name == "mnist-cnn" else 24)
    image = x[0].astype(np.float32).ravel() / 255
    for of in (plan.law, Truncated(plan.law, 0.7), _weighted(plan.law)):
        print(f"noise of {of.describe()}: {noise_cost(of, image, plan.batch) * 1e6:.2f} us")


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):6.1%} ({min(values):.1%} to {max(values):.1%})"


def _weighted(law: GeneralizedGaussian) -> Weighted:
    return Weighted(law, (0.9 * law.m, 1.1 * law.m), (0.0, -1.0), inner=0.0)


def noise_cost(law: NoiseLaw, x: NDArray[np.float32], batch: int) -> float:
    """Processor seconds of one noisy copy."""
    stream = NoiseStream(Stream(ESTIMATION, law), 0, 0, Grid.of_bounds((0.0, 1.0)))
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
    parser.add_argument("--n", type=int, help="votes an input (mnist-cnn 49,152, resnet-20 6,144)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--k", type=float, default=0.0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--against-float", action="store_true")
    parser.add_argument("--model", choices=MODELS, default="mnist-cnn")
    parser.add_argument("--only-p", action="store_true", help="votes under P: no tailored law")
    parser.add_argument("--beside", type=int, default=0, help="busy processes beside this one")
    for hidden, kind in (("--peak-of", int), ("--count", str), ("--home", Path)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n = arguments.n or (49_152 if arguments.model == "mnist-cnn" else 6_144)
    law = GeneralizedGaussian(int(np.prod(MODELS[arguments.model][1])), 0.5, arguments.k)
    methods = ("np",) if arguments.only_p else ("np", "tailored")
    plan = Plan(law, methods, n=n, grid=Grid.of_bounds((0.0, 1.0)))
    if arguments.peak_of:
        sample_and_print_peak(arguments.peak_of)
    elif arguments.count:
        count_and_tell(arguments.count, arguments.home, plan, arguments.workers)
    elif arguments.memory:
        for votes in (1_000, 10_000, 100_000, 1_000_000):
            print(f"n = {votes:9,}: {peak_memory(votes):7.1f} MB")
    elif arguments.against_float:
        model = from_onnx(MODELS[arguments.model][0]())
        against_float(model, n, arguments.rounds, arguments.workers, arguments.k)
    else:
        copying = "b = bytearray(8 << 20)\nwhile True: b = bytearray(b)"
        loop = [sys.executable, "-c", copying]
        others = [subprocess.Popen(loop) for _ in range(arguments.beside)]
        try:
            throughput(arguments.model, plan, arguments.rounds, arguments.workers)
        finally:
            for other in others:
                other.kill()


if __name__ == "__main__":
    main()

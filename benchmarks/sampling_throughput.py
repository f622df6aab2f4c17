"""Votes a second against the model's own forward passes, in one run, and memory against n.

    python benchmarks/sampling_throughput.py            throughput on a small 28x28 CNN in ONNX
    python benchmarks/sampling_throughput.py --against-float [--model resnet-20]
                                                        noise on the grid against noise in float32
    python benchmarks/sampling_throughput.py --memory   peak memory for n = 1,000 to 1,000,000

Raw throughput is the same session on ready-made batches of the same shape, with as many threads as
the sampler has workers. Short slices of both alternate, so that other work on the machine slows
both alike; the ratio is of their totals.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.grid import Grid
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.sampling import VoteCollector
from dsrs.sampling.collect import available_cores
from dsrs.sampling.noise import NoiseLaw, NoiseStream
from dsrs.strategies import Plan, certificates_of
from dsrs.votes import ESTIMATION
from dsrs.voting import sample_input

SHAPE = (1, 28, 28)
D = 784


def small_cnn(seed: int = 0) -> bytes:
    """Four convolutions and three dense layers with random weights, the shape of `mnist-cnn`."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(seed)
    nodes, weights = [], []

    def layer(kind: str, source: str, shape: tuple[int, ...], **attributes: object) -> str:
        name = f"{kind}{len(nodes)}"
        values = generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        weights.append(numpy_helper.from_array(values.astype(np.float32), f"{name}.weight"))
        weights.append(numpy_helper.from_array(np.zeros(shape[0], np.float32), f"{name}.bias"))
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def then(kind: str, source: str) -> str:
        nodes.append(helper.make_node(kind, [source], [f"{kind}{len(nodes)}"]))
        return str(nodes[-1].output[0])

    last, channels = "x", 1
    for outputs, kernel, stride in ((32, 4, 2), (32, 3, 2), (64, 3, 2), (64, 3, 1)):
        sizes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [1] * 4}
        last = then("Relu", layer("Conv", last, (outputs, channels, kernel, kernel), **sizes))
        channels = outputs
    last, features = then("Flatten", last), 64 * 4 * 4
    for units in (256, 128):
        last = then("Relu", layer("Gemm", last, (units, features), transB=1))
        features = units
    last = layer("Gemm", last, (10, features), transB=1)
    graph = helper.make_graph(
        nodes,
        "mnist-cnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return bytes(model.SerializeToString())


class Stopwatch:
    """A classifier that adds up the processor time of its forward passes over all threads."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._lock = threading.Lock()
        self.input_shape = classifier.input_shape
        self.bounds = classifier.bounds
        self.num_classes = classifier.num_classes
        self.fingerprint = classifier.fingerprint
        self.description = classifier.description
        self.seconds = 0.0

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        started = time.thread_time()
        classes = self._classifier.classify(batch)
        with self._lock:
            self.seconds += time.thread_time() - started
        return classes


def raw_seconds(
    classifier: Classifier, pool: ThreadPoolExecutor, workers: int, n: int, batch: int
) -> float:
    """Wall time of n forward passes on ready-made batches, on all workers."""
    # More batches than a processor's cache holds, as a model meets them in use.
    ready = np.random.default_rng(1).random((32, batch, *SHAPE), dtype=np.float32)
    passes = n // (batch * workers)

    def work(worker: int) -> None:
        for turn in range(passes):
            classifier.classify(ready[(turn * workers + worker) % len(ready)])

    started = time.perf_counter()
    list(pool.map(work, range(workers)))
    return (time.perf_counter() - started) * n / (passes * batch * workers)


def throughput(n: int, rounds: int, workers: int, k: float) -> None:
    classifier = from_onnx(small_cnn())
    law = GeneralizedGaussian(D, 0.5, k)
    plan = Plan(law, n=n, grid=Grid.of_bounds((0.0, 1.0)))
    x = np.random.default_rng(2).random(SHAPE, dtype=np.float32)
    timed = Stopwatch(classifier)
    raw = raw_processor = sampled = processor = certifying = 0.0
    votes = 0
    with VoteCollector(workers) as collector, ThreadPoolExecutor(workers) as pool:
        warm = sample_input(classifier, x, plan.replace(n=2000), 0, None, collector)
        certificates_of(warm, plan.replace(n=2000))
        raw_seconds(classifier, pool, workers, 20_000, plan.batch)
        for index in range(rounds):
            cpu = time.process_time()
            seen = sample_input(timed, x, plan, index, None, collector)
            processor += time.process_time() - cpu
            sampled += seen.seconds
            taken = sum(stream.total for stream in seen.votes)
            votes += taken
            started = time.perf_counter()
            certificates_of(seen, plan)
            certifying += time.perf_counter() - started
            cpu = time.process_time()
            raw += raw_seconds(classifier, pool, workers, taken, plan.batch)
            raw_processor += time.process_time() - cpu
    total = sampled + certifying
    print(f"model: mnist-cnn, random weights; noise: {law.describe()}; workers: {workers}")
    print(f"raw forward passes   {votes / raw:10,.0f} images/s")
    print(f"sample and certify   {votes / total:10,.0f} votes/s   {raw / total:.1%} of raw")
    print(f"certificates         {certifying / total:10.2%} of the time")
    busy, raw_busy = processor / sampled, raw_processor / raw
    print(f"cores kept busy      {busy:10.2f} of {workers} (raw: {raw_busy:.2f})")
    print(f"raw processor time   {raw_processor / processor:10.2%} of the sampler's, of which:")
    print(f"forward passes       {timed.seconds / processor:10.2%}")
    each = processor / votes
    for name, of in (("noise of P", law), ("noise of Q", Truncated(law, 0.7))):
        cost = noise_cost(of, x, plan.batch)
        print(f"{name}           {cost / each:10.2%} of a vote's ({cost * 1e6:.2f} us)")


def noise_cost(law: NoiseLaw, x: NDArray[np.float32], batch: int) -> float:
    """Processor seconds of one noisy copy."""
    stream = NoiseStream(law, 0, 0, ESTIMATION, Grid.of_bounds((0.0, 1.0)))
    noisy, norms = np.empty((batch, D), np.float32), np.empty(batch)
    started = time.thread_time()
    for block in range(200):
        stream.add_to(x.ravel(), block * batch, noisy, norms)
    return (time.thread_time() - started) / (200 * batch)


def resnet_20() -> Classifier:
    """The CIFAR network of the package with random weights, as an ONNX model."""
    from dsrs.classifiers.torch_module import from_torch
    from dsrs.training.architectures import build_architecture

    shape = (3, 32, 32)
    module = build_architecture("resnet-20", shape, 10, (0.5,) * 3, (0.25,) * 3)
    return from_torch(module.eval(), shape, 10)


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
    print(
        f"on the grid    {rounds * n / wall[0]:10,.0f} votes/s  {_micro(processor[0], n, rounds)}"
    )
    print(
        f"in float32     {rounds * n / wall[1]:10,.0f} votes/s  {_micro(processor[1], n, rounds)}"
    )
    print(f"throughput     {wall[1] / wall[0]:10.1%} of float32's by wall time")
    print(f"               {processor[1] / processor[0]:10.1%} by processor time")


def _micro(seconds: float, n: int, rounds: int) -> str:
    return f"{seconds / (n * rounds) * 1e6:.2f} us of a core a vote"


def peak_memory(n: int) -> float:
    """Peak resident megabytes of a fresh process that samples one input n times."""
    command = [sys.executable, __file__, "--peak-of", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sample_and_print_peak(n: int) -> None:
    plan = Plan(GeneralizedGaussian(D, 0.5), ("np",), n=n)
    sample_input(from_onnx(small_cnn()), np.zeros(SHAPE, np.float32), plan, 0, None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--k", type=float, default=0.0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--against-float", action="store_true")
    parser.add_argument("--model", choices=("mnist-cnn", "resnet-20"), default="mnist-cnn")
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        sample_and_print_peak(arguments.peak_of)
    elif arguments.against_float:
        model = resnet_20() if arguments.model == "resnet-20" else from_onnx(small_cnn())
        against_float(model, arguments.n, arguments.rounds, arguments.workers, arguments.k)
    elif arguments.memory:
        for n in (1_000, 10_000, 100_000, 1_000_000):
            print(f"n = {n:9,}: {peak_memory(n):7.1f} MB")
    else:
        throughput(arguments.n, arguments.rounds, arguments.workers, arguments.k)


if __name__ == "__main__":
    main()

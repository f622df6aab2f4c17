"""Votes a second against the model's own forward passes, in one run, and memory against n.

    python benchmarks/sampling_throughput.py            throughput on a small 28x28 CNN in ONNX
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
from dsrs.laws import GeneralizedGaussian
from dsrs.records import HISTOGRAM_BINS
from dsrs.sampling import SamplingPlan, VoteCollector, certify_votes, sample_input
from dsrs.sampling.collect import available_cores
from dsrs.sampling.noise import NoiseStream, radial_edges

SHAPE = (1, 28, 28)
D = 784


def small_cnn(seed: int = 0) -> bytes:
    """Two strided convolutions and two dense layers with random weights, as an ONNX model."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(seed)

    def weight(name: str, *shape: int) -> object:
        values = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) + 1)
        return numpy_helper.from_array(values.astype(np.float32), name)

    stride = {"kernel_shape": [4, 4], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], **stride),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], **stride),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("Flatten", ["r2"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["g1"], transB=1),
        helper.make_node("Relu", ["g1"], ["r3"]),
        helper.make_node("Gemm", ["r3", "w4", "b4"], ["logits"], transB=1),
    ]
    weights = [
        weight("w1", 16, 1, 4, 4),
        weight("b1", 16),
        weight("w2", 32, 16, 4, 4),
        weight("b2", 32),
        weight("w3", 100, 1568),
        weight("b3", 100),
        weight("w4", 10, 100),
        weight("b4", 10),
    ]
    graph = helper.make_graph(
        nodes,
        "small CNN",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 10])],
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
    generator = np.random.default_rng(1)
    ready = [generator.random((batch, *SHAPE), dtype=np.float32) for _ in range(workers)]
    passes = n // (batch * workers)

    def work(mine: NDArray[np.float32]) -> None:
        for _ in range(passes):
            classifier.classify(mine)

    started = time.perf_counter()
    list(pool.map(work, ready))
    return (time.perf_counter() - started) * n / (passes * batch * workers)


def throughput(n: int, rounds: int, workers: int, k: float) -> None:
    classifier = from_onnx(small_cnn())
    law = GeneralizedGaussian(D, 0.5, k)
    plan = SamplingPlan(law, n=n, additional=("truncated:heuristic",))
    x = np.random.default_rng(2).random(SHAPE, dtype=np.float32)
    timed = Stopwatch(classifier)
    raw = sampled = processor = certifying = 0.0
    votes = 0
    with VoteCollector(workers) as collector, ThreadPoolExecutor(workers) as pool:
        warm = sample_input(classifier, x, plan.replace(n=2000), 0, None, collector)
        certify_votes(warm, plan.replace(n=2000))
        raw_seconds(classifier, pool, workers, 20_000, plan.batch)
        for index in range(rounds):
            cpu = time.process_time()
            seen = sample_input(timed, x, plan, index, None, collector)
            processor += time.process_time() - cpu
            sampled += seen.seconds
            taken = sum(stream.total for stream in seen.votes)
            votes += taken
            started = time.perf_counter()
            certify_votes(seen, plan)
            certifying += time.perf_counter() - started
            raw += raw_seconds(classifier, pool, workers, taken, plan.batch)
    total = sampled + certifying
    print(f"model: two convolutions, two dense layers; noise: {law.describe()}; workers: {workers}")
    print(f"raw forward passes   {votes / raw:10,.0f} images/s")
    print(f"sample and certify   {votes / total:10,.0f} votes/s   {raw / total:.1%} of raw")
    print(f"certificates         {certifying / total:10.2%} of the time")
    share = timed.seconds / processor
    print(f"forward passes       {share:10.2%} of the sampler's processor time")
    print(f"cores kept busy      {processor / sampled:10.2f} of {workers}")
    noise, binning = parts(plan, x)
    each = processor / votes
    print(f"noise                {noise / each:10.2%} ({noise * 1e6:.2f} us a vote)")
    print(f"radial bins, counts  {binning / each:10.2%} ({binning * 1e6:.2f} us a vote)")


def parts(plan: SamplingPlan, x: NDArray[np.float32]) -> tuple[float, float]:
    """Processor seconds a vote for the noise, and for binning and counting."""
    stream = NoiseStream(plan.law, 0, 0, "p1")
    noisy = np.empty((plan.batch, D), np.float32)
    norms = np.empty(plan.batch)
    edges = radial_edges(plan.law)
    blocks = 200
    started = time.thread_time()
    for block in range(blocks):
        stream.add_to(x.ravel(), block * plan.batch, noisy, norms)
    noise = time.thread_time() - started
    classes = np.zeros(plan.batch, np.int64)
    started = time.thread_time()
    for _ in range(blocks):
        cells = classes * HISTOGRAM_BINS + np.searchsorted(edges, norms)
        np.bincount(cells, minlength=10 * HISTOGRAM_BINS)
    binning = time.thread_time() - started
    return noise / (blocks * plan.batch), binning / (blocks * plan.batch)


def peak_memory(n: int) -> float:
    """Peak resident megabytes of a fresh process that samples one input n times."""
    command = [sys.executable, __file__, "--peak-of", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sample_and_print_peak(n: int) -> None:
    plan = SamplingPlan(GeneralizedGaussian(D, 0.5), n=n, additional=())
    sample_input(from_onnx(small_cnn()), np.zeros(SHAPE, np.float32), plan, 0, None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--k", type=float, default=0.0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        sample_and_print_peak(arguments.peak_of)
    elif arguments.memory:
        for n in (1_000, 10_000, 100_000, 1_000_000):
            print(f"n = {n:9,}: {peak_memory(n):7.1f} MB")
    else:
        throughput(arguments.n, arguments.rounds, arguments.workers, arguments.k)


if __name__ == "__main__":
    main()

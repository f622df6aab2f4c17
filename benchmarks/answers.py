"""Answers of a smoothed classifier: their cost beside model and noise, and how many a second.

python benchmarks/answers.py [--votes 128] [--answers 200]

The overhead is the processor time of an answer less that of the same forward passes and noise, in
one thread. Throughput and latency (50%, 99%) are those of callers who ask at once, one input each.
The last line is what longer passes, filled with rows of several inputs, could save at most.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import dsrs
from dsrs.certifying import setting_of
from dsrs.classifiers import Classifier
from dsrs.noise import NoiseStream, Stream
from dsrs.smoothed import PREDICTION, plan_of_answer

IN_FLIGHT = (1, 8, 64)
PASS_ROWS = (64, 128, 256, 512)  # the first is the pass of an answer


def processor_ms(smoothed: dsrs.SmoothedClassifier, images: NDArray[np.float32], n: int) -> float:
    """Processor milliseconds of an answer that takes n votes."""
    start, taken = time.process_time(), 0
    for image in images:
        taken += sum(smoothed.predict(image, n=n, alpha=1e-60).counts)
    assert taken == n * len(images), "an answer stopped early"
    return 1000 * (time.process_time() - start) / len(images)


def raw_ms(smoothed: dsrs.SmoothedClassifier, images: NDArray[np.float32], n: int) -> float:
    """Processor milliseconds of the forward passes and the noise alone."""
    plan, model = plan_of_answer(smoothed.plan, n, None, None), smoothed.classifier
    setting = setting_of(plan)
    noisy, norms = np.empty((setting.batch, plan.law.d), np.float32), np.empty(setting.batch)
    start = time.process_time()
    for image in images:
        stream = NoiseStream(Stream(PREDICTION, plan.law), plan.seed, 0, setting.grid)
        flat = image.ravel()
        for first in range(0, n, setting.batch):
            stream.add_to(flat, first, noisy, norms)
            model.classify(noisy.reshape(-1, *image.shape))
    return 1000 * (time.process_time() - start) / len(images)


def served(
    smoothed: dsrs.SmoothedClassifier, images: NDArray[np.float32], callers: int
) -> tuple[float, float, float]:
    """Answers a second, and the milliseconds of half and of 99% of them."""

    def ask(image: NDArray[np.float32]) -> float:
        start = time.perf_counter()
        smoothed.predict(image)
        return 1000 * (time.perf_counter() - start)

    start = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        times = list(pool.map(ask, images))
    seconds = time.perf_counter() - start
    return len(images) / seconds, *np.percentile(times, [50, 99]).tolist()


def row_us(model: Classifier, rows: int) -> float:
    """Processor microseconds of a row in forward passes of so many rows; the least of several."""
    batch = np.random.default_rng(0).random((rows, *model.input_shape), dtype=np.float32)
    model.classify(batch)
    times = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(1024 // rows):
            model.classify(batch)
        times.append(1e6 * (time.process_time() - start) / 1024)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=128, help="votes of an answer (default: 128)")
    parser.add_argument("--answers", type=int, default=200, help="answers to time (default: 200)")
    arguments = parser.parse_args()
    demo = dsrs.load_demo()
    images = demo.images.astype(np.float32) / np.float32(255)
    images = np.resize(images, (arguments.answers, *images.shape[1:]))
    one = dsrs.smooth(demo.model, 0.5, workers=1)
    for time_it in (processor_ms, raw_ms):
        time_it(one, images[:5], arguments.votes)  # compiles, and fills what is kept
    # In turns, the least of each: what else the machine does falls on both.
    pairs = [
        (processor_ms(one, images, arguments.votes), raw_ms(one, images, arguments.votes))
        for _ in range(3)
    ]
    whole, raw = (min(column) for column in zip(*pairs, strict=True))
    print(f"answer of {arguments.votes} votes: {whole:.2f} ms of a core")
    print(f"  forward passes and noise: {raw:.2f} ms, beside them {whole - raw:.2f} ms")
    several = dsrs.smooth(demo.model, 0.5)
    several.predict(images[0])
    for callers in IN_FLIGHT:
        rate, half, most = served(several, images, callers)
        latency = f"{half:6.1f} ms (50%), {most:6.1f} ms (99%)"
        print(f"{callers:3d} in flight: {rate:7.1f} answers/s, {latency}")
    start = time.perf_counter()
    several.predict(images)
    print(f"one call:      {len(images) / (time.perf_counter() - start):7.1f} answers/s")
    longer = {rows: row_us(one.classifier, rows) for rows in PASS_ROWS}
    shown = ", ".join(f"{rows}: {each:.1f} us" for rows, each in longer.items())
    print(f"a row by rows of a pass: {shown}")


if __name__ == "__main__":
    main()

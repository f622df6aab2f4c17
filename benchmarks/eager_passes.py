"""Votes of PyTorch modules on the CPU against their raw forward passes, in every precision.

    OMP_NUM_THREADS=1 python benchmarks/eager_passes.py [--batches 40] [--model resnet-20]

One thread takes turns: a raw pass of the eager module in float32, then a batch of votes of each
kind. Processor time is compared, by the least disturbed tenth of the batches and by the median.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from dsrs.classifiers import Classifier, from_torch
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.networks import build_network
from dsrs.noise import Stream
from dsrs.votes import Setting, VoteCounter, WorkUnit

SHAPES = {"mnist-cnn": (1, 28, 28), "resnet-20": (3, 32, 32)}
ROWS = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--model", choices=SHAPES, default="mnist-cnn")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = SHAPES[arguments.model]
    module = build_network(arguments.model, shape, 10).eval()
    ready = torch.rand(8, ROWS, *shape)

    def raw(turn: int) -> None:
        with torch.inference_mode():
            module(ready[turn % len(ready)])

    work: dict[str, Callable[[int], None]] = {"raw passes, eager float32": raw}
    models = {
        "votes, eager float32": from_torch(module, shape, engine="eager"),
        "votes, eager bfloat16": from_torch(module, shape, precision="bfloat16"),
        "votes, ONNX float32": from_torch(module, shape, engine="onnx"),
    }
    work |= {name: votes_of(model) for name, model in models.items()}
    spent: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(-1, arguments.batches):
        for name, step in work.items():
            started = time.thread_time()
            step(turn % 64)
            if turn >= 0:  # the first time code is compiled and memory is found
                spent[name].append((time.thread_time() - started) / ROWS * 1e6)
    print(f"{arguments.model}, {ROWS} rows a pass, {arguments.batches} batches each, one thread")
    print(f"{'microseconds of a core for a row':<34}{'least tenth':>12}{'median':>9}{'of raw':>18}")
    for name, times in spent.items():
        found = [float(np.quantile(times, share)) for share in (0.1, 0.5)]
        first = [float(np.quantile(next(iter(spent.values())), share)) for share in (0.1, 0.5)]
        shares = " / ".join(f"{a / b:.1%}" for a, b in zip(first, found, strict=True))
        print(f"{name:<34}{found[0]:>12.2f}{found[1]:>9.2f}{shares:>18}")


def votes_of(model: Classifier) -> Callable[[int], None]:
    """Takes the votes of one batch."""
    law = GeneralizedGaussian(int(np.prod(model.input_shape)), 0.5)
    setting = Setting(0, ROWS, Grid.of_bounds((0.0, 1.0)))
    unit = WorkUnit(0, Stream("estimation", law), 0, 64 * ROWS)
    counter = VoteCounter(model, np.full(model.input_shape, 0.5, np.float32), setting, unit)
    return lambda turn: counter.count(turn * ROWS, (turn + 1) * ROWS)


if __name__ == "__main__":
    main()

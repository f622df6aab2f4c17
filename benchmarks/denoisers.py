"""What the denoiser `dct` costs: a pass with it over a pass without, measured in turns.

    python benchmarks/denoisers.py

Prints processor time on one thread, the least of ROUNDS, for the small network of MNIST and for
ResNet-20 with random weights, whose speed does not depend on them.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from dsrs.classifiers import denoised, denoiser_from, from_torch
from dsrs.networks import build_network

ROUNDS, ROWS = 15, 64
MODELS = (("mnist-cnn", (1, 28, 28)), ("resnet-20", (3, 32, 32)))


def main() -> None:
    torch.manual_seed(0)
    for name, shape in MODELS:
        module = build_network(name, shape, 10).eval()
        plain = from_torch(module, shape, engine="onnx", name=name)
        whole = denoised(plain, denoiser_from("dct", shape, plain.bounds))
        rng = np.random.default_rng(0)
        batch = rng.normal(0.5, 0.5, (ROWS, *shape)).astype(np.float32)
        least = [np.inf, np.inf]
        for _ in range(ROUNDS):
            for place, model in enumerate((plain, whole)):
                started = time.process_time()
                model.classify(batch)
                least[place] = min(least[place], time.process_time() - started)
        alone, behind = (1e6 * seconds / ROWS for seconds in least)
        print(
            f"{name}: {alone:.1f} us a row, {behind:.1f} us behind dct: "
            f"the denoiser takes {100 * (behind / alone - 1):.0f}% of a pass"
        )


if __name__ == "__main__":
    main()

"""What noise on a device costs: kernels a batch, bytes and float64 operations a value.

    python benchmarks/noise_on_device.py

Counts the eager tensor operations (`dsrs.noise.on_device`) with a dispatch mode of PyTorch and the
fused kernels (`dsrs.noise.fused`) in Triton's interpreter, on a CPU. From the counts follows the
least time that a row of ImageNet's size takes on three devices, by their published bandwidth and
rate of double precision; caches can lower the first, nothing lowers the second.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime import interpreter

from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.noise import NoiseBlock, NoiseStream, Stream, fused, noisy_batch

D, ROWS = 150_528, 16
# Bytes and double-precision operations a second (additions and multiplications are not fused
# here, so that half of the published rate counts).
DEVICES = {
    "A100": (1555e9, 9.7e12 / 2),
    "RTX 3090": (936e9, 0.556e12 / 2),
    "RTX 4090": (1008e9, 1.29e12 / 2),
}


@dataclass
class Traffic:
    """What was counted: kernels, bytes read and written, operations in double precision."""

    kernels: int = 0
    bytes: int = 0
    operations: int = 0


@contextmanager
def interpreted_traffic() -> Iterator[Traffic]:
    """Count what Triton's interpreter reads, writes and computes in this block."""
    builder, seen = interpreter.InterpreterBuilder, Traffic()
    load, store = builder.create_masked_load, builder.create_masked_store
    binary, unary = builder.binary_op, builder.unary_op
    launch = interpreter.GridExecutor.__call__

    def counted_load(self: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
        loaded = load(self, ptrs, mask, *rest)
        seen.bytes += int(mask.data.sum()) * loaded.data.itemsize
        return loaded

    def counted_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        seen.bytes += int(np.broadcast_to(mask.data, ptrs.data.shape).sum()) * value.data.itemsize
        return store(self, ptrs, value, mask, *rest)

    def counted(operation: Any) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            result = operation(self, *arguments)
            if result.data.dtype == np.float64:
                seen.operations += result.data.size
            return result

        return call

    def counted_launch(self: Any, *arguments: Any, **options: Any) -> Any:
        seen.kernels += 1
        return launch(self, *arguments, **options)

    builder.create_masked_load, builder.create_masked_store = counted_load, counted_store
    builder.binary_op, builder.unary_op = counted(binary), counted(unary)
    interpreter.GridExecutor.__call__ = counted_launch
    try:
        yield seen
    finally:
        builder.create_masked_load, builder.create_masked_store = load, store
        builder.binary_op, builder.unary_op = binary, unary
        interpreter.GridExecutor.__call__ = launch


class EagerTraffic(TorchDispatchMode):
    """Counts the kernels of eager PyTorch, and the bytes of their arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Traffic()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        tensors = [
            item for item in torch.utils._pytree.tree_leaves((args, result)) if _is_tensor(item)
        ]
        if not function.is_view and tensors:
            self.seen.kernels += 1
            self.seen.bytes += sum(item.numel() * item.element_size() for item in tensors)
            if _is_tensor(result) and result.dtype == torch.float64:
                self.seen.operations += result.numel()
        return result


def _is_tensor(item: object) -> bool:
    return isinstance(item, torch.Tensor)


def block_of(d: int, rows: int, k: float = 0.0) -> NoiseBlock:
    """Noisy copies of an input of d values."""
    law = GeneralizedGaussian(d, 0.5, k)
    stream = NoiseStream(Stream("estimation", law), 0, 0, Grid.of_bounds((0.0, 1.0)))
    return stream.block(np.zeros(d, np.float32), 0, rows)


def main() -> None:
    fused.TILE, fused.ROWS = fused.COMPILED_TILE  # as on a device
    print(f"noise for {ROWS} rows of {D:,} values: counted on a CPU\n")
    print(f"{'way':<42}{'kernels':>8}{'bytes a value':>15}{'float64 operations a value':>28}")
    rows = []
    for name, k in (("Gaussian", 0.0), ("generalized, k = d/2 - 4", D / 2 - 4)):
        block = block_of(D, ROWS, k)
        with EagerTraffic() as mode:
            noisy_batch(torch, block, torch.from_numpy(block.cells))
        with interpreted_traffic() as seen:
            fused.fused_batch(block, torch.from_numpy(block.cells), torch.float32)
        with interpreted_traffic() as half:
            fused.fused_batch(block, torch.from_numpy(block.cells), torch.bfloat16, channels=3)
        rows += [(f"{name}, eager", mode.seen), (f"{name}, fused", seen)]
        rows += [(f"{name}, fused, bfloat16", half)]
    for name, seen in rows:
        values = D * ROWS
        print(
            f"{name:<42}{seen.kernels:>8}{seen.bytes / values:>15.1f}"
            f"{seen.operations / values:>28.1f}"
        )
    print(
        f"\nleast time of a row, in microseconds\n{'way':<42}"
        + "".join(f"{name:>22}" for name in DEVICES)
    )
    for name, seen in rows:
        bounds = (
            f"{1e6 * seen.bytes / ROWS / bandwidth:.1f} / {1e6 * seen.operations / ROWS / rate:.1f}"
            for bandwidth, rate in DEVICES.values()
        )
        print(f"{name:<42}" + "".join(f"{text:>22}" for text in bounds))
    print("(memory / double precision)")


if __name__ == "__main__":
    main()

"""Noise in one pass over memory, made where a PyTorch module is by Triton kernels.

Eager tensor operations (`dsrs.noise.on_device`) read and write memory some two hundred times for
each value. Here a program makes a tile of normals in registers, rounds them to the grid, adds the
input, converts to the model's type and stores once; of their squares only sums leave it. No
multiplication may be fused with an addition, or bits would change: every kernel is started with
`enable_fp_fusion=False`.

With `TRITON_INTERPRET=1`, set before this module is imported, the kernels run on a CPU. The tests
compare them with the sampler in this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton

from dsrs.noise.fused_kernels import MOST_FOLDS, add_squares, finish, make
from dsrs.noise.normals import NoiseBlock

# A program makes so many groups, of so many rows: they share what is read of the input. In the
# interpreter a program takes about as long however large its tile is.
COMPILED_TILE, INTERPRETED_TILE = (1024, 8), (2**17, 64)
TILE, ROWS = INTERPRETED_TILE if triton.knobs.runtime.interpret else COMPILED_TILE


@dataclass(frozen=True, eq=False)
class _Device:
    """What all kernels of one block are given, on its device."""

    block: NoiseBlock
    cells: Any
    key: Any
    facts: Any
    sums: Any
    folds: int

    @classmethod
    def of(cls, block: NoiseBlock, cells: Any) -> _Device:
        d, place, folds = block.cells.size, cells.device, 1
        while folds < MOST_FOLDS and d // 2 % (2 * folds) == 0:
            folds *= 2
        # Numbers of Python would reach a kernel in single precision.
        sigma = 1.0 if block.sigma is None else block.sigma
        numbers = [sigma / block.step, sigma, block.origin, block.step]
        return cls(
            block,
            cells,
            torch.from_numpy(block.key.astype("int64")).to(place),
            torch.tensor(numbers, dtype=torch.float64, device=place),
            torch.empty((block.count, d // 2 // folds), dtype=torch.float64, device=place),
            folds,
        )

    @property
    def rows(self) -> int:
        """Rows of one program."""
        return min(ROWS, int(triton.next_power_of_2(self.block.count)))

    def make(self, out: Any, scales: Any, channels: int, *, adds: bool) -> None:
        """Write noisy copies to `out`, sums of squares to `sums`, or both."""
        d = self.block.cells.size
        folds = self.folds if adds else 1
        columns = (d + 1) // 2 // folds
        width = min(TILE // self.rows // folds, triton.next_power_of_2(columns))
        half_precision = out is not None and out.dtype == torch.bfloat16
        make[triton.cdiv(columns, width), triton.cdiv(self.block.count, self.rows)](
            self.cells,
            self.facts if out is None else out.view(torch.int16) if half_precision else out,
            self.sums,
            self.facts if scales is None else scales,
            self.facts,
            self.key,
            self.block.first,
            self.block.count,
            d,
            channels,
            STORES=out is not None,
            ADDS=adds,
            OWN_SCALE=scales is not None,
            HALF_PRECISION=half_precision,
            ROWS=self.rows,
            FOLDS=folds,
            WIDTH=width,
            enable_fp_fusion=False,
        )

    def finish(self, norms: Any) -> Any:
        """The norms of a Gaussian block; the scales that give other rows their `norms`."""
        block, d = self.block, self.block.cells.size
        programs, width = triton.cdiv(block.count, self.rows), TILE // self.rows
        if d % 2:
            tile = width // self.folds
            add_squares[triton.cdiv(self.sums.shape[1], tile), programs](
                self.sums,
                self.key,
                block.first,
                block.count,
                d,
                ROWS=self.rows,
                FOLDS=self.folds,
                WIDTH=tile,
                enable_fp_fusion=False,
            )
        results = torch.empty(block.count, dtype=torch.float64, device=self.cells.device)
        finish[(programs,)](
            self.sums,
            results,
            results if norms is None else norms,
            self.facts,
            self.key,
            block.first,
            block.count,
            d,
            self.sums.shape[1],
            GAUSSIAN=norms is None,
            ROWS=self.rows,
            WIDTH=width,
            enable_fp_fusion=False,
        )
        return results


def fused_batch(block: NoiseBlock, cells: Any, dtype: Any, channels: int = 1) -> tuple[Any, Any]:
    """The noisy copies of a block, and their noise norms.

    Args:
        block: which copies.
        cells: its `cells` as a float64 tensor on the device.
        dtype: the type of the copies, torch.float32 or torch.bfloat16.
        channels: more than 1 puts the channels of each pixel side by side, although the input
            has one channel after the other.

    Returns:
        A tensor (count, d) of `dtype` and a float64 tensor (count,), on the device of `cells`.
    """
    d = block.cells.size
    device = _Device.of(block, cells)
    out = torch.empty((block.count, d), dtype=dtype, device=cells.device)
    if block.sigma is not None:
        device.make(out, None, channels, adds=d % 2 == 0)
        return out, device.finish(None)
    assert block.norms is not None, "a law that is not Gaussian has norms"
    norms = torch.from_numpy(block.norms).to(cells.device)
    if d % 2 == 0:
        device.make(None, None, channels, adds=True)
    device.make(out, device.finish(norms), channels, adds=False)
    return out, norms

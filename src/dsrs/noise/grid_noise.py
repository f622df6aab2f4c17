"""Noise in double precision, rounded to a grid and added to an input as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from dsrs.noise.exact_normals import exact_normals, workspace
from dsrs.noise.philox import kernel, length


@kernel
def place(d: int, cells: Any, row: Any, scale: float, origin: float, step: float, out: Any) -> Any:
    """out = the grid point cells + floor(scale row + 1/2), converted once."""
    for j in range(d):
        out[j] = origin + (cells[j] + np.floor(row[j] * scale + 0.5)) * step


@kernel
def gaussian_on_grid(
    key: Any, first: int, cells: Any, sigma: float, origin: float, step: float, out: Any, norms: Any
) -> None:
    """out[i] = the grid point `cells` with sigma z of sample `first + i`, norms[i] = sigma |z|."""
    d = cells.size
    half = (d + 1) // 2
    space, row = workspace(key, half), np.empty(2 * half)
    sums = np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, space, first + i, half, row)
        norms[i] = sigma * length(row, d, sums)
        place(d, cells, row, sigma / step, origin, step, out[i])


@kernel
def directions_on_grid(
    key: Any, first: int, cells: Any, norms: Any, origin: float, step: float, out: Any
) -> None:
    """out[i] = the grid point `cells` with norms[i] z/|z| of sample `first + i`."""
    d = cells.size
    half = (d + 1) // 2
    space, row, sums = workspace(key, half), np.empty(2 * half), np.empty(half)
    for i in range(out.shape[0]):
        exact_normals(key, space, first + i, half, row)
        place(d, cells, row, norms[i] / length(row, d, sums) / step, origin, step, out[i])


@kernel
def add_normals(key: Any, samples: Any, scale: float, sums: Any) -> None:
    """Add z of each sample, before any rounding to a grid, to `sums`: whole numbers of 1 / scale.

    Whole numbers add up to the same sum in any order.
    """
    d = sums.size
    half = (d + 1) // 2
    space, row = workspace(key, half), np.empty(2 * half)
    for i in range(samples.size):
        exact_normals(key, space, samples[i], half, row)
        for j in range(d):
            sums[j] += int64(np.floor(row[j] * scale + 0.5))

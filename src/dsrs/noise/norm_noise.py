"""Noise of given norms, round in l1, l2 or l-infinity, in double precision.

A direction is y / |y| for any y whose density is a function of |y| (`laws/round_in_norm.py`):
- l2: independent normals.
- l1: independent Laplace numbers. A pair of normals (a, b) of Box and Muller has (a^2 + b^2) / 2,
  an exponential number, and the sign of a, which is independent of it: `2 d` normals a sample.
- l-infinity: independent uniform numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsrs.noise.exact_normals import exact_normals, exact_uniforms, workspace
from dsrs.noise.grid_noise import place
from dsrs.noise.normals import CODES
from dsrs.noise.philox import halved_sum, kernel, length

L1, LINF = CODES["l1"], CODES["linf"]


@kernel
def _sum(row: Any, d: int, sums: Any) -> Any:
    """The sum of |row[:d]| by halving."""
    half = d // 2
    odd = abs(row[d - 1]) if d % 2 else 0.0
    for j in range(half):
        sums[j] = abs(row[j]) + abs(row[half + j])
    return halved_sum(half, sums, odd)


@kernel
def _largest(row: Any, d: int) -> Any:
    most = 0.0
    for j in range(d):
        most = max(most, abs(row[j]))
    return most


@kernel
def _unscaled(
    norm: int, key: Any, space: Any, sample: int, d: int, half: int, row: Any, sums: Any
) -> Any:
    """Fill row[:d] with y, and return |y|."""
    if norm == LINF:
        exact_uniforms(key, space, sample, half, row)
        return _largest(row, d)
    exact_normals(key, space, sample, half, row)
    if norm != L1:
        return length(row, d, sums)
    for j in range(d):
        size = 0.5 * (row[j] * row[j] + row[half + j] * row[half + j])
        row[j] = size if row[j] > 0.0 else -size
    return _sum(row, d, sums)


@kernel
def _groups(norm: int, d: int) -> int:
    """Groups of words a sample: l1 needs a pair of normals for each coordinate."""
    return d if norm == L1 else (d + 1) // 2


@kernel
def norm_on_grid(
    norm: int, key: Any, first: int, cells: Any, norms: Any, origin: float, step: float, out: Any
) -> None:
    """out[i] = the grid point `cells` with norms[i] y/|y| of sample `first + i`."""
    d = cells.size
    half = _groups(norm, d)
    space, row, sums = workspace(key, half), np.empty(2 * half), np.empty(max(d // 2, 1))
    for i in range(out.shape[0]):
        scale = norms[i] / _unscaled(norm, key, space, first + i, d, half, row, sums) / step
        place(d, cells, row, scale, origin, step, out[i])


@kernel
def add_norm(norm: int, key: Any, first: int, x: Any, norms: Any, out: Any) -> None:
    """out[i] = x + norms[i] y/|y| of sample `first + i`, added in float32."""
    d = x.size
    half = _groups(norm, d)
    space, row, sums = workspace(key, half), np.empty(2 * half), np.empty(max(d // 2, 1))
    for i in range(out.shape[0]):
        scale = norms[i] / _unscaled(norm, key, space, first + i, d, half, row, sums)
        for j in range(d):
            out[i, j] = x[j] + np.float32(row[j] * scale)

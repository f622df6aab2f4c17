"""Two small kernels, one of which calls the other, for the tests of the mechanism."""

from __future__ import annotations

from dsrs.duality.kernel import entry, kernel


@kernel
def squared(x: float) -> float:
    return x * x


@entry
def sum_of_squares(count: int) -> float:
    total = 0.0
    for i in range(count):
        total += squared(1.0 * i)
    return total

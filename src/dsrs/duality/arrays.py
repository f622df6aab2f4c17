"""Loops that take the place of NumPy's slices and sorts.

Assigning one slice to another compiles to thousands of lines (shapes that might not fit, and the
text that says so); with them half of all compiling went into copying a handful of numbers.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dsrs.duality.kernel import kernel

Floats = NDArray[np.float64]
Values = TypeVar("Values", NDArray[np.float64], NDArray[np.int64])


@kernel
def whole(number: int) -> int:
    """Return the number itself. Each literal that a kernel is called with would compile it anew."""
    return int(number)


@kernel
def fill(target: Floats, value: float) -> None:
    """Set all values of `target` to `value`."""
    for i in range(len(target)):
        target[i] = value


@kernel
def copy_into(target: Floats, source: Floats) -> None:
    """Put the numbers of `source` into `target`."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def picked(values: Values, places: NDArray[np.int64]) -> Values:
    """Return the values at these places."""
    chosen = np.empty(len(places), dtype=values.dtype)
    for i in range(len(places)):
        chosen[i] = values[places[i]]
    return chosen


@kernel
def room_for(rows: Floats, used: int, more: int) -> Floats:
    """Return `rows`, or a longer copy if `more` rows beside the `used` ones need room."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * len(rows) + more, rows.shape[1]))
    for i in range(used):
        for j in range(rows.shape[1]):
            longer[i, j] = rows[i, j]
    return longer


@kernel
def sort_distinct(values: Floats, count: int) -> int:
    """Sort the first `count` values in place, equal ones once; returns how many there are.

    By insertion: there are few, and most come in order.
    """
    n = 0
    for i in range(count):
        value, place = values[i], n
        while place > 0 and values[place - 1] > value:
            place -= 1
        if place > 0 and values[place - 1] == value:
            continue
        for j in range(n, place, -1):
            values[j] = values[j - 1]
        values[place] = value
        n += 1
    return n

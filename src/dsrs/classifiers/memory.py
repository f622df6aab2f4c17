"""Forward passes of fewer rows for a model that runs out of memory, where no vote depends on it.

Votes belong to a plan, and forward passes of another shape may round otherwise. So the rows are
given in halves, and again in halves of these, down to single rows: a model that answers alike, bit
for bit, in all of these shapes is taken to do so in the one that does not fit, and goes on with
fewer rows. One that does not is refused, with the batch to ask for.

All sizes are needed. PyTorch's eager EfficientNet answers 8 rows as it does 4 and 4, but not 16 as
8 and 8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from dsrs.errors import ClassifierError, OutOfMemory

LOG = logging.getLogger("dsrs.counting")

# The answer to the rows from the first number up to the second.
Ask = Callable[[int, int], Any]


class FittingRows:
    """How many rows a model has memory for, as far as is known; threads share it."""

    def __init__(self) -> None:
        self.most: int | None = None  # None: it never ran out
        self._lock = Lock()

    def answer(self, ask: Ask, rows: int, name: str) -> Any:
        """The answer to all rows, in as many parts as needed; the same whatever their size."""
        answers, size = fitting_answer(ask, rows, min(rows, self.most or rows))
        if size < rows and size < (self.most or rows):
            _refuse_other_answers(ask, answers, rows, size, name)
            with self._lock:
                if size < (self.most or rows):
                    self.most = size
                    LOG.warning(
                        "%s ran out of memory with %d rows: it is given %d at a time from now on, "
                        "which does not change its answers",
                        *(name, rows, size),
                    )
        return answers


def fitting_answer(ask: Ask, rows: int, size: int) -> tuple[Any, int]:
    """The answer in parts of `size` rows, halved until they fit; and their size."""
    while True:
        try:
            return _in_parts(ask, rows, size), size
        except OutOfMemory as error:
            if size == 1:
                raise ClassifierError(
                    f"even a single row is too much for the memory: {error}"
                ) from error
        size = -(-size // 2)


def _in_parts(ask: Ask, rows: int, size: int) -> Any:
    parts = []
    for start in range(0, rows, size):
        stop = min(start + size, rows)
        part = ask(start, stop)
        if not isinstance(part, np.ndarray) or part.shape[:1] != (stop - start,):
            return part  # no answer: whoever checks answers says so
        parts.append(part)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _refuse_other_answers(ask: Ask, answers: Any, rows: int, size: int, name: str) -> None:
    """Raise unless parts of every smaller size have the answers `answers`."""
    advice = f"{name} ran out of memory with {rows} rows; use `batch` = {size} or less."
    if size == 1:
        raise ClassifierError(
            f"{advice} It is not made smaller by itself: with only one row at a time, whether the "
            "answers depend on the shape of a batch cannot be seen"
        )
    smaller = size
    while smaller > 1:
        smaller = -(-smaller // 2)
        other = _in_parts(ask, rows, smaller)
        if not np.array_equal(other, answers):
            raise ClassifierError(
                f"{advice} It is not made smaller by itself: the model rounds {smaller} rows "
                f"otherwise than {size}, so the votes would no longer be those of this plan on "
                "every machine"
            )

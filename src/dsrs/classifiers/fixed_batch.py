"""Models whose batch axis was fixed when they were exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import ClassifierError, OutOfMemory


def in_fixed_batches(
    forward: Callable[[NDArray[np.float32]], NDArray[Any]], size: int
) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    """Return a function of any number of rows from `forward`, which takes exactly `size` rows.

    The last part is filled up with copies of its last row, whose answers are dropped.
    """

    def run(batch: NDArray[np.float32]) -> NDArray[Any]:
        answers = []
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            rows = len(part)
            if rows < size:
                part = np.concatenate([part, np.repeat(part[-1:], size - rows, axis=0)])
            try:
                answer = forward(part)
            except OutOfMemory as error:
                raise ClassifierError(
                    f"{error}; the model was exported for {size} rows and takes no fewer: "
                    "export it with an open batch axis"
                ) from error
            if answer.shape[:1] != (size,):
                raise ClassifierError(
                    f"a model exported for {size} rows must return {size} rows, "
                    f"got shape {answer.shape}"
                )
            answers.append(answer[:rows])
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    return run

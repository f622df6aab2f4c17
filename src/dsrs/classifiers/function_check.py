"""Whether a classifier is a function: a row has one class, whenever and beside whichever others.

A vote must depend on its noisy copy alone. That of a model in training mode does not: dropout draws
anew in every pass, and batch statistics look at the other rows. Such votes are no sample of any
smoothed classifier, and a certificate from them would mean nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, answer_of
from dsrs.errors import NotAFunction

# Rows that are asked twice, at least, and rows of a forward pass, at most.
FEWEST_REPEATED_ROWS, MOST_REPEATED_ROWS = 32, 64
# The rows beside them, the second time, are brighter by so many sigma: their statistics differ.
BRIGHTER = np.float32(4)


def refuse_unless_function(
    classifier: Classifier, x: NDArray[np.float32], sigma: float, batch: int
) -> None:
    """Raise NotAFunction if noisy copies of x get other classes when they are asked again.

    The second time they stand in another order, in another place, and beside other, brighter rows.

    Args:
        classifier: the model to try.
        x: an input of it.
        sigma: the size of the noise.
        batch: rows of a forward pass of the plan.
    """
    noise = np.random.default_rng(0)
    batch = min(batch, MOST_REPEATED_ROWS)
    asked = max(1, batch // 2)
    beside = batch - asked
    changed = rows = 0
    while rows < FEWEST_REPEATED_ROWS:
        noisy = noise.standard_normal((batch + beside, *x.shape), dtype=np.float32)
        noisy[batch:] += BRIGHTER
        noisy = x + np.float32(sigma) * noisy
        again = np.concatenate([noisy[batch:], noisy[:asked][::-1]])
        first, second = (
            answer_of(classifier.classify, part, classifier.description)
            for part in (noisy[:batch], again)
        )
        changed += int(np.count_nonzero(first[:asked] != second[beside:][::-1]))
        rows += asked
    if changed:
        raise NotAFunction(
            f"expected the same class for the same row, but {changed} of {rows} rows got another "
            "one when they were asked again beside other rows. A certificate needs a function of "
            "the input: use the model in inference mode (PyTorch: `model.eval()`; Keras: "
            "`training=False`), without dropout and batch statistics, with deterministic "
            f"operations ({classifier.description})"
        )

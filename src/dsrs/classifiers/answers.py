"""Tell one model from another by what it answers, where neither file nor weights can be hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import answer_of, checked_classes
from dsrs.classifiers.memory import fitting_answer

PROBED_ROWS = 64
# Levels of a logit, as shares of the largest. Sums in another order differ by about 1e-7 and fall
# on the same level; weights that move the answers by 1e-3 of their size change one of the 64.
GAP_LEVELS = 128


def answers_fingerprint(
    forward: Callable[[NDArray[np.float32]], Any],
    input_shape: tuple[int, ...],
    num_classes: int,
    bounds: tuple[float, float],
    name: str,
) -> str:
    """A hash of the class, and of the margin where there are logits, of each of some inputs."""
    batch = varied_batch(input_shape, bounds)
    # In parts if need be: another rounding falls on the same levels.
    answer, _ = fitting_answer(
        lambda start, stop: answer_of(forward, batch[start:stop], name), PROBED_ROWS, PROBED_ROWS
    )
    digest = hashlib.sha256(checked_classes(answer, PROBED_ROWS, num_classes, name).tobytes())
    if answer.ndim == 2:
        second, best = np.sort(answer.astype(np.float64), axis=1)[:, -2:].T
        # The loser of two may be -inf, as the logarithm of a probability that is zero.
        scale = max(float(np.abs(answer[np.isfinite(answer)]).max()), np.finfo(np.float64).tiny)
        levels = np.rint(GAP_LEVELS * np.clip((best - second) / scale, 0, 4)).astype(np.int64)
        digest.update(levels.tobytes())
    return f"answers:{digest.hexdigest()[:32]}"


def varied_batch(input_shape: tuple[int, ...], bounds: tuple[float, float]) -> NDArray[np.float32]:
    """Seeded inputs of every brightness, from flat ones to noise over all of `bounds`."""
    lower, upper = bounds
    rng = np.random.default_rng(1)
    column = (PROBED_ROWS, *(1,) * len(input_shape))
    level = rng.uniform(lower, upper, column)
    contrast = rng.uniform(0, upper - lower, column)
    batch = level + contrast * rng.uniform(-0.5, 0.5, (PROBED_ROWS, *input_shape))
    return np.clip(batch, lower, upper).astype(np.float32)

"""What changes over the epochs: the exponent k of the noise and the learning rate.

Both are functions of the epoch or step alone, so a resumed run needs no saved schedule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dsrs.errors import InvalidInput

RISING_SHARE = 0.25  # of the steps of one cycle
FIRST_RATE = 0.02  # least rate of rising steps, as a share of the peak


def warm_up_k(k0: float, e: int, e0: int) -> float:
    """The exponent of the training noise in the e-th epoch (or step), e = 1, 2, ...

    k = ceil(k0 - k0^(1 - e/e0)) for e <= e0, k0 later (paper, appendix on the training strategy).
    """
    if e < 1 or e0 < 0:
        raise InvalidInput(f"the warm-up counts from `e` = 1 to `e0` >= 0, got e={e}, e0={e0}")
    if e > e0 or k0 == 0:
        return k0
    # k0 < 1 is no whole number of the paper's: the power exceeds k0, and the ceiling is 0.
    return float(min(max(math.ceil(k0 - k0 ** (1 - e / e0)), 0), k0))


def step_decay(learning_rate: float, epoch: int, decay_at: Sequence[int], factor: float) -> float:
    """The learning rate in epoch 1, 2, ...: times `factor` after each epoch of `decay_at`."""
    return learning_rate * factor ** sum(epoch > end for end in decay_at)


def one_cycle(peak: float, share: float) -> float:
    """The learning rate after this share of the steps of a run: up to `peak`, then down to 0.

    It rises linearly over the first RISING_SHARE of the run and falls along half a cosine after it,
    which needs fewer epochs than a rate in steps (Smith and Topin 2018).
    """
    if share < RISING_SHARE:
        return peak * max(share / RISING_SHARE, FIRST_RATE)
    return peak * (1 + math.cos(math.pi * (share - RISING_SHARE) / (1 - RISING_SHARE))) / 2


def ramp(epoch: int, epochs: int) -> float:
    """Rises linearly to 1 over the first `epochs` epochs; epoch counts from 1."""
    return min(1.0, epoch / epochs) if epochs else 1.0

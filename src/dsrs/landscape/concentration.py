"""(sigma, P_con)-concentration, the assumption of the paper's Theorem 2, at inputs with votes.

A model has the property at an input if it is right for all Gaussian noise of scale sigma whose norm
is within the P_con-quantile T. Votes can refute it, by a miss at a norm below T; they cannot prove
it: an input counts where no vote below T missed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dsrs.laws import GeneralizedGaussian

CONCENTRATION_SHARES = (0.1, 0.5, 0.9, 0.99)  # the P_con that are asked for
# Theorem 2: with P_con = 1/2, k within 15 of d / 2 and Q truncated at T, for large d.
PROMISE, PROMISE_SHARE = 0.02, 0.5


@dataclass(frozen=True, slots=True)
class Concentration:
    """How many inputs have the property at one sigma, and what Theorem 2 promises for them.

    `holds` has the share of inputs for each P_con of CONCENTRATION_SHARES. `radius` is the
    promised radius of those that have it for P_con = 1/2.
    """

    sigma: float
    holds: tuple[float, ...]
    radius: float


def concentration(first_misses: Sequence[float], d: int, sigma: float) -> Concentration:
    """Which inputs have the property at this sigma.

    Args:
        first_misses: for each input a norm below which no vote missed.
        d: the dimension of the inputs.
        sigma: the scale of the Gaussian noise of the property.
    """
    quantiles = GeneralizedGaussian(d, sigma).radial_quantile(np.array(CONCENTRATION_SHARES))
    holds = np.mean(np.asarray(first_misses)[:, None] >= quantiles[None, :], axis=0)
    return Concentration(sigma, tuple(map(float, holds)), PROMISE * sigma * math.sqrt(d))

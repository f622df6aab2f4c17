"""Large multipliers of laws that nearly cancel: what rounding may do is charged, at 40 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsrs.duality import dual_bound
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from duality.search_cases import problem
from oracle.shells import Weight
from oracle.shells import dual_bound as exact_bound

# d, k, shift, multiplier of P, and one law or two with theirs: large terms that leave little.
ALMOST_P = [
    (784, 380.0, 0.5, -1e6, [("rescaled", 1.000001, 1e6 + 2)]),
    (20, 0.0, 0.5, 1e8, [("rescaled", 1 - 1e-8, -1e8 + 2)]),
    (784, 380.0, 0.3, 0.0, [("rescaled", 0.9, 1e9), ("rescaled", 0.9000000001, -1e9 + 3)]),
    (3, 0.4, 0.5, -2e7, [("rescaled", 1.0000001, 1e7), ("rescaled", 0.9999999, 1e7 + 2)]),
    (20, 4.0, 0.5, -1e6, [("truncated", 0.6, 6e5 + 1), ("truncated", 0.7, 1.5)]),
]


@pytest.mark.parametrize(
    ("d", "k", "r", "l0", "laws"),
    [ALMOST_P[1], *(pytest.param(*case, marks=pytest.mark.slow) for case in ALMOST_P)],
)
def test_no_rounding_makes_a_bound_too_large(
    d: int, k: float, r: float, l0: float, laws: list[tuple[str, float, float]]
) -> None:
    base = GeneralizedGaussian(d, 1.0, k)
    kinds = {"rescaled": Rescaled, "truncated": Truncated}
    # Intervals of 1: nothing but the integral counts.
    seen = [(kinds[kind](base, value), 1.0, 1.0) for kind, value, _ in laws]
    multipliers = np.array([l0, *(multiplier for _, _, multiplier in laws)])
    ours = dual_bound(problem(base, (1.0, 1.0), *seen), multipliers, r / base.scale)
    first, *more = (Weight(kind, value, multiplier, 1.0) for kind, value, multiplier in laws)
    exact = float(
        exact_bound(
            d, k, 1.0, r, l0, first.multiplier, 1.0, 1.0, first.shape, first.value,
            more=more, digits=40,
        )
    )  # fmt: skip
    assert ours <= exact
    # What is charged is a few roundings of the large terms, or no answer is given.
    assert exact - ours < 1e-11 * np.abs(multipliers).sum() + 1e-9 or ours == -math.inf

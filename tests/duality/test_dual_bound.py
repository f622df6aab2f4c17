"""The trusted dual bound against mpmath: never above the exact value, and close below it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsrs.duality import dual_bound
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, additional_law
from dsrs.proofs import Interval, Observation, constraints_of, problem_of
from oracle.shells import dual_bound as exact_bound

# d, k, sigma, r, l1, l2, shape, value: every sign, kinks, small d, thin and wide shells.
CASES = [
    (784, 380, 0.5, 0.9, 1.97, 7.17, "truncated", 0.6),
    (784, 380, 0.5, 0.9, 1.97, 7.17, "rescaled", 0.4),
    (784, 0, 0.5, 0.6, 2.2, 0.5, "truncated", 0.5),
    (3072, 1530, 0.5, 0.9, 6.3, -0.8, "rescaled", 0.4),
    (3072, 1530, 0.5, 0.9, 2.0, -1.1, "truncated", 0.8),
    (150528, 75260, 1.0, 1.5, -0.4, 3.0, "rescaled", 0.8),
    (2, 0, 1.0, 0.8, 1.4, 0.6, "truncated", 0.7),
    (3, 0.9, 1.0, 0.5, 1.2, 0.4, "rescaled", 0.7),
    (5_000_000, 0, 1.0, 1.0, 1.5, 0.7, "rescaled", 0.9999),
    (5_000_000, 2_499_995, 1.0, 1.5, 0.9, 4.0, "truncated", 0.5),
    (20, 9.5, 1.0, 0.5, 1.2, 0.8, "truncated", 0.6),
]

Case = tuple[int, float, float, float, float, float, str, float]


def bound(
    law: GeneralizedGaussian,
    extra: AdditionalLaw,
    p: tuple[float, float],
    q: tuple[float, float],
    multipliers: tuple[float, float],
    radius: float,
) -> float:
    constraints = constraints_of(law, Interval(*p), [Observation(extra, Interval(*q))])
    return dual_bound(problem_of(law, constraints), np.array(multipliers), radius / law.scale)


def random_case(generator: np.random.Generator) -> Case:
    d = int(10 ** generator.uniform(math.log10(2), 6.5))
    m = min(10 ** generator.uniform(-0.3, 2.0), d / 2)
    sigma = 10 ** generator.uniform(-1, 0.5)
    shape = str(generator.choice(["truncated", "rescaled"]))
    # Not so far from sigma that the two shells part: there the oracle loses its way.
    factor = math.exp(generator.uniform(-2.5, 2.5) / (math.sqrt(m) + 2))
    value = generator.uniform(0.05, 0.97) if shape == "truncated" else sigma * factor
    l1, l2 = generator.choice([-1, 1, 1, 1], 2) * 10 ** generator.uniform(-3, 2.5, 2)
    return d, d / 2 - m, sigma, sigma * generator.uniform(0.05, 3), l1, l2, shape, value


def compare(case: Case) -> None:
    d, k, sigma, r, l1, l2, shape, value = case
    law = GeneralizedGaussian(d, sigma, k)
    extra = additional_law(shape, value, law)
    P, Q = 0.93, 0.96
    ours = bound(law, extra, (P, P), (Q, Q), (float(l1), float(l2)), r)
    exact = float(exact_bound(d, k, sigma, r, l1, l2, P, Q, shape, value))
    gap = exact - ours
    # At most the exact value; below it by no more than tolerance and rounding allowance.
    assert gap >= -1e-15 * (1 + abs(l1) + abs(l2))
    assert gap <= 4e-9 + 1e-10 * (abs(l1) + abs(l2))


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_bound_is_just_below_the_exact_value(case: Case) -> None:
    compare(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[3:], ids=str)
def test_bound_is_just_below_the_exact_value_in_corners(case: Case) -> None:
    compare(case)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_bound_is_just_below_the_exact_value_at_random(seed: int) -> None:
    compare(random_case(np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("shape", "value"), [("truncated", 0.8), ("truncated", 0.3), ("rescaled", 0.4)]
)
@pytest.mark.parametrize("l2", [3e4, 1e7])
def test_large_multipliers_lose_no_digits(shape: str, value: float, l2: float) -> None:
    """Q_A near 1: the exact value, where l2 (1 - Q) is of order 1."""
    Q = 1 - 2.0 ** -round(math.log2(2 * l2))
    d, k, sigma, r, l1, P = 3072, 1530, 0.5, 1.4, 0.3, 0.97
    law = GeneralizedGaussian(d, sigma, k)
    ours = bound(law, additional_law(shape, value, law), (P, P), (Q, Q), (l1, l2), r)
    exact = float(exact_bound(d, k, sigma, r, l1, l2, P, Q, shape, value, digits=40))
    assert -1e-15 <= exact - ours <= 1e-9


def test_an_infinite_multiplier_is_the_limit_of_large_ones() -> None:
    law = GeneralizedGaussian(3072, 0.5, 1530)
    extra = additional_law("truncated", 0.8, law)
    at = [
        bound(law, extra, (0.97, 0.97), (1.0, 1.0), (0.3, l2), 0.08 * law.scale)
        for l2 in (1e10, 1e14, np.inf)
    ]
    assert at[0] < at[1] < at[2] + 1e-13
    assert at[1] == pytest.approx(at[2], abs=1e-7)


def test_large_negative_multipliers_prove_nothing() -> None:
    law = GeneralizedGaussian(3072, 0.5, 1530)
    extra = additional_law("rescaled", 0.475, law)
    p, q, multipliers = (0.0, 1.7e-4), (5e-9, 2.2e-4), (-1.1e250, 1.5e248)
    assert bound(law, extra, p, q, multipliers, 0.01 * law.scale) < 0

"""The empirical Bernstein bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsrs.confidence import empirical_bernstein_upper
from dsrs.errors import InvalidInput


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_coverage(alpha: float) -> None:
    """Simulated on skewed variables; four standard deviations stand above alpha."""
    generator = np.random.default_rng(3)
    runs, count = 4_000, 200
    for a, b in ((0.1, 2.0), (5.0, 0.3), (0.01, 0.01)):
        draws = generator.beta(a, b, (runs, count))
        bounds = [
            empirical_bernstein_upper(mean, variance, count, alpha)
            for mean, variance in zip(draws.mean(axis=1), draws.var(axis=1, ddof=1), strict=True)
        ]
        missed = np.mean(np.array(bounds) < a / (a + b))
        assert missed <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / runs)


def test_it_is_the_textbook_formula() -> None:
    # ln(2 / alpha) = 2, variance 0.25, 201 draws: sqrt(1 / 201) + 14 / 600.
    alpha = 2 * math.exp(-2)
    bound = empirical_bernstein_upper(0.5, 0.25, 201, alpha)
    assert bound == pytest.approx(0.5 + math.sqrt(1 / 201) + 14 / 600, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 0.1, 1, 0.1), "`count`"),
        ((0.5, 0.1, 10, 1.0), "`alpha`"),
        ((math.nan, 0.1, 10, 0.1), "`mean`"),
        ((0.5, -0.1, 10, 0.1), "`variance`"),
    ],
)
def test_bad_input_is_named(arguments: tuple[float, float, int, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        empirical_bernstein_upper(*arguments)

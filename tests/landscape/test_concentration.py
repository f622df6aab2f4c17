"""The concentration property of inputs that were looked at."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from dsrs.landscape import CONCENTRATION_SHARES, concentration


def test_the_property_holds_up_to_the_first_miss() -> None:
    d, sigma = 784, 0.5
    quantiles = sigma * stats.chi(d).ppf(CONCENTRATION_SHARES)
    misses = [0.0, *(0.5 * (quantiles[1:] + quantiles[:-1])), math.inf]
    found = concentration(misses, d, sigma)
    # Of five inputs: one misses everywhere, one beyond each quantile, one nowhere.
    assert found.holds == pytest.approx((4 / 5, 3 / 5, 2 / 5, 1 / 5))
    assert found.radius == pytest.approx(0.02 * 0.5 * 28)

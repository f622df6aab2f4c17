"""The two oracles of the bound against each other: NumPy and mpmath share no formula's code."""

from __future__ import annotations

from typing import Any

import pytest

from oracle import mixtures
from oracle.shells import dual_bound

POINTS = ((0.5, 0.0), (2.0, 1.0), (6.0, -0.5))
slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("d", "k", "eta", "shape", "multipliers"),
    [
        (20, 3.0, 4.0, "weighted", (3.0, -1.0)),
        pytest.param(20, 2.0, 1.0, "weighted", (1.3, 0.8), marks=slow),
        pytest.param(20, 2.0, 1.0, "rescaled", (3.0, -1.0), marks=slow),
        pytest.param(3, 0.5, 1.0, "truncated", (3.0, -1.0), marks=slow),
        pytest.param(2, 0.0, 4.0, "weighted", (3.0, -1.0), marks=slow),
        pytest.param(2, 0.3, 2.0, "rescaled", (-1.0, 2.0), marks=slow),
        pytest.param(784, 380.0, 2.0, "truncated", (1.3, 0.8), marks=slow),
        pytest.param(150528, 75260.0, 2.0, "rescaled", (-0.4, 3.0), marks=slow),
    ],
)
def test_both_oracles_agree(
    d: int, k: float, eta: float, shape: str, multipliers: tuple[float, float]
) -> None:
    noise = mixtures.Noise(d, 1.0, k, eta)
    points = tuple((t * noise.m / 3, log) for t, log in POINTS)
    forms: dict[str, tuple[Any, mixtures.Law]] = {
        "truncated": (0.6, mixtures.truncated(noise, 0.6)),
        "rescaled": (0.8, mixtures.rescaled(noise, 0.8)),
        "weighted": (points, mixtures.weighted(noise, *zip(*points, strict=True))),
    }
    value, law = forms[shape]
    laws = [mixtures.own(noise), law]
    found = mixtures.dual_bound(noise, laws, [0.93, 0.96], multipliers, 0.7)
    exact = dual_bound(d, k, 1.0, 0.7, *multipliers, 0.93, 0.96, shape, value, eta=eta)
    assert abs(found.value - float(exact)) < found.error
    assert found.error < 1e-10

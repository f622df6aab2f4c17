"""Exponential families as P: the bound just below mpmath, for every kind of additional law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dsrs.duality import dual_bound
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Interval, Observation, constraints_of, problem_of
from oracle.shells import dual_bound as exact_bound

P, Q = 0.93, 0.96
KINDS = ("truncated", "rescaled", "weighted")
CASES = [
    (20, 2.0, 1.0, 0.7, (1.3, 0.8)),
    (20, 3.0, 4.0, 0.7, (3.0, -1.0)),
    (784, 380.0, 2.0, 1.2, (1.5, 4.0)),
    (784, 380.0, 1.0, 0.8, (-0.3, 4.0)),
    (3072, 1500.0, 4.0, 0.8, (2.0, 0.5)),
    (3, 0.5, 1.0, 0.7, (3.0, -1.0)),
]


def compare(
    d: int, k: float, eta: float, r: float, multipliers: tuple[float, float], kind: str
) -> None:
    base = GeneralizedGaussian(d, 1.0, k, eta)
    points = tuple((t * base.m, log) for t, log in ((0.3, 0.0), (1.0, 1.0), (2.0, -0.5)))
    knots, logs = zip(*points, strict=True)
    forms: dict[str, tuple[Any, AdditionalLaw]] = {
        "truncated": (0.6, Truncated(base, 0.6)),
        "rescaled": (0.8, Rescaled(base, 0.8)),
        "weighted": (points, Weighted(base, knots, logs)),
    }
    value, law = forms[kind]
    seen = Observation(law, Interval(Q, Q))
    problem = problem_of(base, constraints_of(base, Interval(P, P), [seen]))
    ours = dual_bound(problem, np.array(multipliers), r / base.scale)
    exact = float(exact_bound(d, k, 1.0, r, *multipliers, P, Q, kind, value, eta=eta))
    assert 0 <= exact - ours <= 2e-9


@pytest.mark.parametrize(("case", "kind"), list(zip(CASES[:3], KINDS, strict=True)), ids=str)
def test_the_bound_of_a_family_is_just_below_the_exact_value(
    case: tuple[int, float, float, float, tuple[float, float]], kind: str
) -> None:
    compare(*case, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bound_of_every_family_is_just_below_the_exact_value(
    case: tuple[int, float, float, float, tuple[float, float]], kind: str
) -> None:
    compare(*case, kind)

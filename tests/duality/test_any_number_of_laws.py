"""The trusted bound with 2 to 24 laws against its definition: never above, and close below."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs import (
    Certificate,
    GeneralizedGaussian,
    Interval,
    Observation,
    Rescaled,
    Truncated,
    certify,
    check,
)
from dsrs.duality import compile_kernels, dual_bound
from dsrs.laws import AdditionalLaw
from dsrs.proofs import constraints_of, problem_of
from duality.random_problems import random_case

# What may be given away: the flat charge, and with the multipliers the angle's table and rounding,
# which is charged for every piece of every law (5e-10 with 19 laws at d = 150,528).
FLAT, SHARE = 1e-9, 1e-9
# In two dimensions the curve may end in a point where its speed is infinite.
FLAT_IN_A_PLANE = 2e-6


def compare(seeds: range) -> None:
    for seed in seeds:
        case = random_case(np.random.default_rng(seed))
        exact, ours = case.exact(), case.ours()
        size = sum(abs(multiplier) for multiplier in case.multipliers)
        assert exact.error < 1e-10 * (1 + size), seed
        assert ours <= exact.value + 1e-15 * size, seed
        flat = FLAT_IN_A_PLANE if case.law.d == 2 else FLAT
        assert exact.value - ours <= flat + SHARE * size, seed


def test_no_bound_is_above_its_definition() -> None:
    compare(range(40))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 250))
def test_no_bound_of_many_is_above_its_definition(first: int) -> None:
    compile_kernels()
    compare(range(first, first + 250))


def seen(law: AdditionalLaw, lower: float, upper: float) -> Observation:
    return Observation(law, Interval(lower, upper))


@pytest.mark.parametrize("upper", [1.0, 1 - 1e-9])
@pytest.mark.parametrize("count", [1, 16])
def test_laws_of_which_nothing_is_known_change_nothing(count: int, upper: float) -> None:
    base = GeneralizedGaussian(3, 1.0)
    useful = seen(Rescaled(base, 1.25), 0.66, 0.67)
    vacuous = [seen(Truncated(base, 0.72 + 1e-6 * j), 0.0, upper) for j in range(count)]
    alone = certify(base, Interval(0.81, 0.82), useful)
    found = certify(base, Interval(0.81, 0.82), useful, *vacuous)
    assert alone.radius == pytest.approx(0.97394, abs=1e-5)
    # A law of which something is known joins the search, which ends within 2e-7.
    assert found.radius == pytest.approx(alone.radius, abs=0 if upper == 1 else 3e-7)
    assert check(found)


def test_a_radius_that_vacuous_laws_once_proved_is_refused() -> None:
    base = GeneralizedGaussian(3, 1.0)
    vacuous = [seen(Truncated(base, 0.72 + 1e-6 * j), 0.0, 1 - 1e-9) for j in range(16)]
    observed = (seen(Rescaled(base, 1.25), 0.66, 0.67), *vacuous)
    problem = problem_of(base, constraints_of(base, Interval(0.81, 0.82), observed))
    multipliers = np.zeros(18)
    generator = np.random.default_rng(5)
    for _ in range(20):
        # At 1.23192 the least probability is 0.402: no multipliers may prove more.
        multipliers[:2] = generator.normal(2.0, 2.0, 2)
        multipliers[2:] = generator.normal(0.0, 0.1, 16)
        assert dual_bound(problem, multipliers, 1.23192) < 0.402 + 1e-3


def test_a_thin_dip_of_g_is_seen() -> None:
    base = GeneralizedGaussian(10, 1.0)
    laws = seen(Rescaled(base, 1.2), 1.0, 1.0), seen(Rescaled(base, 0.8), 1.0, 1.0)
    problem = problem_of(base, constraints_of(base, Interval(0.0, 1.0), laws))
    value = dual_bound(problem, np.array([-1e5, 92870.0, 54320.0]), 0.1)
    assert value == pytest.approx(-82.736, abs=1e-3)


def test_p_observed_again_does_not_hide_the_other_laws() -> None:
    base = GeneralizedGaussian(784, 0.5, 380)
    again, useful = seen(Rescaled(base, 0.5), 0.94, 1.0), seen(Truncated(base, 0.6), 0.99, 1.0)
    found = certify(base, Interval(0.93, 0.95), again, useful)
    straight = certify(base, Interval(0.94, 0.95), useful)
    assert check(found)
    assert found.radius == pytest.approx(straight.radius, abs=1e-9)
    assert found.radius > certify(base, Interval(0.94, 0.95)).radius + 0.01


def radius_of(base: GeneralizedGaussian, *laws: Observation) -> Certificate:
    return certify(base, Interval(0.93, 0.95), *laws)


def test_three_laws_are_never_below_the_best_pair() -> None:
    base = GeneralizedGaussian(784, 0.5, 380)
    laws = (
        seen(Truncated(base, 0.4), 0.999, 1.0),
        seen(Truncated(base, 0.8), 0.98, 1.0),
        seen(Rescaled(base, 0.4), 0.985, 0.995),
    )
    pairs = [radius_of(base, *laws[:i], *laws[i + 1 :]).radius for i in range(3)]
    all_three = radius_of(base, *laws)
    assert check(all_three)
    assert all_three.radius >= max(pairs)

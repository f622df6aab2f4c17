"""The total variation of a shift: never below, and close to, what two other routes give."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special

from dsrs.duality import Problem, covered_step, total_variation
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval, constraints_of, problem_of
from oracle import mixtures

STEPS = (1e-8, 1e-4, 0.01, 0.3, 1.0, 3.0, 20.0)  # in units of sigma
LAWS = [
    GeneralizedGaussian(d, 1.0, d / 2 - m * eta / 2, eta)
    for d, m, eta in (
        (2, 1.0, 2.0), (2, 0.3, 2.0), (3, 0.5, 2.0), (5, 0.3, 0.5), (20, 2.5, 8.0), (20, 0.5, 1.0),
        (65, 0.5, 2.0), (100, 25.0, 4.0), (3072, 6.0, 2.0), (3072, 0.3, 2.0), (150528, 4.0, 2.0),
        (150528, 300.0, 0.5), (10**6, 5e5, 2.0),
    )
]  # fmt: skip


def problem_of_p(law: GeneralizedGaussian) -> Problem:
    return problem_of(law, constraints_of(law, Interval(0.9, 1.0), ()))


def by_the_slab(law: GeneralizedGaussian, step: float) -> float:
    """Pr[|x_1| < step/2]: the cosine squared of a shell is Beta(1/2, (d-1)/2)."""
    noise = mixtures.Noise(law.d, law.sigma, law.k, law.eta)
    low, high = noise.span()
    kink = noise.eta * math.log(step / 2 / noise.s)

    def inside(x: float) -> float:
        ratio = min(math.exp(2 * (kink - x) / noise.eta), 1.0)
        density = math.exp(float(noise.log_density(np.array(x))))
        return density * float(special.betainc(0.5, (law.d - 1) / 2, ratio))

    spread = 1 / math.sqrt(noise.m)
    cuts = {low, high, kink, math.log(noise.m)}
    cuts |= {kink + j * noise.eta * 0.5 for j in range(1, 12)}
    # Where the slab's share falls in high dimension, and around the peak.
    cuts |= {kink + noise.eta * 0.5 * math.log(law.d * 4.0**j) for j in range(-6, 3)}
    cuts |= {math.log(noise.m) + j * spread for j in (-30, -20, -12, -8, -4, -2, 2, 4, 8, 12)}
    edges = sorted(x for x in cuts if low <= x <= high)
    return sum(
        float(integrate.quad(inside, a, b, epsabs=1e-15, epsrel=1e-11, limit=200)[0])
        for a, b in pairwise(edges)
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_total_variation_is_the_mass_of_a_slab(law: GeneralizedGaussian) -> None:
    problem = problem_of_p(law)
    for step in STEPS:
        exact = by_the_slab(law, step)
        ours = total_variation(problem, step / law.scale)
        assert exact <= ours * (1 + 1e-12)
        assert ours <= exact * (1 + 1e-5) + 1e-11


@pytest.mark.parametrize("law", LAWS[::3], ids=lambda law: law.describe())
def test_total_variation_is_what_two_shifted_laws_do_not_share(law: GeneralizedGaussian) -> None:
    noise = mixtures.Noise(law.d, law.sigma, law.k, law.eta)
    for step in (0.01, 0.5):
        common = mixtures.dual_bound(noise, [mixtures.own(noise)], [1.0], [1.0], step)
        ours = total_variation(problem_of_p(law), step / law.scale)
        assert ours >= 1 - common.value - common.error
        assert ours == pytest.approx(1 - common.value, abs=1e-9, rel=1e-5)


def test_total_variation_of_nothing_and_of_a_far_shift() -> None:
    problem = problem_of_p(LAWS[0])
    assert total_variation(problem, 0.0) == 0
    assert total_variation(problem, -1.0) == 0
    assert total_variation(problem, 1e6) == 1
    # Squares of these underflow and overflow.
    assert 0 <= total_variation(problem, 1e-170) < 1e-11
    assert total_variation(problem, 1e300) == 1


def test_total_variation_grows_and_is_subadditive() -> None:
    for law in LAWS[:6]:
        problem = problem_of_p(law)
        steps = np.geomspace(1e-6, 10, 30)
        found = np.array([total_variation(problem, step) for step in steps])
        assert (np.diff(found) >= -1e-12).all()
        halves = np.array([total_variation(problem, step / 2) for step in steps])
        assert (found <= 2 * halves * (1 + 1e-5) + 1e-11).all()


@pytest.mark.parametrize("margin", [1e-3, 0.1, 0.4])
def test_a_covered_step_stays_within_its_margin_and_is_long(margin: float) -> None:
    for law in LAWS[:3] + LAWS[6:10]:
        problem = problem_of_p(law)
        for guess in (1e-4, 1.0):
            step = covered_step(problem, margin, guess * problem.base.unit)
            assert 0 < total_variation(problem, step) < margin
            assert total_variation(problem, 1.3 * step) > 0.9 * margin


def test_no_step_is_covered_without_a_margin() -> None:
    assert covered_step(problem_of_p(LAWS[0]), 0.0, 0.1) == 0
    assert covered_step(problem_of_p(LAWS[0]), -1.0, 0.1) == 0

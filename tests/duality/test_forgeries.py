"""What an adversary might hide from the trusted bound: never more than its definition gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from dsrs.duality import LARGEST_ROUNDING, components_of, dual_bound
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted, parse_additional_law
from dsrs.proofs import Dual, Interval, Observation, Step, constraints_of, problem_of
from duality.forgeries import HALF, KINDS, Forgery
from laws.test_masses import random_base, random_weights

GAUSSIAN = GeneralizedGaussian(784, 1.0)


def hidden_law() -> Forgery:
    """Beyond 256 standard deviations of a wide law there once was one panel of 33 nodes."""
    texts = "weighted:inner=-391.0,392.0:0.0,outer=-391.0", "rescaled:0.00015896206562992398"
    seen = tuple(Observation(parse_additional_law(text, GAUSSIAN), HALF) for text in texts)
    return Forgery(GAUSSIAN, Interval(0.0, 1.0), seen, (0.0, -1e-200, -1.8), 1000.0)


def hidden_from_p() -> Forgery:
    """The same, in 3,072 dimensions and with P_A of at least 0.6."""
    law = GeneralizedGaussian(3_072, 1.0)
    texts = (
        "weighted:inner=-1534.3104,1523.4463113458046:0.0,outer=-1534.3104",
        "rescaled:0.0971559120709579",
    )
    seen = tuple(Observation(parse_additional_law(text, law), HALF) for text in texts)
    multipliers = (2.0899618112564107, -1e-200, -1.5692022660499876)
    return Forgery(law, Interval(0.6, 1.0), seen, multipliers, 0.787030016229573)


@pytest.mark.parametrize(("forgery", "true"), [(hidden_law(), -0.9), (hidden_from_p(), -0.722389)])
def test_a_law_that_hides_is_seen(forgery: Forgery, true: float) -> None:
    assert forgery.exact() == pytest.approx(true, abs=2e-6)
    assert forgery.ours() == pytest.approx(true, abs=2e-6) or forgery.ours() == -math.inf
    step = Step(forgery.radius, forgery.multipliers, 0.7)
    flaw = Dual(forgery.p, forgery.additional, (step,)).flaw(forgery.law)
    assert "proves" in str(flaw)


def compare(kind: str, seeds: range) -> None:
    for seed in seeds:
        try:
            forgery = KINDS[kind](np.random.default_rng(seed))
        except InvalidInput:
            continue  # refused at the door
        ours = forgery.ours()
        assert ours == -math.inf or ours <= forgery.exact() + forgery.tolerance, seed


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_hides_between_nodes(kind: str) -> None:
    compare(kind, range(36, 39 if kind == "dozens_of_narrow_ones" else 48))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_hides_between_nodes_many_times(kind: str) -> None:
    compare(kind, range(1000, 1030 if kind == "dozens_of_narrow_ones" else 1300))


def test_a_short_dip_of_g_below_p_is_seen() -> None:
    """At a shift of nearly 0 B is the integral of min(g, p), in closed form by Gamma functions.

    g is just below p between two shells and above it elsewhere: nodes beside the dip see p.
    """
    law = GeneralizedGaussian(784, 1.0, 380.0)
    m, generator = law.m, np.random.default_rng(0)
    factors = 0.8, 1.25
    rates = np.array(factors) ** -2.0
    known = [Observation(Rescaled(law, factor), Interval(1.0, 1.0)) for factor in factors]
    problem = problem_of(law, constraints_of(law, Interval(1.0, 1.0), known))
    for _ in range(40):
        t, depth = m * generator.uniform(0.7, 1.4), 10 ** generator.uniform(-4, -1.5)
        weights = np.exp(m * np.log(rates) - (rates - 1) * t)
        # Multipliers with which g/p has its minimum, 1 - depth, at t.
        sizes = np.linalg.solve([weights, -(rates - 1) * weights], [1 - depth, 0.0])

        def excess(t: float, sizes: np.ndarray = sizes) -> float:
            return float(sizes @ np.exp(m * np.log(rates) - (rates - 1) * t)) - 1

        low, high = optimize.brentq(excess, 0.2 * t, t), optimize.brentq(excess, t, 4 * t)
        inside = special.gammainc(m, rates * high) - special.gammainc(m, rates * low)
        exact = special.gammainc(m, low) + special.gammaincc(m, high) + sizes @ inside
        ours = dual_bound(problem, np.array([0.0, *sizes]), 1e-7 / law.scale)
        assert exact - 1e-8 < ours < exact


def test_no_mass_is_made_of_rounding() -> None:
    """Q_A = 0 with a multiplier of -L costs nothing and gives nothing: B is 0 at most."""
    generator = np.random.default_rng(8)
    for trial in range(60):
        try:
            law = (
                random_weights(generator),
                Truncated(random_base(generator), 10 ** generator.uniform(-5, 0)),
                Rescaled(random_base(generator), 10 ** generator.uniform(-6, 6)),
            )[trial % 3]
        except InvalidInput:
            continue
        known = [Observation(law, Interval(0.0, 0.0))]
        problem = problem_of(law.base, constraints_of(law.base, Interval(0.0, 1.0), known))
        for size in (1e2, 1e6, 1e10, 4.9e12):
            bound = dual_bound(problem, np.array([0.0, -size]), 1000 / law.base.scale)
            assert bound <= 0, (trial, size)
            assert bound == -math.inf or bound >= -LARGEST_ROUNDING - 1e-9 - 1e-18 * size


def test_multipliers_beyond_what_the_charge_carries_prove_nothing() -> None:
    law = GeneralizedGaussian(784, 1.0, 380.0)
    almost_p = parse_additional_law("weighted:inner=0,10.13:8909.47,outer=0", law)
    known = Observation(almost_p, Interval(0.0, 0.0))
    proof = Dual(Interval(0.0, 1.0), (known,), (Step(1000.0, (0.0, -4.9e12), 0.7),))
    assert "proves -inf only" in str(proof.flaw(law))


def test_a_law_that_is_not_used_changes_nothing() -> None:
    """In two dimensions its cuts once made 0.376 of 0.501."""
    law = GeneralizedGaussian(2, 1.0, 0.0, 8.0)
    used = Observation(Rescaled(law, 0.8), Interval(0.95, 0.96))
    for unused in (Truncated(law, 0.4), Truncated(law, 0.9), Weighted(law, (0.1, 0.2), (0.0, 1.0))):
        both = used, Observation(unused, HALF)
        values = []
        for known, multipliers in ((both[:1], [0.7, 0.4]), (both, [0.7, 0.4, 0.0])):
            problem = problem_of(law, constraints_of(law, Interval(0.9, 0.91), known))
            values.append(dual_bound(problem, np.array(multipliers), 1.0 / law.scale))
        assert values[0] == values[1]


def test_the_rounding_of_laws_that_are_not_used_is_not_charged() -> None:
    parts = components_of(12.0, ())
    assert parts.noise == parts.rounding[0]

"""Solid multipliers: where one evaluation is said to prove a ball, g's positive part must fall."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsrs import certify
from dsrs.duality import Floats, Problem, compile_kernels, dual_bound, loss_at_shorter_shifts
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.proofs import Dual, Interval, Observation, check, constraints_of, problem_of
from duality.random_problems import Case, by_definition, random_base, random_law
from laws.annulus import Annulus
from oracle import mixtures


def is_solid(problem: Problem, multipliers: Floats) -> bool:
    """Whether one evaluation proves a ball, but for rounding."""
    return bool(loss_at_shorter_shifts(problem, multipliers) < 1e-9)


def random_multipliers(generator: np.random.Generator, few: int) -> Case:
    """Often near the edge between solid and hollow: one law against a little of the others."""
    base = random_base(generator, (2.0, 2.0, 1.0, 4.0, 0.5, 8.0))
    count = int(generator.integers(1, few + 1))
    laws = [Observation(random_law(generator, base), Interval(0.5, 0.9)) for _ in range(count)]
    multipliers = generator.choice([-1, 1, 1], count + 1) * 10 ** generator.uniform(
        -3, 1, count + 1
    )
    multipliers[generator.integers(count + 1)] = 10 ** generator.uniform(-1, 1)
    radius = float(generator.uniform(0.1, 3))
    return Case(base, Interval(0.5, 0.9), tuple(laws), tuple(multipliers.tolist()), radius)


def densities(case: Case, x: Floats) -> tuple[Floats, Floats]:
    """g and the sum of its terms' sizes as densities of x = ln t."""
    law = case.law
    noise = mixtures.Noise(law.d, law.sigma, law.k, law.eta)
    laws = [mixtures.own(noise), *(by_definition(noise, each.law) for each in case.additional)]
    terms = [
        multiplier * each.density(x)
        for multiplier, each in zip(case.multipliers, laws, strict=True)
    ]
    return np.asarray(sum(terms)), np.asarray(sum(abs(term) for term in terms))


def verify(case: Case) -> bool:
    """Whether the package says solid; if so, that it is true."""
    if not is_solid(case.problem(), np.array(case.multipliers)):
        return False
    noise = mixtures.Noise(case.law.d, case.law.sigma, case.law.k, case.law.eta)
    low, high = noise.span()
    x = np.linspace(low + 0.2 / math.sqrt(noise.m), high, 40_001)
    g, gross = densities(case, x)
    positive = np.maximum(g, 0.0)
    # A shell of ln t has the volume t^(d/eta), which grows by this much from point to point.
    volume = math.exp(min(case.law.d / case.law.eta * (x[1] - x[0]), 700.0))
    # To rounding, and where P has any mass at all.
    assert (positive[1:] / volume <= positive[:-1] + 1e-11 * gross[:-1]).all()
    return True


def test_what_is_called_solid_falls_with_the_norm() -> None:
    found = [verify(random_multipliers(np.random.default_rng(seed), 4)) for seed in range(150)]
    assert 20 < sum(found) < 130


@pytest.mark.slow
def test_what_is_called_solid_falls_with_the_norm_many_times() -> None:
    compile_kernels()
    found = [verify(random_multipliers(np.random.default_rng(s), 8)) for s in range(1000, 11_000)]
    assert sum(found) > 1000


def test_a_solid_bound_falls_with_the_radius() -> None:
    checked = 0
    for seed in range(60):
        case = random_multipliers(np.random.default_rng(seed), 3)
        problem, multipliers = case.problem(), np.array(case.multipliers)
        if is_solid(problem, multipliers) and min(case.multipliers) < 0:
            radii = np.linspace(0.02, 2.0, 12) / case.law.scale
            values = [dual_bound(problem, multipliers, radius) for radius in radii]
            # Bounds are below B by their charges.
            slack = 1e-8 + 1e-9 * np.abs(multipliers).sum()
            assert (np.diff(values) <= slack).all(), seed
            checked += 1
    assert checked >= 3


BASE = GeneralizedGaussian(20, 1.0, 4.0)


def solid(*terms: tuple[object, float]) -> bool:
    """Of P with multiplier 0 and laws with theirs."""
    seen = [Observation(law, Interval(0.5, 0.9)) for law, _ in terms]  # type: ignore[arg-type]
    problem = problem_of(BASE, constraints_of(BASE, Interval(0.5, 0.9), seen))
    return bool(is_solid(problem, np.array([0.0, *(multiplier for _, multiplier in terms)])))


def test_laws_that_fall_are_solid_with_positive_multipliers_only() -> None:
    narrow, wide = Rescaled(BASE, 0.8), Rescaled(BASE, 1.3)
    assert solid((narrow, 1.0), (Truncated(BASE, 0.4), 2.0))
    assert solid((wide, 0.0))
    # Less of the narrow law: a dip at the centre.
    assert not solid((wide, 1.0), (narrow, -0.5))
    # Less of the wide law: only the tail is lost.
    assert solid((narrow, 1.0), (wide, -0.1))


def test_a_law_that_is_zero_near_the_centre_is_not_solid() -> None:
    ring = Annulus(BASE, 0.3, 0.8)
    assert not solid((ring, 1.0))
    assert not solid((ring, 1.0), (Truncated(BASE, 0.29), 0.9 * 0.29 / 0.5))
    # The ball within fills the hole.
    assert solid((ring, 1.0), (Truncated(BASE, 0.3), 1.1 * 0.3 / 0.5))
    # Taken away from P it leaves a ring of less, and P beyond it rises again.
    seen = [Observation(ring, Interval(0.5, 0.9))]
    problem = problem_of(BASE, constraints_of(BASE, Interval(0.5, 0.9), seen))
    assert not is_solid(problem, np.array([1.0, -0.25]))
    # Whatever is left of P beyond is too little to rise: nothing.
    outer = [Observation(Annulus(BASE, 0.3, 1 - 1e-12), Interval(0.5, 0.9))]
    problem = problem_of(BASE, constraints_of(BASE, Interval(0.5, 0.9), outer))
    assert not is_solid(problem, np.array([1.0, -0.5]))


def test_a_law_whose_density_rises_is_not_solid() -> None:
    m = BASE.m
    rising = Weighted(BASE, (0.5 * m, 1.5 * m), (0.0, 12.0), inner=0.0)
    assert not rising.falls
    assert not solid((rising, 1.0))
    gentle = Weighted(BASE, (0.5 * m, 1.5 * m), (0.0, 1.0), inner=0.0, outer=-1.0)
    assert gentle.falls
    assert solid((gentle, 1.0))


def test_a_ring_certifies_by_a_chain_that_holds() -> None:
    ring = Observation(Annulus(BASE, 0.3, 0.9), Interval(0.97, 0.99))
    found = certify(BASE, Interval(0.9, 0.93), ring)
    assert check(found)
    assert isinstance(found.proof, Dual)
    assert found.np_radius is not None
    assert found.radius > found.np_radius
    assert len(found.proof.steps) > 1
    # Every shift below is safe by the oracle too, with the multipliers of the step above it.
    noise = mixtures.Noise(BASE.d, BASE.sigma, BASE.k)
    laws = [mixtures.own(noise), mixtures.annulus(noise, 0.3, 0.9)]
    for radius in np.linspace(0.05, found.radius, 9):
        step = min((s for s in found.proof.steps if s.radius >= radius), key=lambda s: s.radius)
        ends = [0.9 if step.multipliers[0] > 0 else 0.93, 0.97 if step.multipliers[1] > 0 else 0.99]
        exact = mixtures.dual_bound(noise, laws, ends, step.multipliers, float(radius))
        assert exact.value > 0.5


def test_steps_up_that_look_like_rounding_are_charged() -> None:
    """At each of 120 knots the density rises by 4e-14 of itself: once let pass for nothing."""
    count, share = 120, 4e-14
    knots = np.repeat(np.linspace(0.3, 2.0, count) * BASE.m, 2)
    logs = np.cumsum(np.tile([0.0, share], count))
    law = Weighted(BASE, tuple(knots.tolist()), tuple(logs.tolist()), inner=0.0, outer=0.0)
    assert not law.falls
    known = [Observation(law, Interval(0.5, 0.9))]
    problem = problem_of(BASE, constraints_of(BASE, Interval(0.5, 0.9), known))
    loss = loss_at_shorter_shifts(problem, np.array([0.0, 1.0]))
    assert count * share < loss < 1e-9


def test_rounding_at_cuts_counts_for_more_where_terms_cancel() -> None:
    """A law whose weight falls, less a multiple of P: the less is left at a knot, the more of it
    rounding may be."""
    knot = 0.5 * BASE.m
    law = Weighted(BASE, (knot, 2 * BASE.m), (0.0, -1.0), inner=-0.1, outer=-2.0)
    known = [Observation(law, Interval(0.5, 0.9))]
    problem = problem_of(BASE, constraints_of(BASE, Interval(0.5, 0.9), known))
    losses = []
    for beyond in (1.5, 1.01, 1.0001):  # where g vanishes, in units of the knot
        of_p = -math.exp(float(law.log_weight(beyond * knot)))
        losses.append(loss_at_shorter_shifts(problem, np.array([of_p, 1.0])))
    assert 0 < losses[0] < 1e-11
    assert 10 * losses[0] < losses[1] < 1e-9
    assert 50 * losses[1] < losses[2] < 1e-6

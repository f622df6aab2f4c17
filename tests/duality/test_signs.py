"""The signs of g: thin dips of every depth against the same sum at 40 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dsrs.duality import (
    NEGATIVE,
    POSITIVE,
    Floats,
    Problem,
    Signs,
    active_on,
    compile_kernels,
    dual_bound,
    pieces_of,
    signs_on,
)
from dsrs.duality.kernel import entry
from dsrs.laws import GeneralizedGaussian, Rescaled, Weighted
from dsrs.proofs import Interval, Observation, constraints_of, problem_of
from duality.random_problems import random_base


@entry
def signs_of(problem: Problem, multipliers: Floats) -> Signs:
    """The signs on the one piece of laws without cuts."""
    pieces, parts = pieces_of(problem.parts, 1.0), problem.parts
    active = active_on(parts, pieces, 0, multipliers)
    return signs_on(parts, active, multipliers, pieces.low[0], pieces.high[0], problem.work)


def problem_with(base: GeneralizedGaussian, factors: Floats) -> Problem:
    seen = [Observation(Rescaled(base, factor), Interval(0.5, 0.6)) for factor in factors.tolist()]
    return problem_of(base, constraints_of(base, Interval(0.5, 0.6), seen))


def exact_terms(problem: Problem, multipliers: Floats, u: mp.mpf) -> list[mp.mpf]:
    parts = problem.parts
    terms = []
    for j, owner in enumerate(parts.owner):
        w = u - mp.mpf(float(parts.anchor[j]))
        level = mp.mpf(float(parts.log_height[j])) + mp.mpf(float(parts.exponent[j])) * w
        level -= mp.mpf(float(parts.decay[j])) * mp.expm1(w)
        terms.append(mp.mpf(float(multipliers[owner])) * mp.exp(level))
    return terms


def dip(generator: np.random.Generator, fewest: int) -> tuple[Problem, Floats, float]:
    """Laws, multipliers, and where g nearly touches 0: just below it, or just above."""
    base = random_base(generator, (2.0, 1.0, 4.0, 0.5, 8.0))
    count = int(generator.integers(2, 6)) if fewest > 1 else 1
    width = 2.0 * 2 / base.eta / (math.sqrt(base.m) + 2)
    factors = np.exp(generator.uniform(-width, width, count))
    if generator.random() < 0.2:
        factors[0] = math.exp(10 ** generator.uniform(-6, -2))  # nearly P itself
    problem = problem_with(base, factors)
    parts = problem.parts
    u = float(generator.uniform(-3, 3) / math.sqrt(max(base.m, 0.5)))
    w = u - parts.anchor
    heights = np.exp(parts.log_height + parts.exponent * w - parts.decay * np.expm1(w))
    slopes = heights * (parts.exponent - parts.decay * np.exp(w))
    multipliers = generator.choice([-1, 1], count + 1) * 10 ** generator.uniform(-2, 5, count + 1)
    # The last two are chosen so that g = depth and g' = 0 at u.
    depth = generator.choice([-1, 1]) * 10 ** generator.uniform(-15, -1)
    for _ in range(2):
        free = multipliers.copy()
        free[-2:] = 0.0
        gross = float(np.abs(multipliers * heights).sum())
        goal = np.array([depth * gross - free @ heights, -(free @ slopes)])
        system = np.stack([heights[-2:], slopes[-2:]])
        if not np.isfinite(np.linalg.cond(system)) or np.linalg.cond(system) > 1e14:
            break
        multipliers[-2:] = np.linalg.solve(system, goal)
    return problem, multipliers, u


def claimed(signs: Signs, u: float) -> float:
    for low, high, sign in signs.rows:
        if low <= u <= high:
            return float(sign)
    raise LookupError(u)


def strip_length(signs: Signs, u: float) -> float:
    return next(float(high - low) for low, high, _ in signs.rows if low <= u <= high)


def compare(seeds: range, fewest: int) -> int:
    """How many of the dips go below 0 at 40 digits; no sign may be claimed against them.

    `fewest` laws beside P: with 1 there are two terms, which have a closed form.
    """
    below = 0
    for seed in seeds:
        problem, multipliers, u = dip(np.random.default_rng(seed), fewest)
        signs = signs_of(problem, multipliers)
        if not signs.settled:
            continue
        noise = problem.parts.noise
        places = [u, *(u + side * 10.0**-e for e in (2, 4, 6, 8) for side in (-1, 1))]
        for low, high, _ in signs.rows:
            places += [
                low,
                high,
                0.5 * (low + high),
                0.9 * low + 0.1 * high,
                0.1 * low + 0.9 * high,
            ]
        with mp.workdps(40):
            for place in places:
                if not signs.rows[0, 0] < place < signs.rows[-1, 1]:
                    continue
                terms = exact_terms(problem, multipliers, mp.mpf(float(place)))
                total, gross = mp.fsum(terms), mp.fsum([abs(term) for term in terms])
                sign = claimed(signs, place)
                if place == u:
                    below += bool(total < 0)
                # Next to a zero rounding may hide the sign, as far as the charge pays for it.
                hidden = abs(total) * strip_length(signs, place) <= signs.charge
                at_an_end = place in signs.rows[:, :2]
                allowed = 1.01 * noise * gross if at_an_end or hidden else 0
                assert not (sign == POSITIVE and total < -allowed), (seed, place, total / gross)
                assert not (sign == NEGATIVE and total > allowed), (seed, place, total / gross)
    return below


@pytest.mark.parametrize("fewest", [1, 2])
def test_no_thin_dip_is_missed(fewest: int) -> None:
    assert compare(range(300), fewest) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fewest", "first", "problems"),
    # Problems with two laws or more take thirty times as long.
    [(1, 1000, 20_000), (2, 1000, 2500), (2, 3500, 2500), (2, 6000, 2500), (2, 8500, 2500)],
)
def test_none_of_many_thin_dips_is_missed(fewest: int, first: int, problems: int) -> None:
    compile_kernels()
    assert compare(range(first, first + problems), fewest) > 0.4 * problems


def test_weights_of_any_ratio_count_as_one_term() -> None:
    """Two laws of the same two pieces, each with e^-5000 of the other's weight on one of them."""
    base, half = GeneralizedGaussian(100, 1.0, 45.0), Interval(0.5, 0.6)
    knots = (1.0, 4.0, 4.0, 6.0)
    outer = Observation(Weighted(base, knots, (-5000.0, -5000.0, 0.0, 0.0)), half)
    inner = Observation(Weighted(base, knots, (0.0, 0.0, -5000.0, -5000.0)), half)
    one, other = (
        problem_of(base, constraints_of(base, half, seen))
        for seen in ([outer, inner], [inner, outer])
    )
    for l0, l1, l2 in ((0, 1, -1), (1, 1, -1), (1, -1, 1), (1, -1, -1)):
        bound = dual_bound(one, np.array([l0, l1, l2], dtype=float), 0.5)
        assert math.isfinite(bound)
        assert bound == pytest.approx(dual_bound(other, np.array([l0, l2, l1], dtype=float), 0.5))


@pytest.mark.parametrize(("large", "small"), [(1e200, -1e-300), (-1e200, 1e-300)])
def test_multipliers_of_any_ratio_are_compared(large: float, small: float) -> None:
    problem = problem_with(GeneralizedGaussian(100, 1.0, 45.0), np.array([1.2]))
    for multipliers in (np.array([large, small]), np.array([small, large])):
        signs = signs_of(problem, multipliers)
        assert claimed(signs, 0.0) == math.copysign(1.0, large)

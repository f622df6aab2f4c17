"""The charge for rounding against 40 digits: masses and densities of laws, up to their limits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dsrs.duality import Components, components_of, log_term
from dsrs.errors import InvalidInput
from dsrs.laws import (
    SMALLEST_PERCENTILE,
    AdditionalLaw,
    GeneralizedGaussian,
    Rescaled,
    Truncated,
    Weighted,
)
from laws.exact_masses import DIGITS, component_mass, log_p, p_mass, piece_masses

Generator = np.random.Generator


def parts_of(law: AdditionalLaw) -> Components:
    """The components of P and of the law."""
    return components_of(law.base.m, (law.components(),))


def random_base(generator: Generator, largest: float = 8.7) -> GeneralizedGaussian:
    """Any shape from 1e-3 to 10^largest."""
    m, eta = 10 ** generator.uniform(-3, largest), float(generator.choice([2.0, 0.5, 1.0, 8.0]))
    d = max(2, math.ceil(m * eta) + int(generator.choice([0, 5, 1000])))
    return GeneralizedGaussian(d, 1.0, max((d - m * eta) / 2, 0.0), eta)


def random_weights(generator: Generator) -> Weighted:
    """Knots near P, far from it, very near to each other, or next to 0; weights of any size."""
    base = random_base(generator, 5.0)
    m, count, kind = base.m, int(generator.integers(1, 6)), generator.integers(4)
    if kind == 0:
        knots = m * np.exp(generator.normal(size=count) * 3 / math.sqrt(m))
        logs = generator.normal(size=count) * generator.choice([1, 30, 3000])
    elif kind == 1:
        knots = m * np.exp(generator.uniform(-30, 30, count) / math.sqrt(max(m, 1)))
        logs = generator.normal(size=count) * generator.choice([1, 30, 1000])
    elif kind == 2:
        start = m * math.exp(generator.uniform(-5, 1) / math.sqrt(max(m, 1)))
        knots = start * (1 + 10 ** generator.uniform(-9, -2) * generator.uniform(0, 1, count))
        logs = generator.normal(size=count) * 10 ** generator.uniform(-3, 1)
        logs += generator.choice([0, 9000])
    else:
        knots = 10 ** generator.uniform(-100, 2, count)
        logs = -m * np.log(np.sort(knots)) + generator.normal(size=count)
        logs -= logs.max()
    open_ends = generator.random(2) < 0.6
    inner = float(generator.uniform(-0.99, 1) * m) if open_ends[0] or count == 1 else None
    outer = float(generator.uniform(-30, 1) * 10 ** generator.uniform(0, 2))
    return Weighted(
        base,
        tuple(np.sort(knots).tolist()),
        tuple(logs.tolist()),
        inner=inner,
        outer=outer if open_ends[1] else None,
    )


def compare_weights(seeds: range) -> int:
    """How many of the random laws are accepted; the masses of their pieces must be right."""
    accepted = 0
    for seed in seeds:
        try:
            law = random_weights(np.random.default_rng(seed))
        except InvalidInput:
            continue
        parts, accepted = parts_of(law), accepted + 1
        with mp.workdps(DIGITS):
            exact = piece_masses(law)
            ours = [component_mass(parts, j) for j in range(1, len(parts.owner))]
            assert len(ours) == len(exact)
            wrong = mp.fsum([abs(a - b) for a, b in zip(ours, exact, strict=True)])
        # A factor of 4 is left over, for what the integrals add.
        assert 4 * wrong <= parts.rounding[1:].max(), seed
    return accepted


def test_pieces_of_weighted_laws_have_their_masses() -> None:
    assert compare_weights(range(40)) > 20


@pytest.mark.slow
def test_pieces_of_many_weighted_laws_have_their_masses() -> None:
    assert compare_weights(range(1000, 1200)) > 100


def test_a_piece_where_numbers_are_too_far_apart_is_refused() -> None:
    """It was once cut into halves for ever, until memory ran out."""
    base = GeneralizedGaussian(2, 1.0, 0.9985842919525806, 1.0)
    with pytest.raises(InvalidInput, match="cannot tell its shells apart"):
        Weighted(base, (5e-05, 1.5e14), (1.2, 0.8), inner=0.0024, outer=-917.67)


def test_truncated_laws_have_their_mass_down_to_the_smallest_percentile() -> None:
    generator = np.random.default_rng(5)
    for trial in range(30):
        base = random_base(generator)
        share = SMALLEST_PERCENTILE if trial % 3 else 10 ** generator.uniform(-5, 0)
        try:
            law = Truncated(base, share)
        except InvalidInput:
            assert base.m < 0.1  # a ball too small for numbers
            continue
        parts = parts_of(law)
        with mp.workdps(DIGITS):
            # The kernels see no other mass than the one that the law keeps.
            assert 4 * abs(component_mass(parts, 1) - 1) <= parts.rounding[1], base
            assert 4 * abs(p_mass(base, law.tau) / mp.mpf(share) - 1) <= parts.rounding[1], base


def test_smaller_percentiles_are_refused() -> None:
    """SciPy's quantile is wrong there: by a third of the mass for d = 1e8 and 3e-7."""
    base = GeneralizedGaussian(784, 1.0)
    with pytest.raises(InvalidInput, match="percentile"):
        Truncated(base, 0.99 * SMALLEST_PERCENTILE)


def test_rescaled_laws_have_their_mass() -> None:
    generator = np.random.default_rng(6)
    for _ in range(25):
        base = random_base(generator)
        law = Rescaled(base, 10 ** generator.uniform(-6, 6))
        parts = parts_of(law)
        with mp.workdps(DIGITS):
            assert 4 * abs(component_mass(parts, 1) - 1) <= parts.rounding[1], law


def test_the_scale_of_weights_does_not_matter() -> None:
    """Log weights near 1e4 once took digits from the mass of the law, which here is P itself."""
    base = GeneralizedGaussian(784, 1.0, 380.0)
    for log in (0.0, 8909.47, -9999.0):
        parts = parts_of(Weighted(base, (10.13,), (log,), inner=0.0, outer=0.0))
        assert parts.rounding.max() < 1e-12
        with mp.workdps(DIGITS):
            assert abs(component_mass(parts, 1) + component_mass(parts, 2) - 1) < 1e-13


def test_densities_are_right_to_the_rounding_that_is_charged() -> None:
    generator = np.random.default_rng(7)
    for _ in range(60):
        base = random_base(generator)
        law = Rescaled(base, math.exp(generator.uniform(-3, 3)))
        parts = parts_of(law)
        rate = mp.mpf(law.rate)
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            u = float(parts.low[1] + share * (parts.high[1] - parts.low[1]))
            with mp.workdps(DIGITS):
                exact = log_p(base.m, mp.mpf(u) + mp.log(rate))
                wrong = abs(mp.mpf(log_term(parts, 1, u)) - exact)
            # Where the law sits is rounded as well: an `ulp` of u changes ln q by the slope there.
            slope = abs(parts.exponent[1] - parts.decay[1] * math.exp(u - parts.anchor[1]))
            assert wrong <= parts.rounding[1] + 2e-16 * slope * (1 + abs(parts.anchor[1])), law

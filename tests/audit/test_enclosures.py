"""Enclosures hold the numbers that mpmath and the oracle give, and are sharp."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

pytest.importorskip("flint")

from dsrs.audit.angle import Angle
from dsrs.audit.balls import Ball, acb, arb, exact, precision
from dsrs.audit.bound import enclosed_bound
from dsrs.audit.checking import check_certificate
from dsrs.audit.counts import fallback_holds, lower_holds, tail, upper_holds
from dsrs.audit.falling import shape_of
from dsrs.audit.grid_charge import variation
from dsrs.audit.integrands import AlongLine
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import Mixture
from dsrs.audit.quadrature import Integrand, integral
from dsrs.audit.shells import Shells
from dsrs.audit.variation import total_variation
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import additional_law, ends_of, smoothing_law
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
from dsrs.laws.grid import Grid
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation
from duality.random_problems import Case, random_case


class Bell(Integrand):
    """exp(-x^2)."""

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        return (-u * u).exp(), arb(0)


class Kink(Integrand):
    """|x|, nowhere said to be analytic near 0."""

    def value(self, u: Ball) -> tuple[Ball, arb] | None:
        if isinstance(u, arb):
            return abs(u), arb(0)
        return None if u.real.contains(0) else (u, arb(0))


def test_integrals_are_enclosed_and_sharp() -> None:
    with precision():
        found = integral(Bell(), arb(-1), arb(3), Budget())
        true = arb(mpmath.nstr(mpmath.quad(lambda x: mpmath.exp(-x * x), [-1, 0, 3]), 15))
        assert abs(found - true) < 1e-12
        assert found.rad() < 1e-12
        assert integral(Kink(), arb(-1), arb(2), Budget()).contains(arb(2.5))


def test_the_remainder_is_proved_not_hoped_for() -> None:
    """With an M that is far too small the rule is coarse, and the enclosure is wrong."""

    class Liar(Bell):
        def value(self, u: Ball) -> tuple[Ball, arb] | None:
            return super().value(u) if isinstance(u, arb) else (acb(1e-12), arb(0))

    with precision():
        honest = integral(Bell(), arb(-4), arb(4), Budget())
        assert not honest.overlaps(integral(Liar(), arb(-4), arb(4), Budget()))


@pytest.mark.parametrize("d", [2, 3, 4, 5, 10, 16, 17, 64, 784, 150528])
def test_the_law_of_the_cosine(d: int) -> None:
    with precision():
        angle = Angle(d)
        for z in (-3.0, -0.2, 0.0, 0.7, 2.5, 6.0):
            c = z / math.sqrt(d)
            if abs(c) >= 1:
                assert angle.above(exact(c)) == (0 if c > 0 else 1)
                continue
            with mpmath.workdps(40):
                half = mpmath.betainc(
                    mpmath.mpf(1) / 2, mpmath.mpf(d - 1) / 2, 0, mpmath.mpf(c) ** 2, True
                )
                true = (1 - half) / 2 if c >= 0 else (1 + half) / 2
                text = mpmath.nstr(true, 32)
            found = angle.above(exact(c))
            assert abs(found - arb(text)) < 1e-25
            assert angle.above(exact(c) + arb(0, 1e-17)).contains(found)
            box = angle.share_above(acb(exact(c) + arb(0, 0.01 / math.sqrt(d)), arb(0, 1e-3)))
            assert box is None or box[0].real.overlaps(found)


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 4.0])
def test_laws_are_those_of_the_package(eta: float) -> None:
    base = GeneralizedGaussian(100, 0.7, 38.0, eta)
    knots = tuple(base.m * x for x in (0.4, 0.9, 0.9, 1.3, 2.0))
    laws = [
        Truncated(base, 0.37),
        Rescaled(base, 0.6),
        Rescaled(base, 0.9),
        Weighted(base, knots, (0.3, 0.8, 0.1, -0.2, -2.0), inner=0.5, outer=-1.0),
        Weighted(base, knots, (0.3, 0.8, -math.inf, -math.inf, -math.inf)),
    ]
    u = np.linspace(-1.0, 0.8, 41)
    with precision():
        shells = Shells(base.d, base.sigma, base.k, eta)
        assert float(shells.scale) == pytest.approx(base.scale, rel=1e-14)
        for law in laws:
            ours = additional_law(law.to_dict(), shells)
            theirs = law.log_weight(base.m * np.exp(u))
            for place, expected in zip(u, theirs, strict=True):
                x = exact(float(place))
                found = [
                    float(piece.log_weight(x, shells.gamma(x), shells.m))
                    for piece in ours.pieces
                    if piece.covers(x)
                ]
                assert found == ([] if expected == -math.inf else [pytest.approx(expected)])
            assert ours.full_support == law.full_support


def test_dual_bounds_agree_with_the_oracle() -> None:
    """Any multipliers, signs and laws: the oracle knows its own error."""
    base = GeneralizedGaussian(100, 1.0, 40.0)
    seen = Observation(Rescaled(base, 0.9), Interval(0.95, 1.0))
    alone = Case(base, Interval(0.0, 1.0), (seen,), (0.0, 1.5), 0.5)
    generator = np.random.default_rng(14)
    drawn = (random_case(generator, 1, 3) for _ in range(20))
    # In few dimensions kinks cost an audit, and the oracle, many times more.
    for case in [alone, *[case for case in drawn if case.law.d > 5][:6]]:
        base = case.law
        with precision(20):
            shells = Shells(base.d, base.sigma, base.k, base.eta)
            laws = [additional_law(seen.law.to_dict(), shells) for seen in case.additional]
            mixture = Mixture(shells, case.multipliers, (smoothing_law(), *laws))
            ends = [(i.lower, i.upper) for i in (case.p, *(s.interval for s in case.additional))]
            found = enclosed_bound(mixture, ends, case.radius, Budget(60_000)).value
            size = 1 + sum(map(abs, case.multipliers))
            assert found.rad() < 1e-11 * size
            true = case.exact()
            assert abs(float(found) - true.value) <= true.error + 1e-10 * size
            # What the package claims of the same multipliers lies below.
            assert case.ours() <= float(found.upper())


@pytest.mark.parametrize(
    ("multipliers", "weights", "falls"),
    [
        ((1.0, 0.0), (0.0, 0.0), True),
        ((0.0, 1.0), (0.5, 0.0), True),
        ((1.0, -0.3), (0.5, 0.0), True),  # P less a law that falls as well, and is never above it
        ((1.0, -1.0), (0.5, 0.0), False),  # negative inside, positive beyond
        ((0.0, 1.0), (0.0, 40.0), False),  # a weight that rises faster than P falls
        ((1.0, math.inf), (0.0, 0.0), False),  # infinite on shells that do not reach 0
        ((-1.0, 0.0), (0.0, 0.0), True),  # nowhere positive
    ],
)
def test_whether_the_positive_part_falls(
    multipliers: tuple[float, float], weights: tuple[float, float], falls: bool
) -> None:
    base = GeneralizedGaussian(100, 1.0, 38.0)
    inner = None if math.inf in multipliers else 0.0
    law = Weighted(base, (11.0, 13.0), weights, inner=inner, outer=0.0)
    with precision():
        shells = Shells(100, 1.0, 38.0, 2.0)
        mixture = Mixture(
            shells, multipliers, (smoothing_law(), additional_law(law.to_dict(), shells))
        )
        found = shape_of(mixture, *mixture.covered(exact(0.1)))
        assert (found.rise is not None, found.hollow) == (falls, not falls)
        assert found.rise is None or found.rise < 1e-20


def test_total_variation_of_gaussian_noise() -> None:
    """TV(h) = 2 Phi(h / (2 sigma)) - 1 = erf(h / (2 sigma sqrt 2))."""
    with precision():
        for d in (2, 784):
            shells = Shells(d, 0.5, 0.0, 2.0)
            for step in (1e-6, 0.1, 1.3):
                found = total_variation(shells, exact(step), Budget())
                true = (exact(step) / (2 * shells.sigma * arb(2).sqrt())).erf()
                assert found.overlaps(true)
                assert found.rad() < 1e-12


def binomial_tail(hits: int, trials: int, p: Fraction) -> Fraction:
    return sum(
        (math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1)),
        Fraction(),
    )


def test_bounds_from_counts_are_those_of_exact_sums() -> None:
    with precision():
        for hits, trials in ((0, 5), (3, 7), (40, 40), (33, 60)):
            for lower in (0.25, 0.5, 0.75):
                true = binomial_tail(hits, trials, Fraction(lower))
                assert abs(tail(hits, trials, exact(lower)) - exact(true)) < 1e-25
                above, below = true * Fraction(1000001, 1000000), true * Fraction(999999, 1000000)
                assert lower_holds(lower, hits, trials, above) == "yes"
                assert lower_holds(lower, hits, trials, below) == ("no" if lower else "yes")
                misses = trials - hits
                assert upper_holds(1 - lower, misses, trials, above) == "yes"
                assert upper_holds(1 - lower, misses, trials, below) == "no"
                both = Fraction(lower) ** 9 * true
                assert fallback_holds(lower, 9, hits, trials, both * 2) == "yes"
                assert fallback_holds(lower, 9, hits, trials, both / 2) == "no"


@pytest.mark.parametrize(
    ("d", "k", "eta"), [(2, 0.0, 2.0), (784, 380.0, 2.0), (784, 391.999, 2.0), (3, 1.4, 0.5)]
)
def test_the_charge_of_a_grid_rests_on_no_less_than_the_mean_norm(
    d: int, k: float, eta: float
) -> None:
    base, grid = GeneralizedGaussian(d, 0.5, k, eta), Grid(1 / 4080)
    shells = Shells(d, 0.5, k, eta)
    weighted = Weighted(base, (base.m / 2, 2 * base.m), (0.0, 0.3), inner=0.0, outer=-1.0)
    assert grid.variation(base) >= float(variation(shells, None, grid.step))
    for law in (Truncated(base, 0.6), Rescaled(base, 0.4), weighted):
        with precision(128):
            needed = variation(shells, law.to_dict(), grid.step)
        assert grid.variation(law) >= float(needed)


@pytest.mark.parametrize("jump", [3e-7, 9e-7])
def test_a_step_that_hardly_rises_may_lean_on_the_next_one(jump: float) -> None:
    """The density of Q rises by more than the surplus of the first step, so that it does not cover
    all shorter shifts, and by so little that rounding might have made it."""
    base = GeneralizedGaussian(20, 0.5, 6.0)
    knots = tuple(base.m * x for x in (0.5, 0.9, 0.9, 2.0))
    q = Weighted(base, knots, (0.0, -0.5, -0.5 + jump, -1.5), inner=0.0, outer=-3.0)
    seen = Observation(q, Interval(0.94, 0.96))
    fields = certify(base, Interval(0.9, 0.93), seen).to_dict()
    assert len(fields["proof"]["steps"]) > 1
    assert check_certificate(fields).word == "verified"
    del fields["proof"]["steps"][1:]
    assert check_certificate(fields).word == "refuted"


def test_the_charge_of_a_grid_is_not_known_for_laws_that_rise() -> None:
    base, grid = GeneralizedGaussian(2, 0.5), Grid(1 / 4080)
    falls = Weighted(base, (base.m, 2 * base.m), (0.0, 0.0), inner=0.0, outer=-1.0)
    ring = Weighted(base, (base.m, 2 * base.m), (0.0, 0.0))
    assert grid.carries(falls)
    assert not grid.carries(ring)
    with precision():
        shells = Shells(2, 0.5, 0.0, 2.0)
        assert grid.variation(falls) >= float(variation(shells, falls.to_dict(), grid.step))
        with pytest.raises(Undecided, match="not shown to fall"):
            variation(shells, ring.to_dict(), grid.step)


def test_lines_near_the_centre_of_a_plane_are_enclosed_at_little_cost() -> None:
    """In two dimensions the cosine is within 1e-6 of 1 along such a line, and its law is singular
    there: the integral of p(v) C(v, u) over all v is the probability of x within shell u."""
    with precision():
        shells = Shells(2, 0.5, 0.0, 2.0)
        rho = exact(0.4) / shells.scale
        inner = exact(1e-3)  # the radius of the shell, in units of the scale
        along = AlongLine(shells, Angle(2), inner * inner / 2, rho)
        low, high = ends_of(smoothing_law().pieces[0], shells, 48.0)
        budget = Budget(20_000)
        found = integral(along, low, high, budget)
    # Noise in the plane shifted by rho, within a disc: a noncentral chi-square law.
    true = stats.ncx2.cdf(1e-6, 2, float(rho) ** 2)
    assert float(found) == pytest.approx(true, rel=1e-6)
    assert found.rad() < 1e-11

"""The mathematics of the checker against other routes: mpmath, closed forms, sampling, oracles."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy import special

from checker.loaded import FILE, check
from oracle.shells import dual_bound

WHOLE = (0.0, math.inf, 0.0, 0.0, 0.0)
Pieces = list[tuple[float, float, float, float, float]] | None
HALF = Fraction(1, 2)


def staged_tail(first: int, hits: int, n: int, p: arb) -> arb:
    with check.proving():
        found: arb = check.staged_tail(first, hits, n, p)
        return found


def binomial_tail(hits: int, n: int, p: arb) -> arb:
    return staged_tail(0, hits, n, p)


def overlap(noise: Any, multiplier: float, shift: float) -> arb:
    with check.proving([multiplier]):
        found: arb = check.least_overlap(noise, multiplier, Fraction(shift)).lower()
        return found


def holds(ball: arb, value: Any, error: float = 0.0) -> bool:
    """Whether a ball holds a number that is known but for an error."""
    text = value if isinstance(value, str) else mp.nstr(mp.mpf(value), 40)
    with check.proving():
        return bool((ball - arb(text) + arb(0, error)).contains(0))


def mixture(
    noise: Any, mixed: list[tuple[float, Pieces]], shift: float | Fraction
) -> tuple[arb, arb | None]:
    """The integral of min(g, p shifted), and by how much g rises."""
    with check.proving([x for x, _ in mixed]):
        laws = [(x, noise.law(pieces)) for x, pieces in mixed]
        g = check.Mixture(noise, laws, Fraction(shift))
        found: tuple[arb, arb | None] = g.least_overlap(), g.rise()
        return found


def truncated(m: float, share: float) -> Pieces:
    return [(0.0, float(special.gammaincinv(m, share)), 0.0, 0.0, 0.0)]


# Integrals


def panel(f: Any, low: float, high: float, **options: Any) -> arb:
    with check.proving():
        found: arb = check.integral(
            f, arb(low), arb(high), check.Budget([check.EVALUATIONS]), **options
        )
        return found


@pytest.mark.parametrize(
    ("f", "low", "high", "value"),
    [
        (lambda u: (u.exp(), arb(0)), 0, 3, mp.e**3 - 1),
        (lambda u: (1 / (1 + u * u), arb(0)), -4, 4, 2 * mp.atan(4)),
        (lambda u: ((-u * u * 50).exp(), arb(0)), -9, 9, mp.sqrt(mp.pi / 50)),
    ],
)
def test_integrals_hold_the_truth_sharply(f: Any, low: float, high: float, value: Any) -> None:
    found = panel(f, low, high)
    assert holds(found, value, 1e-14)
    assert found.rad() < 1e-15


def test_what_a_rule_may_miss_is_counted() -> None:
    # Poles at +-i/10 are inside the ellipse of any long panel: only halving helps.
    with check.proving():

        def pole(u: Any) -> Any:
            return 1 / (u * u + arb("0.01")), arb(0)

        assert check.gauss(pole, arb(-1), arb(1), check.Budget([check.EVALUATIONS]), 1e-17) is None
    assert holds(panel(pole, -1, 1), 20 * mp.atan(10), 1e-14)


def test_a_kink_is_enclosed_by_length_times_range() -> None:
    def kink(u: Any) -> Any:
        if isinstance(u, acb):
            return None if u.real.contains(0) else ((u if u.real > 0 else -u), arb(0))
        return abs(u), arb(0)

    assert holds(panel(kink, -1, 2), 2.5, 1e-14)


def test_by_how_much_a_function_strays_from_the_analytic_one_is_counted() -> None:
    found = panel(lambda u: (u * 0 + 1, arb("1e-3" if isinstance(u, acb) else 0)), 0, 2)
    assert found.rad() >= 2e-3
    assert found.contains(arb(2))


def test_work_is_limited_by_a_count() -> None:
    with pytest.raises(check.NotProved, match="evaluations"), check.proving():
        check.integral(lambda u: (u.exp(), arb(0)), arb(0), arb(1), check.Budget([5]))


# Directions


@pytest.mark.parametrize("d", [2, 3, 4, 5, 8, 15, 16, 17, 18, 63, 64, 784, 150_528])
def test_share_of_directions(d: int) -> None:
    with check.proving():
        angle = check.Angle(d)
        for z in (-9.0, -3.1, -1.0, -0.01, 0.0, 0.3, 1.7, 4.9, 9.0):
            c = z / math.sqrt(d + 20)
            for point in (c, math.copysign(1 - 2.0**-20, z)) if d < 20 else (c,):
                if abs(point) >= 1:
                    continue
                with mp.workdps(60):
                    inside = mp.betainc(0.5, mp.mpf(d - 1) / 2, 0, mp.mpf(point) ** 2)
                    inside /= mp.beta(0.5, mp.mpf(d - 1) / 2)
                    value = (1 - mp.sign(point) * inside) / 2
                found, error = angle.above(arb(point))
                assert holds(found, mp.nstr(value, 40), 1e-27)
                assert found.rad() < 1e-24
                assert error < 1e-39


@pytest.mark.parametrize("d", [2, 9, 17, 784])
@pytest.mark.parametrize("radius", [1e-17, 1e-3])
def test_share_of_directions_on_balls(d: int, radius: float) -> None:
    with check.proving():
        angle = check.Angle(d)
        for c in (-0.8, -0.02, 0.1, 0.85):
            whole = angle.above(arb(c, radius))[0] + arb(0, 1e-25)
            assert all(whole.contains(angle.above(arb(c) + x * arb(radius))[0]) for x in (-1, 0, 1))


@pytest.mark.parametrize("d", [2, 3, 6, 9, 40, 784])
def test_share_of_directions_on_boxes(d: int) -> None:
    random = np.random.default_rng(d)
    with check.proving():
        angle = check.Angle(d)
        for _ in range(12):
            middle, long, short = random.uniform(0, 1, 3) * (0.9, 0.4, 0.3)
            wide = 3 / math.sqrt(d)
            c = acb(arb(middle, long * wide), arb(0, short * wide))
            found = angle.above(c)
            if found is None:
                continue
            for _ in range(3):
                x, y = random.uniform(-1, 1, 2) * (long * wide, short * wide)
                z = mp.mpc(middle + x, y)
                value = mp.quad(
                    lambda s, z=z: z * (1 - (z * s) ** 2) ** (mp.mpf(d - 3) / 2), [0, 1]
                )
                value = 0.5 - value / mp.beta(0.5, mp.mpf(d - 1) / 2)
                near = found[0] + acb(arb(0, 1e-12), arb(0, 1e-12))
                assert near.contains(acb(str(value.real), str(value.imag)))


# Noise and laws


@pytest.mark.parametrize(
    ("d", "sigma", "k", "eta"),
    [
        (2, 1.0, 0.0, 2.0),
        (5, 0.3, 2.4, 2.0),
        (784, 0.5, 380.0, 2.0),
        (10, 2.0, 1.5, 0.5),
        (3, 1, 0, 8),
    ],
)
def test_noise_has_its_mean_square(d: int, sigma: float, k: float, eta: float) -> None:
    with check.proving():
        shells = check.Noise(d, sigma, k, eta).shells
        density = shells.p
        for power, value in ((arb(0), 1), (shells.power, sigma**2 * d)):
            height = density.height + power * shells.log_m
            lifted = check.replace(density, height=height, slope=density.slope + power)
            found = shells.mass(lifted) * (1 if value == 1 else 2 * shells.scale**2)
            assert holds(found, value, 1e-12 * value)
            cut = check.replace(lifted, start=arb(-1), stop=arb(1), ends=(0.4, 2.7))
            inner = shells.mass(cut) * (1 if value == 1 else 2 * shells.scale**2)
            a = float(shells.m + power)
            share = special.gammainc(a, float(shells.m) * math.e) - special.gammainc(
                a, float(shells.m) / math.e
            )
            assert holds(inner, value * share, 1e-11 * value)


@pytest.mark.parametrize("m", [0.5, 12.0, 4000.0])
def test_laws_have_mass_one(m: float) -> None:
    noise = check.Noise(9000, 1.0, 4500 - m, 2.0)
    t = m * 1.1
    piece = (m / 2, t, 3.0, -2.5, 0.25)
    with check.proving():
        (weight,) = check.weights_of(noise.law([piece]), ctx.prec)
        with mp.workdps(40):
            mass = mp.gammainc(m - 2.5, 1.25 * mp.mpf(piece[0]), 1.25 * mp.mpf(t)) * mp.mpf(
                1.25
            ) ** (2.5 - m)
            height = mp.loggamma(m) - mp.log(mass) - 2.5 * mp.log(mp.mpf(m))
        assert holds(weight.height, mp.nstr(height, 30), 1e-18)
        (ball,) = check.weights_of(noise.law([(0.0, t, 7.0, 0.0, 0.0)]), ctx.prec)
        with mp.workdps(40):
            share = mp.gammainc(m, 0, t, regularized=True)
            assert holds(ball.height, mp.nstr(-mp.log(share), 30), 1e-18)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [(1.0, 1.0, 0.0, 0.0, 0.0)],
        [(2.0, 3.0, 0.0, 0.0, 0.0), (1.0, 2.0, 0.0, 0.0, 0.0)],
        [(0.0, 2.0, 0.0, 0.0, 0.0), (1.0, 3.0, 0.0, 0.0, 0.0)],
        [(-1.0, 2.0, 0.0, 0.0, 0.0)],
        [(0.0, math.nan, 0.0, 0.0, 0.0)],
        [(0.0, 1.0, math.nan, 0.0, 0.0)],
        [(0.0, 1.0, math.inf, 0.0, 0.0)],
        [(0.0, 1.0, 0.0, -2.0, 0.0)],  # infinite mass near 0: m = 2
        [(1.0, math.inf, 0.0, 0.0, -1.0)],  # and near infinity
        [(1.0, math.inf, 0.0, 0.0, -2.0)],
        [(0.0, 1.0, 0.0, 0.0, 0.0)] * 5000,
    ],
)
def test_what_is_no_law_is_refused(pieces: Any) -> None:
    with pytest.raises(check.NotProved):
        check.Noise(4, 1.0, 0.0, 2.0).law(pieces)


def test_support_and_size_of_laws() -> None:
    noise = check.Noise(4, 1.0, 0.0, 2.0)
    full = noise.law([(0.0, 1.0, 0.0, 0.5, 0.0), (1.0, math.inf, 1.0, 0.0, 0.0)])
    gap = noise.law([(0.0, 1.0, 0.0, 0.5, 0.0), (1.5, math.inf, 1.0, 0.0, 0.0)])
    assert (full.full_support, full.is_rescaled, gap.full_support) == (True, False, False)
    assert not noise.law([(0.0, 9.0, 0.0, 0.0, 0.0)]).full_support
    assert noise.law(None).is_noise
    assert noise.law([(0.0, math.inf, 3.0, 0.0, 0.0)]).is_noise
    assert not noise.law([(0.0, math.inf, 0.0, 0.5, 0.0)]).is_rescaled
    scaled = noise.law([(0.0, math.inf, 3.0, 0.0, 0.5)])
    assert (scaled.is_rescaled, scaled.is_noise) == (True, False)


@pytest.mark.parametrize(
    ("d", "sigma", "k", "eta"),
    [
        (1, 1, 0, 2),
        (4, 0, 0, 2),
        (4, 1, 2, 2),
        (4, 1, -0.1, 2),
        (4, 1, 0, 0),
        (4, math.nan, 0, 2),
        (4, 1, math.nan, 2),
    ],
)
def test_what_is_no_noise_is_refused(d: Any, sigma: float, k: float, eta: float) -> None:
    with pytest.raises(check.NotProved):
        check.Noise(d, sigma, k, eta)


# The integral of min(g, p shifted)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 16, 17, 63, 784, 150_528])
@pytest.mark.parametrize(("l", "ratio"), [(1.0, 0.1), (2.5, 0.8), (0.02, 1.5), (1e12, 3.0)])
def test_normal_noise_agrees_with_its_closed_form(d: int, l: float, ratio: float) -> None:  # noqa: E741
    sigma = 0.5
    found, rise = mixture(check.Noise(d, sigma, 0.0, 2.0), [(l, None)], ratio * sigma)
    with mp.workdps(40):
        z = mp.log(l) / ratio + mp.mpf(ratio) / 2
        value = l * mp.ncdf(-z) + mp.ncdf(z - ratio)
    assert holds(found, mp.nstr(value, 30), 1e-15)
    assert found.rad() < 1e-14
    assert rise is not None
    assert rise < 1e-15
    closed = overlap(check.Noise(d, sigma, 0.0, 2.0), l, ratio * sigma)
    assert holds(closed, mp.nstr(value, 30), 1e-28 * max(l, 1))


CASES: list[tuple[tuple[Any, ...], float, float, tuple[str, Any, float]]] = [
    ((4, 0.0, 1.0, 2.0), 0.5, 1.2, ("truncated", 0.6, 0.7)),
    ((4, 1.0, 1.0, 2.0), 0.3, -0.4, ("truncated", 0.5, 1.1)),
    ((7, 1.0, 1.0, 2.0), 0.9, 1.4, ("rescaled", 0.8, -0.3)),
    ((40, 16.0, 0.5, 2.0), 0.3, 0.9, ("weighted", ((1.0, 0.0), (4.0, 1.0), (9.0, -2.0)), 0.4)),
    ((784, 380.0, 1.0, 2.0), 1.3, 0.2, ("truncated", 0.7, 40.0)),
    ((5, 1.0, 1.0, 4.0), 0.6, 1.1, ("rescaled", 1.2, 0.5)),
]


def pieces_of(m: float, sigma: float, eta: float, shape: str, value: Any) -> Pieces:
    if shape == "truncated":
        return truncated(m, value)
    if shape == "rescaled":
        return [(0.0, math.inf, 0.0, 0.0, (sigma / value) ** eta - 1)]
    found = []
    for (a, log_a), (b, log_b) in itertools.pairwise(value):
        slope = (log_b - log_a) / math.log(b / a)
        found.append((a, b, log_a - slope * math.log(a), slope, 0.0))
    return found


def agrees_with_the_oracle(case: tuple[Any, ...]) -> None:
    (d, k, sigma, eta), shift, own, (shape, value, other) = case
    m = (d - 2 * k) / eta
    pieces = pieces_of(m, sigma, eta, shape, value)
    found, _ = mixture(check.Noise(d, sigma, k, eta), [(own, None), (other, pieces)], shift)
    # With P = Q = 1 the bound of the oracle is the integral.
    truth = dual_bound(d, k, sigma, shift, own, other, 1.0, 1.0, shape, value, eta=eta)
    assert holds(found, mp.nstr(truth, 25), 2e-13)
    assert found.rad() < 1e-13


@pytest.mark.parametrize("case", CASES[:1])
def test_mixtures_agree_with_the_oracle(case: tuple[Any, ...]) -> None:
    agrees_with_the_oracle(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[1:])
def test_more_mixtures_agree_with_the_oracle(case: tuple[Any, ...]) -> None:
    agrees_with_the_oracle(case)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_mixtures_agree_with_the_oracle(seed: int) -> None:
    random = np.random.default_rng(seed)
    d, eta = int(random.choice([2, 3, 5, 10, 63, 784])), float(random.choice([1.0, 2.0, 4.0]))
    m = min(math.exp(random.uniform(-0.5, 4)), d / eta)
    knots = np.sort(random.gamma(m, size=4))
    shape, value = [
        ("truncated", float(random.uniform(0.05, 0.99))),
        ("rescaled", math.exp(random.uniform(-0.7, 0.5))),
        ("weighted", tuple(zip(knots.tolist(), random.normal(0, 2, 4).tolist(), strict=True))),
    ][seed % 3]
    own, other = random.normal(0.5, 1.0), random.normal(0.5, 1.0)
    case = (
        (d, (d - m * eta) / 2, 1.0, eta),
        math.exp(random.uniform(-2, 1)),
        own,
        (shape, value, other),
    )
    agrees_with_the_oracle(case)


@pytest.mark.parametrize(("own", "other"), [(0.8, 0.5), (1.2, -0.4), (0.0, 0.9)])
def test_the_integral_agrees_with_sampling(own: float, other: float) -> None:
    d, k, sigma, shift, n = 4, 1.0, 1.0, 0.9, 400_000
    pieces: Pieces = [(0.0, 0.7, 0.0, 0.0, 0.0), (0.7, 3.0, 1.0, -1.0, 0.5)]
    noise, random = check.Noise(d, sigma, k, 2.0), np.random.default_rng(0)
    mixed = [(x, law) for x, law in ((own, None), (other, pieces)) if x]
    found, _ = mixture(noise, mixed, shift)
    m, s = d / 2 - k, sigma * math.sqrt(2 * d / (d - 2 * k))
    t = random.gamma(m, size=n)
    x = random.normal(size=(n, d))
    x *= (s * np.sqrt(t) / np.linalg.norm(x, axis=1))[:, None]
    inside = special.gammainc(m, 0.7)  # ln w = 1 - ln t - 0.5 t on the outer piece, and m = 1
    outer = math.e * (special.exp1(1.5 * 0.7) - special.exp1(1.5 * 3.0))
    w = np.where(t < 0.7, 1.0, np.where(t < 3, np.exp(1 - np.log(t) - 0.5 * t), 0.0))
    g = own + other * w / (inside + outer)
    y = x - np.array([shift, 0, 0, 0])
    far = np.sum(y * y, axis=1) / s**2
    ratio = np.exp(-k * np.log(far / t) - (far - t))
    values = np.minimum(g, ratio)
    assert abs(float(found) - values.mean()) < 5 * values.std() / math.sqrt(n)


def test_variation_is_the_mass_of_a_band() -> None:
    d, k, gap = 3, 1.25, 0.4  # m = 1/4: the density of a coordinate is infinite at 0
    found = 1 - overlap(check.Noise(d, 1.0, k, 2.0), 1.0, gap)
    scale = math.sqrt(d / (d - 2 * k))

    def band(x: Any) -> Any:  # the cosine is uniform in three dimensions; x^4 = t
        return 4 * mp.exp(-(x**4)) / mp.gamma(0.25) * min(1, (gap / 2 / scale) / mp.sqrt(2 * x**4))

    kink = ((gap / 2 / scale) ** 2 / 2) ** 0.25
    assert holds(found, mp.quad(band, [0, kink, 1, 2, 3]), 1e-12)


def test_as_q_becomes_certain_the_bound_stays() -> None:
    # l (1 - Q) -> 0: the integral tends to the mass of the shifted ball.
    noise = check.Noise(784, 1.0, 380.0, 2.0)
    ball = truncated(12.0, 0.9)
    values = [mixture(noise, [(l, ball)], 2.0)[0] for l in (1e6, 1e100, 1e190)]  # noqa: E741
    assert values[-1].rad() < 1e-14
    assert abs(values[-1] - values[-2]) < 1e-14
    assert all(a <= b + arb(1e-14) for a, b in itertools.pairwise(values))
    with pytest.raises(check.NotProved, match="too large"):
        mixture(noise, [(1e201, ball)], 2.0)


def test_two_pieces_of_one_law_are_the_law() -> None:
    noise = check.Noise(10, 1.0, 2.0, 2.0)
    for cut in (3.0, 2.0, 0.1):  # m = 3: shell 0 among them
        split: Pieces = [(0.0, cut, 0.0, 0.0, 0.0), (cut, math.inf, 0.0, 0.0, 0.0)]
        one, _ = mixture(noise, [(1.3, None)], 0.6)
        two, rise = mixture(noise, [(1.3, split)], 0.6)
        assert abs(one - two) < 1e-14
        assert rise is not None
        assert rise < 1e-12


# What shorter shifts may lose


def test_which_mixtures_fall() -> None:
    noise = check.Noise(10, 1.0, 2.0, 2.0)  # kappa = 2

    def falls(*mixed: tuple[float, Pieces]) -> bool:
        with check.proving():
            laws = [(x, noise.law(pieces)) for x, pieces in mixed]
            return check.Mixture(noise, laws, HALF).rise() is not None

    ball = truncated(3.0, 0.6)
    assert falls((1.0, None))
    assert falls((1.0, ball))
    assert falls((0.3, ball), (0.5, None))
    assert not falls((-0.3, ball), (1.0, None))  # jumps up at the edge of the ball
    assert not falls((-2.0, ball), (0.5, None))  # below 0 inside
    assert falls((-1.0, [(0.0, math.inf, 0.0, 0.0, -0.5)]), (3.0, None))
    assert not falls((-1.0, [(0.0, math.inf, 0.0, 0.0, 1.0)]), (2.0, None))
    assert (
        falls((1.0, [(1.0, 5.0, 0.0, 3.0, 0.0), (5.0, 9.0, 0.0, 2.0, 0.0)])) is False
    )  # starts at 1
    level = [(0.0, 1.0, 0.0, 2.0, -0.5), (1.0, 9.0, -1.0, 2.0, 0.0)]
    assert falls((1.0, level))
    assert not falls((1.0, [level[0], (1.0, 9.0, 1.0, 2.0, 0.0)]))
    assert falls((1.0, [(0.0, 1.0, 0.0, 2.0, 0.0), (1.0, 9.0, 0.0, 3.0, 0.0)]))
    assert not falls((1.0, [(0.0, 1.0, 0.0, 2.1, 0.0)]))


@pytest.mark.parametrize("own", [1.2, -0.2])
def test_a_covering_step_bounds_every_shorter_shift(own: float) -> None:
    noise, pieces = check.Noise(20, 1.0, 6.0, 2.0), [(0.0, math.inf, 0.0, 0.0, 0.3)]
    law = noise.law(pieces)
    bounds = [(noise.law(None), "lower" if own > 0 else "upper", 0.9), (law, "lower", 0.95)]
    bound = check.event_bound(noise, bounds, [(0.8, [own, 0.7])], Fraction(4, 5), 0.0)
    for shift in (0.8, 0.6, 0.3, 0.01):
        value = mixture(noise, [(own, None), (0.7, pieces)], shift)[0]
        assert bound <= value - arb(own) * arb("0.1") - arb("0.7") * arb("0.05") + arb(1e-15)


# Bounds of events


def gaussian_step(ratio: float) -> float:
    """The best multiplier at the radius that P_A >= 0.9 proves."""
    z = float(special.ndtri(0.9))
    return math.exp(ratio * (z - ratio / 2))


def test_the_radius_of_the_normal_law() -> None:
    noise, z = check.Noise(3072, 0.5, 0.0, 2.0), float(special.ndtri(0.9))
    bounds = [(noise.law(None), "lower", 0.9)]
    for ratio, proved in ((z - 1e-9, True), (z + 1e-9, False)):
        radius = 0.5 * ratio
        steps = [(radius, [gaussian_step(ratio)])]
        if proved:
            bound = check.event_bound(noise, bounds, steps, Fraction(radius), 0.5)
            assert 0.5 < bound < 0.5 + 1e-8
        else:
            with pytest.raises(check.NotProved):
                check.event_bound(noise, bounds, steps, Fraction(radius), 0.5)


def refused(**changes: Any) -> str:
    noise = check.Noise(50, 1.0, 20.0, 2.0)
    whole = noise.law(None)
    given = {
        "noise": noise,
        "bounds": [(whole, "lower", 0.9), (whole, "upper", 0.95)],
        "steps": [(0.5, [1.6, 0.0]), (0.2, [1.2, 0.0])],
        "reach": Fraction(2, 5),
        "level": 0.5,
    }
    assert check.event_bound(*given.values()) > 0.5
    with pytest.raises(check.NotProved) as reason:
        check.event_bound(*(given | changes).values())
    return str(reason.value)


def test_what_is_refused() -> None:
    noise = check.Noise(50, 1.0, 20.0, 2.0)
    whole = noise.law(None)
    assert "reach" in refused(reach=HALF + Fraction(1, 10**30))
    assert "fall" in refused(steps=[(0.5, [1.6, 0.0]), (0.5, [1.2, 0.0])])
    assert "fall" in refused(steps=[(0.5, [1.6, 0.0]), (0.6, [1.2, 0.0])])
    assert "shifts" in refused(steps=[])
    for shift in (math.inf, math.nan, 0.0, -1.0):
        assert "shifts" in refused(steps=[(shift, [1.6, 0.0])])
    assert "sign" in refused(steps=[(0.5, [1.6, 0.1])])
    assert "sign" in refused(steps=[(0.5, [-1.6, 0.0])])
    assert "lacks" in refused(steps=[(0.5, [0.0, 0.0])])
    assert "lacks" in refused(steps=[(0.5, [1.6])])
    for multiplier in (math.inf, math.nan, 1e200, 1e300):
        assert "too large" in refused(steps=[(0.5, [multiplier, 0.0])])
    assert "sign" in refused(bounds=[(whole, "above", 0.9), (whole, "upper", 0.95)])
    assert "gives" in refused(bounds=[(whole, "lower", 0.55), (whole, "upper", 0.95)])
    # P_A >= 0.99 with P_A <= 0.2: whatever follows is worth nothing.
    contradiction = [(whole, "lower", 0.99), (whole, "upper", 0.2)]
    assert "gives" in refused(bounds=contradiction, steps=[(0.5, [9.0, -8.0])])


def chain() -> tuple[Any, Any, list[tuple[float, list[float]]]]:
    """A shell that is right: the more is subtracted inside, the more B may rise with the shift."""
    noise = check.Noise(30, 1.0, 12.0, 2.0)
    ring = noise.law([(2.0, 6.0, 0.0, 0.0, 0.0)])
    bounds = [(noise.law(None), "lower", 0.83), (ring, "lower", 0.9999)]
    shifts = [0.5, 0.42, 0.33, 0.22, 0.1]
    return noise, bounds, [(shift, [0.95, 0.5]) for shift in shifts]


def test_a_chain_pays_the_variation_down_to_the_next_step() -> None:
    noise, bounds, steps = chain()
    bound = check.event_bound(noise, bounds, steps, HALF, 0.5)
    values = []
    for shift, (own, other) in steps:
        value = mixture(noise, [(own, None), (other, [(2.0, 6.0, 0.0, 0.0, 0.0)])], shift)[0]
        values.append(float(value) - own * 0.17 - other * 0.0001)
    gaps = [0.08, 0.09, 0.11, 0.12, 0.1]
    lost = [1 - float(overlap(noise, 1.0, gap)) for gap in gaps]
    expected = min(v - x for v, x in zip(values, lost, strict=True))
    assert abs(float(bound) - expected) < 1e-6
    # One step alone would have to pay too much, and at level 0 (for leads) there are no chains.
    with pytest.raises(check.NotProved, match="down to"):
        check.event_bound(noise, bounds, steps[:1], HALF, 0.5)
    with pytest.raises(check.NotProved, match="shorter"):
        check.event_bound(noise, bounds, steps, HALF, 0.0)


def test_upper_bounds_take_negative_multipliers() -> None:
    noise = check.Noise(100, 1.0, 40.0, 2.0)
    wide = noise.law([(0.0, math.inf, 0.0, 0.0, -0.3)])
    bounds = [(noise.law(None), "lower", 0.95), (wide, "upper", 0.7)]
    steps = [(0.4, [1.9, -0.05])]
    try:
        bound = float(check.event_bound(noise, bounds, steps, Fraction(2, 5), 0.0))
    except check.NotProved:
        bound = math.nan
    value = float(mixture(noise, [(1.9, None), (-0.05, [(0.0, math.inf, 0.0, 0.0, -0.3)])], 0.4)[0])
    assert bound == pytest.approx(value - 1.9 * 0.05 + 0.05 * 0.3, abs=1e-12)


def test_precision_is_put_back() -> None:
    def failing() -> None:
        with check.proving([1e100]):
            assert ctx.prec > 400
            _ = 1 // 0

    before = ctx.prec, ctx.cap
    with pytest.raises(check.NotProved, match="ZeroDivisionError"):
        failing()
    assert (ctx.prec, ctx.cap) == before


# Prediction sets


def test_overlap() -> None:
    noise = check.Noise(12, 0.7, 3.0, 2.0)
    assert overlap(noise, 0.3, 0.0) == arb(0.3)
    assert overlap(noise, 3.0, 0.0) == 1
    values = [overlap(noise, 2.0, shift) for shift in (0.01, 0.2, 0.9)]
    assert values[0] > values[1] > values[2] > 0


# Votes


def exact_tail(hits: int, n: int, p: Fraction) -> Fraction:
    return sum(
        (math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(max(hits, 0), n + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("n", [1, 2, 7, 60, 450])
def test_small_binomial_tails_are_exact(n: int) -> None:
    for p in (Fraction(1, 100), Fraction(1, 2), Fraction(7, 8), Fraction(999, 1000)):
        for hits in {-1, 0, 1, n // 3, n // 2, n - 1, n, n + 1}:
            with check.proving():
                ball = arb(p.numerator) / p.denominator
            truth = exact_tail(hits, n, p)
            found = binomial_tail(hits, n, ball)
            with check.proving():
                error = found - arb(truth.numerator) / truth.denominator
                assert error.contains(0)
                assert error.rad() < 1e-22
            staged = staged_tail(3, hits, n, ball)
            with check.proving():
                assert (staged - ball**3 * found).contains(0)


@pytest.mark.parametrize(
    ("n", "hits", "p"),
    [
        (10**4, 9000, 0.89),
        (10**6, 500000, 0.4985),
        (10**9, 5 * 10**8, 0.49995),
        (10**9, 10**9 - 200, 1 - 3e-07),
        (10**9, 300, 2e-07),
        (10**9, 5 * 10**8, 0.50004),
    ],
)
def test_large_binomial_tails(n: int, hits: int, p: float) -> None:
    found = binomial_tail(hits, n, arb(p))
    with check.proving():
        error = found - arb(p).beta_lower(hits, n - hits + 1, 1)
        assert error.contains(0)
        assert error.rad() < 1e-20


def test_ends_of_binomial_tails() -> None:
    assert binomial_tail(0, 10, arb(0)) == 1
    assert binomial_tail(10**6, 10**6, arb(0.3)) < 1e-20
    assert binomial_tail(5 * 10**5, 10**6, arb(0.3)) < 1e-20
    assert not binomial_tail(3, 10, arb(1, 0.1)) <= 1


# Noise on a grid


@pytest.mark.parametrize("d", [2, 3, 784, 150_528])
@pytest.mark.parametrize("rate", [0.0, 0.8, -0.5])
def test_charge_of_the_normal_law(d: int, rate: float) -> None:
    noise, step = check.Noise(d, 0.5, 0.0, 2.0), 1 / 4080
    law = noise.law([(0.0, math.inf, 0.0, 0.0, rate)])
    found = float(check.charge(noise, law, step))
    size = 0.5 / math.sqrt(1 + rate)
    assert found == pytest.approx(
        16 * 2.0**-53 * (4 * d + 2 * math.sqrt(d) * size * math.sqrt(d - 0.5) / step),
        rel=1e-12,
    )
    mean = size * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
    assert size * math.sqrt(d - 0.5) < mean * (1 + 1e-9)


@pytest.mark.parametrize(
    "pieces", [None, [(0.0, math.inf, 0.0, 0.0, 0.4)], [(0.2, 3.0, 0.0, 1.5, 0.4)]]
)
def test_charge_of_other_laws(pieces: Pieces) -> None:
    d, k, step = 20, 8.0, 1 / 255
    noise = check.Noise(d, 0.5, k, 2.0)
    found = float(check.charge(noise, noise.law(pieces), step))
    start, stop, _, slope, rate = pieces[0] if pieces else WHOLE
    m, s = d / 2 - k, 0.5 * math.sqrt(2 * d / (d - 2 * k))

    def moment(power: float) -> Any:
        return mp.quad(
            lambda t: t ** (m + slope + power - 1) * mp.exp(-(1 + rate) * t), [start, 3, stop]
        )

    mean = s * moment(0.5) / moment(0.0)
    charge = (56 + 16 / m) * 2.0**-53 * (4 * d + 2 * math.sqrt(d) * mean / step)
    assert found == pytest.approx(float(charge), rel=1e-10)


def test_in_two_dimensions_a_charged_law_must_fall() -> None:
    noise = check.Noise(2, 0.5, 0.0, 2.0)
    assert check.charge(noise, noise.law([(0.0, 2.0, 0.0, 0.0, 0.0)]), 0.01) > 0
    for pieces in ([(0.5, 2.0, 0.0, 0.0, 0.0)], [(0.0, 2.0, 0.0, 0.5, 0.0)]):
        with pytest.raises(check.NotProved, match="two dimensions"):
            check.charge(noise, noise.law(pieces), 0.01)
    assert check.charge(noise, noise.law(None), 1e-30) == 1


def test_without_flint_it_can_be_read_and_proves_nothing() -> None:
    script = f"""
import importlib.util, sys
sys.modules["flint"] = None
spec = importlib.util.spec_from_file_location("alone", {str(FILE)!r})
alone = importlib.util.module_from_spec(spec)
sys.modules["alone"] = alone
spec.loader.exec_module(alone)
noise = alone.Noise(784, 0.5, 0.0, 2.0)
assert noise.gaussian and noise.law(None).is_noise
ball = [(0.0, 1.0, 0.0, 0.0, 0.0)]
for call in (lambda: noise.law(ball),):
    try:
        call()
    except alone.NotProved as reason:
        assert "python-flint" in str(reason)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-I", "-c", script], check=True)

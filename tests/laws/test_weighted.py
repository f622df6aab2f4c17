"""The weighted law against mpmath, P itself and its own samples."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws import GeneralizedGaussian, Rescaled, Weighted, law_from_dict, parse_additional_law

BASE = GeneralizedGaussian(784, 0.5, 380)
INF = math.inf
MANY = tuple(np.linspace(2.0, 40.0, 256).tolist())

LAWS = {
    "open at both ends": Weighted(BASE, (1, 5, 12, 30), (0.0, 1.0, -3.0, -100.0), 0.5, -20.0),
    "zero pieces": Weighted(BASE, (8, 12, 12, 15, 15, 20), (0.0, 1.0, -INF, -INF, 2.0, -60.0)),
    "256 knots": Weighted(BASE, MANY, tuple(-((6 * (math.log(t) - 2)) ** 2) for t in MANY), 3.0),
    "exponent -180": Weighted(BASE, (2.0, 9.0), (0.0, -192.0 * math.log(4.5))),
    "small shape": Weighted(GeneralizedGaussian(10, 1.0, 4.95), (1, 2), (0.0, 1.0), -0.02, 0.5),
    "eta 1": Weighted(GeneralizedGaussian(30, 1.0, 3.0, 1.0), (20, 30), (0.0, -4.0), 2.0, -30.0),
    "tails of P": Weighted(BASE, (90.0, 100.0), (0.0, 50.0)),
}


def reference_masses(law: Weighted) -> list[mp.mpf]:
    """P-mass times lambda of the inner part, each piece and the outer part, by mpmath."""
    with mp.workdps(30):
        m = mp.mpf(law.base.m)
        logs = [mp.log(t) for t in law.knots]

        def mass(slope: mp.mpf, at: int, low: mp.mpf, high: mp.mpf) -> mp.mpf:
            def log_density(u: mp.mpf) -> mp.mpf:
                weight = law.log_weights[at] + slope * (u - logs[at])
                return weight + m * u - mp.exp(u) - mp.loggamma(m)

            # The tolerance of `quad` is absolute: bring the integrand to the size of 1.
            parts = mp.linspace(low, high, 13 if high - low > 1 else 4)
            top = max(map(log_density, parts))
            return mp.exp(top) * mp.quad(lambda u: mp.exp(log_density(u) - top), parts)

        masses = []
        if law.inner is not None:
            # Beyond 80 e-folds of t^(m + inner) nothing is left at this precision.
            masses.append(mass(law.inner, 0, logs[0] - 80 / (m + law.inner), logs[0]))
        for i, (low, high) in enumerate(pairwise(logs)):
            if high > low and law.log_weights[i] > -INF:
                slope = (mp.mpf(law.log_weights[i + 1]) - law.log_weights[i]) / (high - low)
                masses.append(mass(slope, i, low, high))
        if law.outer is not None:
            masses.append(mass(law.outer, len(logs) - 1, logs[-1], logs[-1] + 8))
        return masses


@pytest.mark.parametrize("name", LAWS)
def test_masses_of_pieces(name: str) -> None:
    law = LAWS[name]
    masses = reference_masses(law)
    below = mp.mpf(0)
    found = law.radial_cdf(law.base.norm([c.stop for c in law.components()]))
    for mass, probability in zip(masses, found, strict=True):
        below += mass
        # Rounding of u = ln(t / m) times the slope of the log-density, at most 250 here.
        assert float(probability / (below / mp.fsum(masses))) == pytest.approx(1, rel=6e-14)


@pytest.mark.parametrize("name", LAWS)
def test_components_are_the_normalised_density(name: str) -> None:
    law = LAWS[name]
    m, total = law.base.m, 0.0
    nodes, weights = np.polynomial.legendre.leggauss(6)
    for component in law.components():
        # A thousand panels of one rule: simple, slow, and exact to 1e-12.
        low = component.anchor - 50 / max(component.exponent, 1.0)
        if component.start > 0:
            low = math.log(component.start / m)
        elif component.exponent < 1:
            low = component.anchor - 50 / component.exponent
        high = min(math.log(component.stop / m), component.anchor + 8)
        edges = np.linspace(low, high, 4001)
        half = (edges[1:] - edges[:-1]) / 2
        u = edges[:-1, None] + half[:, None] * (1 + nodes)
        total += float((np.exp(component.log_density(u, m)) @ weights) @ half)
    assert total == pytest.approx(1.0, rel=1e-12)
    # The weight is lambda over nu: differences between knots are those of the log weights.
    kept = [(t, log) for t, log in zip(law.knots, law.log_weights, strict=True) if log > -INF]
    inside = [(t, log) for t, log in kept if law.knots.count(t) == 1]
    weights = law.log_weight([t for t, _ in inside])
    offsets = [weight - log for weight, (_, log) in zip(weights, inside, strict=True)]
    offsets = [each for each in offsets if each > -INF]  # the first knot is not in (t_0, t_1]
    assert np.allclose(offsets, offsets[0], atol=1e-11)


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_invert_to_rounding(name: str) -> None:
    law = LAWS[name]
    shares = np.concatenate([np.random.default_rng(2).random(5000), [0.001, 1 - 1e-12]])
    # ln t rounds by 4e-16, and the log-density has slopes up to 400.
    assert np.allclose(law.radial_cdf(law.radial_quantile(shares)), shares, rtol=0, atol=5e-13)
    assert law.radial_quantile(0.0) == law.base.norm(law.components()[0].start)
    assert law.radial_quantile(1.0) == law.base.norm(law.components()[-1].stop)
    assert np.all(np.diff(law.radial_quantile(np.sort(shares))) > 0)


@pytest.mark.parametrize("name", LAWS)
def test_samples_follow_the_law(name: str) -> None:
    law = LAWS[name]
    norms = law.sample_norms(20_000, np.random.default_rng(7))
    assert stats.kstest(norms, law.radial_cdf).pvalue > 1e-3


def test_a_flat_weight_is_p_and_a_line_is_not() -> None:
    flat = Weighted(BASE, (3.0,), (17.0,), 0.0, 0.0)
    norms = BASE.radial_quantile(np.linspace(0.01, 0.99, 20))
    assert np.allclose(flat.radial_cdf(norms), BASE.radial_cdf(norms), rtol=1e-13)
    assert np.allclose(flat.log_weight([0.1, 3.0, 3.1, 60.0]), 0.0, atol=1e-12)
    assert flat.full_support
    assert flat.falls
    # A power of t turns Gamma(12) into Gamma(9); SciPy knows both.
    steep = Weighted(BASE, (3.0,), (0.0,), -3.0, -3.0)
    t = BASE.shell(norms)
    assert np.allclose(steep.radial_cdf(norms), stats.gamma(9).cdf(t), rtol=1e-12)


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("knot", [1e-8, 1e-3, 0.7])
def test_long_flat_tails_end_in_a_sharp_edge(shape: float, knot: float) -> None:
    """t^(m-1) e^-t with a small m: thousands of e-folds of ln t, then a fall within one."""
    base = GeneralizedGaussian(10, 1.0, 5 - shape)
    flat = Weighted(base, (knot,), (0.0,), 0.0, 0.0)
    t = np.array([1e-20, 1e-10, 1e-4, 0.1, 1.0, 5.0])
    with mp.workdps(30):
        exact = [float(mp.gammainc(base.m, 0, mp.mpf(x), regularized=True)) for x in t]
    assert np.allclose(flat.radial_cdf(base.norm(t)), exact, rtol=1e-14, atol=0)


def test_the_scale_of_the_weight_is_free() -> None:
    law = LAWS["open at both ends"]
    louder = Weighted(BASE, law.knots, tuple(w + 5 for w in law.log_weights), 0.5, -20.0)
    assert louder.resembles(law)
    assert not Rescaled(BASE, 0.4).resembles(law)


@pytest.mark.parametrize("name", LAWS)
def test_round_trips_are_exact(name: str) -> None:
    law = LAWS[name]
    assert law_from_dict(json.loads(json.dumps(law.to_dict(), allow_nan=False)), law.base) == law
    assert parse_additional_law(law.text, law.base) == law
    assert eval(repr(law), {"inf": INF} | globals()) == law


def test_text_form() -> None:
    text = "weighted:inner=0.5,1.0:0.0,5.0:-inf,6.0:-inf,6.0:2.0,7.0:1.0,outer=-3.0"
    with pytest.raises(InvalidInput, match="give that knot twice"):
        parse_additional_law(text, BASE)
    text = text.replace("5.0:-inf", "1.0:-inf")
    assert parse_additional_law(text, BASE).text == text
    for wrong in ("", "1", "1:2,", "1:2,inner=", "outer=3", "inner=1,inner=2,1:0", "1:2:3"):
        with pytest.raises(UnknownLaw, match="weighted"):
            parse_additional_law("weighted:" + wrong, BASE)


@pytest.mark.parametrize(
    ("knots", "log_weights", "slopes", "falls"),
    [
        ((5.0, 9.0), (0.0, 0.0), {}, False),  # starts from zero
        ((5.0, 9.0), (0.0, 0.0), {"inner": 0.0}, True),
        # The slope may be up to k + t = 10 + 5 at the start of the piece.
        ((5.0, 10.0), (0.0, 14.99 * math.log(2)), {"inner": 9.99}, True),
        ((5.0, 10.0), (0.0, 15.01 * math.log(2)), {"inner": 9.99}, False),
        ((5.0, 10.0), (0.0, 0.0), {"inner": 10.01}, False),
        ((5.0, 10.0), (0.0, 0.0), {"inner": 0.0, "outer": 19.9}, True),
        ((5.0, 10.0), (0.0, 0.0), {"inner": 0.0, "outer": 20.1}, False),
        ((5.0, 6.0, 6.0, 9.0), (0.0, 0.0, -1.0, -1.0), {"inner": 0.0}, True),
        ((5.0, 6.0, 6.0, 9.0), (0.0, 0.0, 1.0, 1.0), {"inner": 0.0}, False),
        ((5.0, 5.0, 9.0), (0.0, -INF, -INF), {"inner": 0.0}, True),
        ((5.0, 5.0, 9.0, 9.0, 12.0), (0.0, -INF, -INF, -9.0, -9.0), {"inner": 0.0}, False),
    ],
)
def test_whether_its_density_falls(knots, log_weights, slopes, falls) -> None:  # type: ignore[no-untyped-def]
    base = GeneralizedGaussian(40, 1.0, 10.0)
    law = Weighted(base, knots, log_weights, **slopes)
    assert law.falls is falls
    # The same by looking: density at x is weight times t^-k e^-t.
    t = np.geomspace(1e-4, 40, 8001)
    with np.errstate(invalid="ignore"):
        log_density = law.log_weight(t) - base.power_in_t * np.log(t) - t
        rises = np.diff(log_density) > 1e-9
    assert bool(rises.any()) is not falls


@pytest.mark.parametrize(
    ("knots", "log_weights", "slopes", "message"),
    [
        ((), (), {}, "1 to 256 knots"),
        ((1.0,), (0.0, 1.0), {}, "as many log weights"),
        ((1.0,) * 300, (0.0,) * 300, {}, "1 to 256 knots"),
        ((1.0,), (0.0,), {}, "zero everywhere"),
        ((1.0, 2.0), (-INF, -INF), {}, "zero everywhere"),
        ((2.0, 1.0), (0.0, 0.0), {}, "rising order"),
        ((1.0, 1.0, 1.0, 2.0), (0.0, 1.0, 2.0, 0.0), {"inner": 0.0}, "twice at most"),
        ((0.0, 1.0), (0.0, 0.0), {}, "positive"),
        ((1.0, math.nan), (0.0, 0.0), {}, "finite"),
        ((1.0, 2.0), (0.0, INF), {}, "finite"),
        ((1.0, 2.0), (0.0, 1e6), {}, "at most"),
        ((1.0, 1.0000001), (0.0, 1.0), {}, "slopes"),
        ((1.0, 2.0), (0.0, 0.0), {"inner": -12.0}, "infinite mass"),
        ((1.0, 2.0), (0.0, 0.0), {"outer": math.nan}, "finite"),
        ((2000.0, 3000.0), (0.0, 0.0), {}, "where P has noise"),
        ("12", "12", {}, "list of numbers"),
        ((True, 2.0), (0.0, 0.0), {}, "number"),
        ((1.0, 2.0), (-INF, -INF), {"outer": 1.0}, "zero at the end"),
    ],
)
def test_bad_weights_are_named(knots, log_weights, slopes, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=message):
        Weighted(BASE, knots, log_weights, **slopes)

"""The smoothing law with another exponent eta, and the limits of every parameter."""

from __future__ import annotations

import json
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from dsrs.errors import InvalidInput
from dsrs.laws import (
    GeneralizedGaussian,
    Rescaled,
    Truncated,
    law_from_dict,
    log_gamma_peak,
    log_gamma_step,
)

FAMILIES = [
    GeneralizedGaussian(d, 0.7, k, eta)
    for d, k in ((2, 0.0), (30, 11.5), (784, 380.0))
    for eta in (0.5, 1.0, 2.0, 4.0, 8.0)
]


@pytest.mark.parametrize("law", FAMILIES, ids=str)
def test_size_and_shape(law: GeneralizedGaussian) -> None:
    # E |x|^2 = sigma^2 d fixes the unit of length (docs/math.md 1); mpmath has the Gamma functions.
    with mp.workdps(40):
        shape = (mp.mpf(law.d) - 2 * law.k) / law.eta
        square = mp.gamma(shape + mp.mpf(2) / law.eta) / mp.gamma(shape)
        assert law.m == float(shape)
        assert float(2 * mp.mpf(law.scale) ** 2 * square) == pytest.approx(0.49 * law.d, rel=1e-13)
    assert law.power_in_t == pytest.approx(2 * law.k / law.eta)
    t = np.array([1e-3, 0.5, 7.0, 300.0])
    assert np.allclose(law.shell(law.norm(t)), t, rtol=1e-13)
    norms = law.sample_norms(40_000, np.random.default_rng(4))
    spread = np.square(norms).std() / math.sqrt(40_000)
    assert np.square(norms).mean() == pytest.approx(0.49 * law.d, abs=4 * spread)
    assert stats.kstest(norms, law.radial_cdf).pvalue > 1e-3


@pytest.mark.parametrize("law", FAMILIES, ids=str)
def test_density_is_the_stated_one(law: GeneralizedGaussian) -> None:
    low, middle, high = law.radial_quantile([0.3, 0.5, 0.7])
    mass = integrate.quad(law.radial_pdf, low, high, epsabs=0, epsrel=1e-10)[0]
    assert mass == pytest.approx(0.4, rel=1e-8)
    # |x|^(-2k) exp(-(|x|/s)^eta) times the surface |x|^(d-1), up to one constant.
    s = law.scale * math.sqrt(2)
    stated = [
        (law.d - 1 - 2 * law.k) * math.log(r) - (r / s) ** law.eta for r in (low, middle, high)
    ]
    found = np.log(law.radial_pdf([low, middle, high]))
    assert np.allclose(found - found[0], np.array(stated) - stated[0], atol=1e-9)


@pytest.mark.parametrize("eta", [1.0, 4.0])
def test_additional_laws_on_another_family(eta: float) -> None:
    base = GeneralizedGaussian(30, 0.5, 4.0, eta)
    for law in (Truncated(base, 0.6), Rescaled(base, 0.4), Rescaled(base, 0.6)):
        norms = law.radial_quantile([0.1, 0.5, 0.9])
        step = 1e-5 * norms
        density = (law.radial_cdf(norms + step) - law.radial_cdf(norms - step)) / (2 * step)
        weight = np.exp(law.log_weight(base.shell(norms)))
        assert np.allclose(weight, density / base.radial_pdf(norms), rtol=1e-6)
        assert stats.kstest(
            law.sample_norms(20_000, np.random.default_rng(6)), law.radial_cdf
        ).pvalue > 1e-3  # fmt: skip
        # The extreme classifiers: right on a ball, or on its complement.
        ball = float(law.radial_quantile(0.8))
        near, far = (
            float(base.radial_cdf(ball)),
            1 - float(base.radial_cdf(law.radial_quantile(0.2))),
        )
        least, most = law.p_range(0.8, 0.8)
        assert least == pytest.approx(min(near, far), rel=1e-9)
        assert most >= max(near, far) - 1e-9


def test_eta_2_is_the_law_as_it_was() -> None:
    law = GeneralizedGaussian(784, 0.5, 380)
    assert law.m == 784 / 2 - 380
    assert law.scale == 0.5 * math.sqrt(784 / (2 * law.m))
    t = np.random.default_rng(0).standard_gamma(law.m, 1000)
    assert np.array_equal(law.norm(t), law.scale * np.sqrt(2 * t))
    assert np.array_equal(law.shell(t), 0.5 * np.square(t / law.scale))
    assert np.array_equal(law.sample_norms(1000, np.random.default_rng(0)), law.norm(t))
    assert not law.is_gaussian
    assert GeneralizedGaussian(784, 0.5).is_gaussian
    assert not GeneralizedGaussian(784, 0.5, 0, 1.5).is_gaussian


@pytest.mark.parametrize("x", [1e-3, 0.5, 3.0, 47.0, 49.9, 51.0, 1e4, 1e7, 2e9])
@pytest.mark.parametrize("step", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_differences_of_log_gamma_keep_their_digits(x: float, step: float) -> None:
    with mp.workdps(40):
        exact = float(mp.loggamma(mp.mpf(x) + step) - mp.loggamma(x))
        peak = float(x * mp.log(x) - x - mp.loggamma(x))
    assert log_gamma_step(x, step) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    assert log_gamma_peak(x) == pytest.approx(peak, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.05, 0.3])
def test_k_close_to_half_the_dimension(shape: float) -> None:
    law = GeneralizedGaussian(3072, 0.5, 1536 - shape)
    assert law.m == pytest.approx(shape, rel=1e-9)
    norms = law.sample_norms(200_000, np.random.default_rng(3))
    square = np.square(norms)
    assert square.mean() == pytest.approx(0.25 * 3072, abs=5 * square.std() / math.sqrt(200_000))
    noise = law.sample(50, np.random.default_rng(3), np.float32)
    assert np.isfinite(noise).all()
    assert float(law.radial_cdf(law.radial_quantile(0.9))) == pytest.approx(0.9, rel=1e-12)
    for other in (Rescaled(law, 0.4), Truncated(law, 0.9)):
        assert np.isfinite(other.sample_norms(100, np.random.default_rng(1))).all()
        assert np.isfinite(other.components()[0].log_height)


def test_a_ball_too_small_to_compute_with_is_named() -> None:
    law = GeneralizedGaussian(10, 1.0, 4.998)
    with pytest.raises(InvalidInput, match="percentile"):
        Truncated(law, 0.1)


def test_round_trips() -> None:
    for law in FAMILIES:
        assert GeneralizedGaussian.from_dict(json.loads(json.dumps(law.to_dict()))) == law
    old = {"d": 784, "sigma": 0.5, "k": 380.0}
    assert GeneralizedGaussian.from_dict(old) == GeneralizedGaussian(784, 0.5, 380, 2)
    base = GeneralizedGaussian(784, 0.5, 380)
    assert Rescaled(base, 0.4).to_dict() == {"kind": "rescaled", "beta": 0.4}
    assert Truncated(base, 0.8).to_dict() == {"kind": "truncated", "percentile": 0.8}


BAD = [True, "1", None, math.nan, math.inf, -math.inf, 10**400, 10**5000, [1.0], 1j]


@pytest.mark.parametrize("value", BAD, ids=lambda value: str(type(value).__name__))
def test_nothing_but_a_usable_number_passes_the_door(value: object) -> None:
    base = GeneralizedGaussian(784, 0.5, 380)
    fields = base.to_dict()
    for name in fields:
        with pytest.raises(InvalidInput, match=f"`{name}` must be"):
            GeneralizedGaussian(**(fields | {name: value}))
    for law in (Truncated, Rescaled):
        with pytest.raises(InvalidInput, match="must be"):
            law(base, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: GeneralizedGaussian(10**9 + 1, 1.0),
        lambda: GeneralizedGaussian(10, 1e300),
        lambda: GeneralizedGaussian(10, 1e-300),
        lambda: GeneralizedGaussian(10, 1.0, 4.9996),
        lambda: GeneralizedGaussian(10, 1.0, 0.0, 0.49),
        lambda: GeneralizedGaussian(10, 1.0, 0.0, 8.01),
        lambda: Rescaled(GeneralizedGaussian(10, 1.0), 1.1e6),
        lambda: Rescaled(GeneralizedGaussian(10, 1.0), 0.9e-6),
        lambda: Rescaled(GeneralizedGaussian(10, 1e100), 1e101),
    ],
)
def test_limits_are_named(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match="must be"):
        make()


@pytest.mark.parametrize(
    "fields",
    [{}, [], "law", {"d": 3, "sigma": 1.0}, {"d": 3, "sigma": 1.0, "k": 0.0, "nu": 1}, None],
)
def test_a_wrong_record_is_named(fields: object) -> None:
    with pytest.raises(InvalidInput, match="d, sigma, k and eta"):
        GeneralizedGaussian.from_dict(fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`kind` of a law"):
        law_from_dict(fields, GeneralizedGaussian(10, 1.0))  # type: ignore[arg-type]

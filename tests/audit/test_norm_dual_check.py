"""The rigorous check of l1 and l-infinity certificates: true ones verified, forged ones never."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")

from dsrs import Interval, Observation, Rescaled, Truncated, certify
from dsrs.audit.balls import exact, precision
from dsrs.audit.checking import check_certificate
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import Mixture
from dsrs.audit.overlap import overlap_bound
from dsrs.audit.shells import Shells
from dsrs.audit.weights import additional_law, smoothing_law
from dsrs.laws import GeneralizedGaussian, L1Law, LinfLaw, Weighted

Fields = dict[str, Any]
LAWS: dict[str, GeneralizedGaussian] = {
    "l1, MNIST": L1Law(784, 0.5, 380),
    "l-infinity, MNIST": LinfLaw(784, 0.5, 380),
    "Laplace": L1Law(784, 0.5, 0, 1.0),
    "l-infinity, ImageNet": LinfLaw(150_528, 0.5, 0),
    "the plane": L1Law(2, 1.0, 0),
    "Laplace in the plane": LinfLaw(2, 0.5, 0, 1.0),
    "eta 3": L1Law(10, 0.7, 2, 3.0),
}


@functools.cache
def certificate(name: str, q: str) -> Fields:
    law = LAWS[name]
    observed = {
        "none": (),
        "truncated": (Observation(Truncated(law, 0.5), Interval(0.997, 1.0)),),
        "rescaled": (Observation(Rescaled(law, 0.8 * law.sigma), Interval(0.97, 1.0)),),
    }[q]
    return certify(law, Interval(0.915, 0.99), *observed).to_dict()


@pytest.mark.parametrize(
    ("name", "q"),
    [
        *((name, "rescaled") for name in LAWS),
        *((name, "truncated") for name in ("l1, MNIST", "l-infinity, MNIST", "Laplace")),
        ("l-infinity, ImageNet", "truncated"),
        ("Laplace", "none"),
    ],
)
def test_true_certificates_are_verified(name: str, q: str) -> None:
    verdict = check_certificate(certificate(name, q))
    assert verdict.word == "verified", verdict.reason
    assert 0 < verdict.surplus < 1e-4  # type: ignore[operator]


def raised(fields: Fields) -> None:
    for name in ("radius", "np_radius", "linf_radius", "l1_radius"):
        fields[name] *= 1.01
    fields["proof"]["steps"][0]["radius"] *= 1.01


def scaled(name: str, factor: float) -> Callable[[Fields], None]:
    def forge(fields: Fields) -> None:
        fields["law"][name] *= factor

    return forge


def step(name: str, value: Any) -> Callable[[Fields], None]:
    def forge(fields: Fields) -> None:
        fields["proof"]["steps"][0][name] = value

    return forge


def put(name: str, value: Any, *, inside: str | None = None) -> Callable[[Fields], None]:
    def forge(fields: Fields) -> None:
        (fields if inside is None else fields[inside])[name] = value

    return forge


def other_norm(fields: Fields) -> None:
    fields["law"]["kind"] = {"l1": "linf", "linf": "l1"}[fields["law"]["kind"]]


def without_norm(fields: Fields) -> None:
    del fields["law"]["kind"]


def without_norm_and_kind(fields: Fields) -> None:
    without_norm(fields)
    fields["proof"]["kind"] = "dual"


def multipliers(factor: float) -> Callable[[Fields], None]:
    def forge(fields: Fields) -> None:
        old = fields["proof"]["steps"][0]["multipliers"]
        fields["proof"]["steps"][0]["multipliers"] = [factor * value for value in old]

    return forge


def second_step(fields: Fields) -> None:
    fields["proof"]["steps"] *= 2


def narrower(fields: Fields) -> None:
    fields["proof"]["additional"][0]["law"] = {"kind": "truncated", "percentile": 0.3}


# In double sampling a radius rests on both laws: each forgery makes the claim false, or no claim.
FORGERIES: dict[str, Callable[[Fields], None]] = {
    "radius": raised,
    "Neyman-Pearson radius": lambda fields: put("np_radius", fields["np_radius"] * 1.001)(fields),
    "l-infinity radius": lambda fields: put("linf_radius", fields["l1_radius"] * 1.01)(fields),
    "bound": step("dual_bound", 0.6),
    "multipliers up": multipliers(1.1),
    "multipliers down": multipliers(0.9),
    "multiplier below 0": step("multipliers", [-0.5, 15.0]),
    "infinite multiplier": step("multipliers", ["inf", 15.0]),
    "large multipliers": step("multipliers", [1e150, 1e150]),
    "NaN multiplier": step("multipliers", [math.nan, 15.0]),
    "one multiplier": step("multipliers", [15.0]),
    "interval of P": put("p", [0.91, 1.0], inside="proof"),
    "no interval": put("p", [0.99, 0.9], inside="proof"),
    "other law": narrower,
    "other norm": other_norm,
    "no norm": without_norm,
    "no norm, dual": without_norm_and_kind,
    "unknown norm": put("kind", "l3", inside="law"),
    "norm is a list": put("kind", ["l1"], inside="law"),
    "kind of proof": put("kind", "dual", inside="proof"),
    "second step": second_step,
    "NaN radius": put("radius", math.nan),
    "1e400 radius": put("radius", 10**400),
    "infinite radius": put("radius", "inf"),
    "large dimension": put("d", 2**53, inside="law"),
    "huge dimension": put("d", 10**400, inside="law"),
    "k": put("k", 391.9, inside="law"),
    "sigma": scaled("sigma", 0.99),
    "tiny sigma": put("sigma", 5e-324, inside="law"),
    "sigma 0": put("sigma", 0.0, inside="law"),
    "1e400 sigma": put("sigma", 10**400, inside="law"),
    "tiny eta": put("eta", 1e-300, inside="law"),
    "eta": put("eta", 1.9, inside="law"),
    "moved": put("grid", {"step": 1e-3, "moved": 0.1, "variation": 0.0}),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=list(FORGERIES))
@pytest.mark.parametrize("name", ["l1, MNIST", "l-infinity, MNIST"])
def test_forgeries_are_never_verified(name: str, forge: Callable[[Fields], None]) -> None:
    fields = copy.deepcopy(certificate(name, "truncated"))
    forge(fields)
    verdict = check_certificate(fields)
    assert verdict.word in ("refuted", "undecided")
    assert "this check failed" not in verdict.reason
    assert verdict.seconds < 31


@pytest.mark.parametrize("forgery", ["radius", "bound", "other norm", "sigma", "no norm"])
@pytest.mark.parametrize("name", ["l1, MNIST", "l-infinity, MNIST"])
def test_what_is_false_is_refuted(name: str, forgery: str) -> None:
    fields = copy.deepcopy(certificate(name, "truncated"))
    FORGERIES[forgery](fields)
    assert check_certificate(fields).word == "refuted"


def test_the_distance_to_the_grid_is_longer_in_l1() -> None:
    """An l2 distance of 0.001 may be 0.028 in l1."""
    for name, left, word in (("l1, MNIST", 0.0281, "verified"), ("l1, MNIST", 0.0279, "refuted")):
        fields = copy.deepcopy(certificate(name, "none"))
        fields["grid"] = {"step": 1e-3, "moved": 1e-3, "variation": 1e-6}
        for radius in ("radius", "np_radius", "l1_radius"):
            fields[radius] -= left
        fields["linf_radius"] = 0.0
        assert check_certificate(fields).word == word


def test_laws_that_are_not_known_to_fall_are_undecided() -> None:
    law = LAWS["l1, MNIST"]
    weighted = Weighted(law, (5.0, 14.0), (1.0, 0.1), inner=0.0, outer=-3.0)
    fields = copy.deepcopy(certificate("l1, MNIST", "truncated"))
    fields["proof"]["additional"][0]["law"] = weighted.to_dict()
    verdict = check_certificate(fields)
    assert verdict.word == "undecided"
    assert "truncated and rescaled laws only" in verdict.reason


def noise(norm: str, d: int, k: float, eta: float, count: int) -> tuple[Any, Any]:
    """Draws of whole vectors of scale s = 1, and their norms: the definition, no overlap."""
    generator = np.random.default_rng(5)
    norms = generator.gamma((d - 2 * k) / eta, size=count) ** (1 / eta)
    raw = (
        generator.laplace(size=(count, d)) if norm == "l1" else generator.uniform(-1, 1, (count, d))
    )
    size = np.abs(raw).sum(axis=1) if norm == "l1" else np.abs(raw).max(axis=1)
    return norms[:, None] * raw / size[:, None], norms


@pytest.mark.parametrize(
    ("norm", "d", "k", "eta", "kind"),
    [
        ("l1", 4, 0.5, 2.0, "truncated"),
        ("linf", 4, 0.5, 2.0, "rescaled"),
        ("l1", 7, 0.0, 1.0, "rescaled"),
        ("linf", 7, 2.0, 3.0, "truncated"),
    ],
)
def test_the_bound_is_that_of_whole_vectors(
    norm: str, d: int, k: float, eta: float, kind: str
) -> None:
    """1 - B for X_i = 1 is the mean of (1 - g(|x + delta|) / p(|x|))_+ over draws of x."""
    multipliers, radius, count = (0.7, 0.6), 0.5, 400_000
    with precision():
        shells = Shells(d, 1.0, k, eta, norm)
        rho = radius / float(shells.unit)
        fields = {"kind": kind} | ({"percentile": 0.6} if kind == "truncated" else {"beta": 0.8})
        q = additional_law(fields, shells)
        mixture = Mixture(shells, multipliers, (smoothing_law(), q))
        value = overlap_bound(mixture, [(1.0, 1.0)] * 2, exact(radius), Budget())
    x, before = noise(norm, d, k, eta, count)
    delta = np.eye(d)[0] * rho if norm == "l1" else np.full(d, rho)
    moved = np.abs(x + delta)
    after = moved.sum(axis=1) if norm == "l1" else moved.max(axis=1)
    m = (d - 2 * k) / eta
    if kind == "truncated":
        edge = np.quantile(before**eta, 0.6)
        weight = np.where(after**eta <= edge, 1 / 0.6, 0.0)
    else:
        rate = (1 / 0.8) ** eta
        weight = rate**m * np.exp(-(rate - 1) * after**eta)
    ratio = (after / before) ** (-2 * k) * np.exp(before**eta - after**eta)
    drawn = np.maximum(1 - (multipliers[0] + multipliers[1] * weight) * ratio, 0.0)
    error = 5 * drawn.std() / math.sqrt(count) + 2e-3 * (kind == "truncated")
    assert float(value.rad()) < 1e-8
    assert 1 - drawn.mean() == pytest.approx(float(value), abs=error)


def test_no_shift_of_the_ball_is_worse() -> None:
    """Random shifts of the same length, drawn: none gives less than the worst one."""
    generator = np.random.default_rng(3)
    for norm in ("l1", "linf"):
        with precision():
            shells = Shells(4, 1.0, 0.5, 2.0, norm)
            rho = 0.5 / float(shells.unit)
            mixture = Mixture(shells, (1.3,), (smoothing_law(),))
            worst = float(overlap_bound(mixture, [(1.0, 1.0)], exact(0.5), Budget()))
        x, before = noise(norm, 4, 0.5, 2.0, 100_000)
        for _ in range(12):
            delta = generator.normal(size=4)
            delta *= rho / (np.abs(delta).sum() if norm == "l1" else np.abs(delta).max())
            moved = np.abs(x + delta)
            after = moved.sum(axis=1) if norm == "l1" else moved.max(axis=1)
            ratio = (after / before) ** -1.0 * np.exp(before**2 - after**2)
            drawn = np.maximum(1 - 1.3 * ratio, 0.0)
            assert 1 - drawn.mean() > worst - 5 * drawn.std() / math.sqrt(len(drawn))

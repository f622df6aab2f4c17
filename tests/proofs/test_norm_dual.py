"""Certificates in l1 and l-infinity: found, checked, forged, written and read."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest

import dsrs
from dsrs.errors import InvalidInput
from dsrs.laws import L1Law, LinfLaw, Rescaled, Truncated, Weighted
from dsrs.proofs.certificate import Certificate, OnGrid
from dsrs.proofs.certification import certify, from_grid_point
from dsrs.proofs.checking import check, find_flaw
from dsrs.proofs.interval import NOTHING_KNOWN, Interval, Observation
from dsrs.proofs.norm_dual import NormDual, norm_radius
from dsrs.proofs.table import certify_row

LAW = L1Law(784, 0.5, 380.0)
P, Q = Interval(0.915897, 1.0), Interval(0.997246, 1.0)


def both() -> Certificate:
    return certify(LAW, P, Observation(Truncated(LAW, 0.5), Q))


def test_radii_are_those_of_the_monte_carlo_estimate_and_a_little_more() -> None:
    """A million draws and a tenth of alpha = 0.001 proved 0.6014 and 0.9738 from these bounds."""
    found = both()
    assert found.np_radius == pytest.approx(0.60616, rel=1e-4)
    assert found.radius == pytest.approx(0.98117, rel=1e-4)
    assert check(found)
    assert check(certify(LAW, P))


def test_l1_and_linf_radii_agree_in_units_of_their_noise() -> None:
    other = LinfLaw(784, 0.5, 380.0)
    first, second = certify(LAW, P), certify(other, P)
    assert first.radius / LAW.scale == pytest.approx(second.radius / other.scale, rel=1e-6)


def test_forged_proofs_have_a_flaw() -> None:
    found = both()
    proof = found.proof
    assert isinstance(proof, NormDual)
    (step,) = proof.steps

    def forged(**changes: object) -> Certificate:
        wrong = replace(step, **changes)  # type: ignore[arg-type]
        return replace(found, radius=wrong.radius, proof=replace(proof, steps=(wrong,)))

    assert "proves 0.4" in str(find_flaw(forged(radius=1.01 * step.radius)))
    assert "must not be negative" in str(find_flaw(forged(multipliers=(-1.0, 20.0))))
    assert "claims" in str(find_flaw(forged(dual_bound=0.6)))
    assert "multipliers for 2 bounds" in str(find_flaw(forged(multipliers=(1.0,))))
    assert find_flaw(replace(found, law=replace(LAW, sigma=0.4))) is not None
    assert "for l1 and linf noise" in str(proof.flaw(LAW.isotropic))
    assert "one step" in str(replace(proof, steps=(step, step)).flaw(LAW))


def test_json_gives_the_certificate_back() -> None:
    found = both()
    assert Certificate.from_json(found.to_json()) == found
    schema = json.loads(files("dsrs.proofs").joinpath("certificate.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found.to_dict())
    assert found.to_dict()["law"]["kind"] == "l1"
    assert found.to_dict()["proof"]["kind"] == "norm-dual"


def test_radii_in_other_norms_are_those_of_the_largest_ball_inside() -> None:
    l1, linf = certify(LAW, P), certify(LinfLaw(784, 0.5, 380.0), P)
    assert l1.l1_radius == l1.radius
    assert l1.radius_in("l2") == pytest.approx(l1.radius / 28)
    assert l1.linf_radius == pytest.approx(l1.radius / 784)
    assert linf.linf_radius == linf.l1_radius == linf.radius_in("l2") == linf.radius


def test_the_way_to_the_grid_is_measured_in_the_norm() -> None:
    note = OnGrid(1 / 4080, 0.0, 0.001, 0.0)
    found = certify(LAW, P)
    assert from_grid_point(found, note).radius == pytest.approx(found.radius - 0.028, rel=1e-9)
    assert check(from_grid_point(found, note))
    linf = certify(LinfLaw(784, 0.5, 380.0), P)
    assert from_grid_point(linf, note).radius == pytest.approx(linf.radius - 0.001)


def test_nothing_is_proved_of_a_class_without_a_majority() -> None:
    found = certify(LAW, Interval(0.5, 1.0))
    assert (found.status, found.radius) == ("abstained", 0.0)
    assert check(found)
    unknown = certify(LAW, NOTHING_KNOWN, Observation(Rescaled(LAW, 0.4), Q))
    assert unknown.np_radius is None
    assert check(unknown)


def test_laws_that_the_worst_shift_is_not_known_of_are_refused() -> None:
    rising = Weighted(LAW, (1.0, 20.0), (0.0, 30.0))
    assert not rising.falls
    with pytest.raises(InvalidInput, match="must not increase with the norm"):
        certify(LAW, P, Observation(rising, Q))
    with pytest.raises(InvalidInput, match="was made for"):
        certify(LAW, P, Observation(Truncated(LAW.isotropic, 0.5), Q))


def test_rows_of_tables_name_the_norm() -> None:
    row = {"d": 784, "k": 380, "sigma": 0.5, "p_lower": P.lower, "p_upper": 1, "norm": "l1"}
    assert certify_row(row).radius == certify(LAW, P).radius
    assert certify_row({**row, "norm": ""}).law == LAW.isotropic
    with pytest.raises(InvalidInput, match="`norm` must be one of"):
        certify_row({**row, "norm": "l3"})


def test_the_rigorous_check_verifies_it() -> None:
    assert dsrs.check(both()).word == "verified"
    raised = replace(both(), radius=1.01 * both().radius)
    assert dsrs.check(raised).word == "refuted"


@pytest.mark.parametrize("d", [2, 3])
def test_in_few_dimensions_a_surer_class_has_a_larger_radius(d: int) -> None:
    for law in (L1Law(d, 1.0), LinfLaw(d, 1.0, 0.0, 4.0)):
        radii = [norm_radius(law, p_lower) for p_lower in (0.7, 0.9, 0.95, 0.99, 0.999)]
        assert radii == sorted(radii)
        assert radii[0] > 0

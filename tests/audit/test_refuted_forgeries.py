"""Certificates that say too much are refuted; those that are true are verified."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("flint")

from dsrs import Interval, Observation, Rescaled, Truncated, certify
from dsrs.audit.balls import arb
from dsrs.audit.bound import Enclosure
from dsrs.audit.checking import check_certificate
from dsrs.audit.claims import STATUSES
from dsrs.laws import GeneralizedGaussian, Weighted
from dsrs.proofs.certificate import Certificate, Status
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.lead import find_lead

MNIST, PLAIN = GeneralizedGaussian(784, 0.5, 380), GeneralizedGaussian(784, 0.5)
SMALL, ROOT = GeneralizedGaussian(3, 1.0, 0.5), GeneralizedGaussian(100, 1.0, 45, 1.0)
Fields = dict[str, Any]


def tailored() -> Certificate:
    """A weight that is just level at its start, and a law that ends."""
    t = (5.0, 9.0, 14.0, 20.0)
    law = Weighted(MNIST, t, (1.0, 0.8, 0.1, -2.0), inner=0.0, outer=-3.0)
    return certify(MNIST, Interval(0.0, 1.0), Observation(law, Interval(0.95, 1.0)))


TRUE: dict[str, Callable[[], Certificate]] = {
    "P alone": lambda: certify(MNIST, Interval(0.93, 0.95)),
    "Gaussian": lambda: certify(PLAIN, Interval(0.93, 0.95)),
    "truncated": lambda: certify(
        MNIST, Interval(0.93, 0.95), Observation(Truncated(MNIST, 0.6), Interval(0.98, 0.99))
    ),
    "two laws": lambda: certify(
        MNIST,
        Interval(0.93, 0.95),
        Observation(Truncated(MNIST, 0.6), Interval(0.98, 0.99)),
        Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1.0)),
    ),
    "weighted": tailored,
    "eta": lambda: certify(
        ROOT, Interval(0.9, 0.92), Observation(Rescaled(ROOT, 0.8), Interval(0.97, 0.98))
    ),
    "three dimensions": lambda: certify(
        SMALL, Interval(0.9, 0.92), Observation(Truncated(SMALL, 0.7), Interval(0.97, 0.98))
    ),
    "never wrong inside": lambda: certify(
        MNIST, Interval(0.9, 0.95), Observation(Truncated(MNIST, 0.5), Interval(1.0, 1.0))
    ),
    "never wrong": lambda: certify(PLAIN, Interval(1.0, 1.0)),
    "leading": lambda: certificate_of(MNIST, find_lead(MNIST, 0.5, 0.2)),
    "leading Gaussian": lambda: certificate_of(PLAIN, find_lead(PLAIN, 0.5, 0.2)),
    "abstained": lambda: certify(MNIST, Interval(0.3, 0.6)),
}


@pytest.fixture(scope="module")
def chain() -> Fields:
    """A hollow proof of several steps."""
    found = certify(
        MNIST, Interval(0.97, 0.98), Observation(Rescaled(MNIST, 0.4), Interval(0.95, 0.96))
    )
    fields: Fields = json.loads(json.dumps(found.to_dict()))
    assert 3 < len(fields["proof"]["steps"]) < 40
    return fields


@pytest.mark.parametrize("name", TRUE)
def test_true_certificates_are_verified(name: str) -> None:
    found = TRUE[name]()
    verdict = check_certificate(found.to_dict(), name)
    assert (verdict.word, verdict.reason) == ("verified" if found.radius else "abstained", "")
    assert bool(verdict) == (found.radius > 0)
    assert (verdict.steps > 0, verdict.radius) == (found.radius > 0, found.radius)
    if found.radius > 0 and math.isfinite(found.radius):
        assert verdict.surplus is not None
        assert 0 <= verdict.surplus < 1e-9


def test_a_chain_is_verified_step_by_step_and_refuted_with_a_gap(chain: Fields) -> None:
    assert check_certificate(chain).word == "verified"
    broken = copy.deepcopy(chain)
    del broken["proof"]["steps"][1]
    verdict = check_certificate(broken)
    assert verdict.word == "refuted"
    assert "down to" in verdict.reason
    alone = copy.deepcopy(chain)
    del alone["proof"]["steps"][1:]
    assert check_certificate(alone).word == "refuted"


def first_step(fields: Fields) -> Fields:
    proof: Fields = fields["proof"]
    step: Fields = proof["steps"][0]
    return step


def grown(fields: Fields) -> None:
    for place in (fields, first_step(fields)):
        place["radius"] *= 1.00001
    fields["linf_radius"] *= 0.99


def larger_radius_only(fields: Fields) -> None:
    fields["radius"] = math.nextafter(fields["radius"], 9.0)


def multiplied(fields: Fields) -> None:
    multipliers = first_step(fields)["multipliers"]
    place = max(range(len(multipliers)), key=lambda i: float(multipliers[i]))
    multipliers[place] *= 1.01


def bolder(fields: Fields) -> None:
    first_step(fields)["dual_bound"] += 4e-10


def wrong_in_l_infinity(fields: Fields) -> None:
    fields["linf_radius"] = math.nextafter(fields["linf_radius"], 9.0)


def wrong_in_l1(fields: Fields) -> None:
    fields["l1_radius"] = math.nextafter(fields["l1_radius"], 9.0)


def other_size(fields: Fields) -> None:
    fields["law"]["sigma"] *= 0.9999


def other_shape(fields: Fields) -> None:
    fields["law"]["k"] += 0.01 if fields["law"]["k"] else 5.0


def without_proof(fields: Fields) -> None:
    fields["proof"] = None


def without_length(fields: Fields) -> None:
    first_step(fields)["radius"] = 0.0


FORGERIES = [
    grown, larger_radius_only, multiplied, bolder, wrong_in_l_infinity, wrong_in_l1, other_size,
    without_proof, without_length,
]  # fmt: skip
FORGED = ("P alone", "Gaussian", "truncated", "weighted", "eta", "leading")


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refuted(name: str) -> None:
    true = json.loads(json.dumps(TRUE[name]().to_dict()))
    for forge in FORGERIES:
        fields = copy.deepcopy(true)
        forge(fields)
        verdict = check_certificate(fields)
        assert (verdict.word, bool(verdict.reason)) == ("refuted", True), (forge, verdict)


def test_another_law_than_the_proofs_is_refuted() -> None:
    fields = json.loads(json.dumps(TRUE["truncated"]().to_dict()))
    for change in (
        {"kind": "truncated", "percentile": 0.5999},
        {"kind": "rescaled", "beta": 0.4},
        {"kind": "truncated", "percentile": 1.5},
    ):
        fields["proof"]["additional"][0]["law"] = change
        assert check_certificate(fields).word == "refuted", change
    fields["proof"]["additional"][0]["law"] = {"kind": "unheard of"}
    verdict = check_certificate(fields)
    assert verdict.word == "undecided"
    assert "unheard of" in verdict.reason


@pytest.mark.parametrize("name", ["truncated", "leading"])
def test_a_neyman_pearson_radius_that_is_too_large_is_refuted(name: str) -> None:
    fields = json.loads(json.dumps(TRUE[name]().to_dict()))
    fields["np_radius"] = fields["radius"] * 0.999
    verdict = check_certificate(fields)
    assert verdict.word == "refuted"
    assert "Neyman-Pearson" in verdict.reason


def test_an_infinite_radius_needs_a_class_that_is_never_wrong() -> None:
    fields = json.loads(json.dumps(TRUE["never wrong"]().to_dict()))
    fields["proof"]["p"] = [0.9999999, 1.0]
    assert check_certificate(fields).word == "refuted"
    inside = json.loads(json.dumps(TRUE["never wrong inside"]().to_dict()))
    for name in ("radius", "linf_radius", "l1_radius"):
        inside[name] = "inf"
    inside["proof"]["steps"][0]["radius"] = "inf"
    assert check_certificate(inside).word == "refuted"


def test_a_lead_needs_both_bounds() -> None:
    fields = json.loads(json.dumps(TRUE["leading"]().to_dict()))
    fields["proof"]["rival"] = 0.21
    assert check_certificate(fields).word == "refuted"
    del fields["proof"]["rival"]
    assert "`rival` is missing" in check_certificate(fields).reason


def test_the_statuses_are_those_of_the_records() -> None:
    from typing import get_args

    assert set(get_args(Status)) == set(STATUSES)


def test_other_shapes_are_refuted_too() -> None:
    fields = json.loads(json.dumps(TRUE["P alone"]().to_dict()))
    other_shape(fields)
    assert check_certificate(fields).word == "refuted"


def test_a_bound_without_an_enclosure_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Enclosure(arb("nan"), arb(0))
    monkeypatch.setattr("dsrs.audit.kinds.steps.enclosed_bound", lambda *_: nothing)
    verdict = check_certificate(json.loads(json.dumps(TRUE["truncated"]().to_dict())))
    assert verdict.word == "undecided"
    assert verdict.reason.endswith("and no enclosure of B was found")

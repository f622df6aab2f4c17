"""Certificates that say too much are refuted; those that are true are verified."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("flint")

from dsrs import Interval, Observation, Rescaled, Truncated, certify
from dsrs.audit import audit_certificate
from dsrs.audit.balls import arb
from dsrs.audit.bound import Enclosure
from dsrs.audit.claims import METHODS, STATUSES
from dsrs.laws import GeneralizedGaussian, Weighted
from dsrs.proofs.certificate import Certificate, Method, Status
from dsrs.proofs.lead import certify_leading
from dsrs.proofs.slab import certify_first_order

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
    "leading": lambda: certify_leading(MNIST, 0.5, 0.2),
    "leading Gaussian": lambda: certify_leading(PLAIN, 0.5, 0.2),
    "first order": lambda: certify_first_order(PLAIN, 0.9, 0.1),
    "abstained": lambda: certify(MNIST, Interval(0.3, 0.6)),
}


@pytest.fixture(scope="module")
def chain() -> Fields:
    """A hollow proof of several steps."""
    found = certify(
        MNIST, Interval(0.97, 0.98), Observation(Rescaled(MNIST, 0.4), Interval(0.95, 0.96))
    )
    assert 3 < len(found.proof) < 40
    return found.to_dict()


@pytest.mark.parametrize("name", TRUE)
def test_true_certificates_are_verified(name: str) -> None:
    found = TRUE[name]()
    verdict = audit_certificate(found.to_dict(), name)
    assert (verdict.word, verdict.reason) == ("verified", "")
    assert verdict.steps == len(found.proof)
    if found.proof and math.isfinite(found.radius):
        assert verdict.surplus is not None
        assert 0 <= verdict.surplus < 1e-9


def test_a_chain_is_verified_step_by_step_and_refuted_with_a_gap(chain: Fields) -> None:
    assert audit_certificate(chain).word == "verified"
    broken = copy.deepcopy(chain)
    del broken["proof"][1]
    verdict = audit_certificate(broken)
    assert verdict.word == "refuted"
    assert "down to" in verdict.reason
    alone = copy.deepcopy(chain)
    del alone["proof"][1:]
    assert audit_certificate(alone).word == "refuted"


def grown(fields: Fields) -> None:
    for place in (fields, fields["proof"][0]):
        place["radius"] *= 1.00001
    fields["linf_radius"] *= 0.99


def larger_radius_only(fields: Fields) -> None:
    fields["radius"] = math.nextafter(fields["radius"], 9.0)


def multiplied(fields: Fields) -> None:
    multipliers = fields["proof"][0]["multipliers"]
    place = max(range(len(multipliers)), key=lambda i: float(multipliers[i]))
    multipliers[place] *= 1.01


def bolder(fields: Fields) -> None:
    fields["proof"][0]["dual_bound"] += 4e-10


def wrong_in_l_infinity(fields: Fields) -> None:
    fields["linf_radius"] = math.nextafter(fields["linf_radius"], 9.0)


def wrong_in_l1(fields: Fields) -> None:
    fields["l1_radius"] = math.nextafter(fields["l1_radius"], 9.0)


def other_size(fields: Fields) -> None:
    fields["law"]["sigma"] *= 0.9999


def other_shape(fields: Fields) -> None:
    fields["law"]["k"] += 0.01 if fields["law"]["k"] else 5.0


def without_proof(fields: Fields) -> None:
    fields["proof"] = []


def without_length(fields: Fields) -> None:
    fields["proof"][0]["radius"] = 0.0


FORGERIES = [
    grown, larger_radius_only, multiplied, bolder, wrong_in_l_infinity, wrong_in_l1, other_size,
    without_proof, without_length,
]  # fmt: skip
FORGED = ("P alone", "Gaussian", "truncated", "weighted", "eta", "leading", "first order")


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refuted(name: str) -> None:
    true = TRUE[name]().to_dict()
    for forge in FORGERIES:
        fields = copy.deepcopy(true)
        forge(fields)
        verdict = audit_certificate(fields)
        assert (verdict.word, bool(verdict.reason)) == ("refuted", True), (forge, verdict)


def test_another_law_than_the_proofs_is_refuted() -> None:
    fields = TRUE["truncated"]().to_dict()
    for change in (
        {"kind": "truncated", "percentile": 0.5999},
        {"kind": "rescaled", "beta": 0.4},
        {"kind": "truncated", "percentile": 1.5},
    ):
        fields["additional"][0]["law"] = change
        assert audit_certificate(fields).word == "refuted", change
    fields["additional"][0]["law"] = {"kind": "unheard of"}
    verdict = audit_certificate(fields)
    assert verdict.word == "undecided"
    assert "unheard of" in verdict.reason


@pytest.mark.parametrize("name", ["truncated", "leading", "first order"])
def test_a_neyman_pearson_radius_that_is_too_large_is_refuted(name: str) -> None:
    fields = TRUE[name]().to_dict()
    fields["p"][0] = max(fields["p"][0], 0.6)
    fields["np_radius"] = fields["radius"] * 0.999
    verdict = audit_certificate(fields)
    assert verdict.word == "refuted"
    if name == "truncated":
        assert "Neyman-Pearson" in verdict.reason


def test_an_infinite_radius_needs_a_class_that_is_never_wrong() -> None:
    fields = TRUE["never wrong"]().to_dict()
    fields["p"] = [0.9999999, 1.0]
    assert audit_certificate(fields).word == "refuted"
    inside = TRUE["never wrong inside"]().to_dict()
    step = inside["proof"][0]
    for name in ("radius", "linf_radius", "l1_radius"):
        inside[name] = "inf"
    step["radius"] = "inf"
    assert audit_certificate(inside).word == "refuted"


def test_a_lead_needs_both_bounds() -> None:
    fields = TRUE["leading"]().to_dict()
    fields["rival"] = 0.21
    assert audit_certificate(fields).word == "refuted"
    fields["rival"] = None
    assert audit_certificate(fields).word == "refuted"


def test_the_words_of_certificates_are_those_of_the_records() -> None:
    from typing import get_args

    assert set(get_args(Status)) == set(STATUSES)
    assert set(get_args(Method)) == set(METHODS)


def test_other_shapes_are_refuted_too() -> None:
    fields = TRUE["P alone"]().to_dict()
    other_shape(fields)
    assert audit_certificate(fields).word == "refuted"


def test_a_bound_without_an_enclosure_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Enclosure(arb("nan"), arb(0))
    monkeypatch.setattr("dsrs.audit.proof.enclosed_bound", lambda *_: nothing)
    verdict = audit_certificate(TRUE["truncated"]().to_dict())
    assert verdict.word == "undecided"
    assert verdict.reason.endswith("and no enclosure of B was found")

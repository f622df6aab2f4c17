"""A routed proof: read and written without loss, checked part by part, forgeries refused."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from dsrs import audit
from dsrs.errors import DataError
from dsrs.laws import GeneralizedGaussian, Rescaled
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.certification import certify
from dsrs.proofs.checking import find_flaw
from dsrs.proofs.interval import Interval, Observation
from dsrs.proofs.lead import find_lead
from dsrs.proofs.routed import ExpertPart, Routed

ROUTER = GeneralizedGaussian(8, 0.5)
NAMED, RIVAL = GeneralizedGaussian(8, 0.5, k=2.0), GeneralizedGaussian(8, 1.0)
ALPHA = 0.001


def routed() -> Certificate:
    """Three experts: one named, by double sampling; one excluded; one that agrees, and a plain one
    that is excluded by a majority."""
    q = Observation(Rescaled(NAMED, 0.4), Interval(0.97, 1.0))
    own = certify(NAMED, Interval(0.93, 0.96), q).proof
    agrees = certify(RIVAL, Interval(0.8, 1.0)).proof
    excluded = find_lead(ROUTER, 0.9, 0.05)
    majority = certify(ROUTER, Interval(0.95, 1.0)).proof
    parts = (
        ExpertPart(NAMED, ALPHA, own, 0.0, None),
        ExpertPart(RIVAL, ALPHA / 2, agrees, ALPHA / 2, find_lead(ROUTER, 0.9, 0.45)),
        ExpertPart(RIVAL, 0.0, None, ALPHA / 2, excluded),
        ExpertPart(None, 0.0, None, ALPHA, majority),
    )
    proof = Routed(0, ALPHA, parts)
    return Certificate(ROUTER, "certified", proof.reach, None, proof)


def test_the_radius_is_the_least_of_the_larger_ones() -> None:
    proof = routed().proof
    assert isinstance(proof, Routed)
    own, agrees, excluded, plain = proof.experts
    assert own.expert_reach > 0.6
    assert agrees.reach == agrees.expert_reach > agrees.router_reach > 0
    assert proof.reach == min(own.expert_reach, agrees.reach, excluded.reach, plain.reach)
    assert proof.published_reach == proof.router_reach == agrees.router_reach < proof.reach


def test_a_routed_certificate_is_read_as_it_was_written() -> None:
    certificate = routed()
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert find_flaw(certificate) is None
    assert verdict(certificate.to_json()) == "verified"


def verdict(text: str) -> str:
    return audit.check(json.loads(text)).word


def changed(change: Callable[[dict[str, Any]], None]) -> str:
    fields = copy.deepcopy(routed().to_dict())
    change(fields["proof"])
    return json.dumps(fields)


def _set(place: int, *path: str | int) -> Callable[[Any], Callable[[dict[str, Any]], None]]:
    def to(value: Any) -> Callable[[dict[str, Any]], None]:
        def change(proof: dict[str, Any]) -> None:
            target: Any = proof["experts"][place]
            for name in path[:-1]:
                target = target[name]
            target[path[-1]] = value

        return change

    return to


FORGERIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a smaller P_A of the named expert": _set(0, "proof", "p")([0.55, 0.6]),
    "another Q_A of the named expert": _set(0, "proof", "additional", 0, "q")([0.6, 0.7]),
    "less noise of the named expert": _set(0, "law", "sigma")(0.3),
    "a smaller P_A of an expert that agrees": _set(1, "proof", "p")([0.6, 1.0]),
    "less noise of an expert that agrees": _set(1, "law", "sigma")(0.3),
    "a smaller lead of the router": _set(2, "excluded", "lower")(0.6),
    "a larger rival of the router": _set(2, "excluded", "rival")(0.4),
    "a smaller majority of the router": _set(3, "excluded", "p")([0.7, 1.0]),
    "a plain model with a proof": _set(3, "proof")(
        routed().to_dict()["proof"]["experts"][1]["proof"]
    ),
    "no noise of an expert that is excluded": _set(2, "law", "sigma")(-1.0),
    "an expert that is excluded in another dimension": _set(2, "law", "d")(5),
    "no proof of the named expert": _set(0, "proof")(None),
    "no exclusion of a rival": _set(2, "excluded")(None),
    "more than alpha for the named expert": _set(0, "alpha")(0.01),
    "both parts of a rival at alpha": _set(1, "alpha")(ALPHA),
    "a named expert that is excluded": _set(0, "excluded")(
        routed().to_dict()["proof"]["experts"][2]["excluded"]
    ),
    "another named expert": lambda proof: proof.update(named=2),
    "a smaller alpha of the whole": lambda proof: proof.update(alpha=ALPHA / 2),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_of_every_part_are_refused(name: str) -> None:
    text = changed(FORGERIES[name])
    with contextlib.suppress(DataError):
        assert find_flaw(Certificate.from_json(text)) is not None
    assert verdict(text) == "refuted"


def test_a_larger_radius_is_refused() -> None:
    fields = routed().to_dict()
    fields["radius"] *= 1.001
    for name in ("linf_radius", "l1_radius"):
        del fields[name]
    assert find_flaw(Certificate.from_dict(fields)) is not None
    assert verdict(json.dumps(fields)) == "refuted"


def test_more_alpha_than_the_certificate_says_is_refused() -> None:
    certificate = routed()
    subject = {"class": 0, "alpha": ALPHA / 10, "method": "np", "n": 10, "seed": 0, "index": 0}
    fields = certificate.to_dict() | {"subject": subject | {"seed_public": True}}
    assert "alpha" in str(find_flaw(Certificate.from_dict(fields)))
    assert verdict(json.dumps(fields)) == "refuted"


def test_a_part_of_an_unknown_kind_is_undecided() -> None:
    text = changed(_set(1, "proof", "kind")("magic"))
    assert verdict(text) == "undecided"
    with pytest.raises(DataError, match="magic"):
        Certificate.from_json(text)


def test_a_routed_proof_holds_no_other_one() -> None:
    whole = routed().to_dict()["proof"]
    text = changed(_set(1, "proof")(whole))
    with pytest.raises(DataError, match="one noise law"):
        Certificate.from_json(text)
    assert verdict(text) == "undecided"

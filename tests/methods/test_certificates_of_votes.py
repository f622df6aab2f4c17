"""Certificates from saved votes: what they allow, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsrs.certifying import sample_input
from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.errors import NotEnoughVotes
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.methods import Plan, certificates_of
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import Interval, Observation, certify, check
from dsrs.votes import ESTIMATION, SampledInput, Votes
from known_classifiers import Ball

LAW = GeneralizedGaussian(30, 0.5, 8)
BALL = Truncated(LAW, 0.7)
PLAN = Plan(LAW, ("np", "truncated:heuristic", "rescaled:0.8x"), n=4000, grid=None)


def votes(hits: int, total: int, law: NoiseLaw = LAW, start: int = 0) -> Votes:
    rest = (0,) * 63
    return Votes(
        Stream(ESTIMATION, law), start, (total - hits, hits), (total, *rest), (hits, *rest)
    )


def sampled(*taken: Votes) -> SampledInput:
    """The votes of an input; the heuristic has chosen BALL."""
    return SampledInput(0, 1, 1, 1, taken, {"truncated:heuristic": BALL})


FULL = sampled(
    votes(1800, 2000),
    votes(1820, 2000, start=2000),
    votes(1950, 2000, BALL),
    votes(1940, 2000, Rescaled(LAW, 0.4)),
)


def test_each_method_uses_its_own_votes_and_alpha() -> None:
    certificates = certificates_of(FULL, PLAN)
    assert list(certificates) == ["np", "truncated", "rescaled"]
    lower = clopper_pearson_lower(3620, 4000, 0.001)
    assert replace(certificates["np"], subject=None) == certify(LAW, Interval(lower, 1.0))
    p = Interval(*clopper_pearson(1800, 2000, 0.0005))
    q = Interval(*clopper_pearson(1950, 2000, 0.0005))
    double = replace(certificates["truncated"], subject=None)
    assert double == certify(LAW, p, Observation(BALL, q))
    for certificate in certificates.values():
        assert certificate.status == "certified"
        assert check(certificate)


def test_the_split_of_alpha_is_a_parameter() -> None:
    certificate = certificates_of(FULL, PLAN.replace(alpha_share=0.25))["rescaled"]
    assert (certificate.known_of_p.lower, certificate.known_of_p.upper) == clopper_pearson(
        1800, 2000, 0.00025
    )
    seen = certificate.observations[0].interval
    assert (seen.lower, seen.upper) == clopper_pearson(1940, 2000, 0.00075)


def test_a_larger_alpha_certifies_more() -> None:
    strict, loose = certificates_of(FULL, PLAN), certificates_of(FULL, PLAN.replace(alpha=0.1))
    for method in strict:
        assert loose[method].radius > strict[method].radius


def test_a_run_of_several_methods_certifies_each_alone() -> None:
    together = certificates_of(FULL, PLAN)
    plain = PLAN.replace(methods=("np",))
    assert certificates_of(FULL, plain) == {"np": together["np"]}
    # The same laws under other names: all but the name of the method is equal.
    alone = certificates_of(FULL, PLAN.replace(methods=("rescaled:0.4",)))
    fixed = certificates_of(FULL, PLAN.replace(methods=("np", "truncated:0.7")))
    assert list(alone) == ["rescaled"]
    for method, certificates in (("rescaled", alone), ("truncated", fixed)):
        expected = together[method].subject
        assert expected is not None
        named = certificates[method].subject
        assert named is not None
        assert replace(named, method=expected.method) == expected
        assert replace(certificates[method], subject=expected) == together[method]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (PLAN.replace(n=5000), r"needs the first 5000 .* under P, and has: .* P \(4000\)"),
        (PLAN.replace(sample_share=0.4), "needs the first 1600 .* keep n and the shares"),
        (PLAN.replace(methods=("truncated:0.6",)), "needs the first 2000 .* under truncated:0.6"),
        (PLAN.replace(methods=("rescaled:0.3",)), r"has: .* under rescaled:0.4 \(2000\)"),
    ],
)
def test_missing_votes_are_named(plan: Plan, message: str) -> None:
    with pytest.raises(NotEnoughVotes, match=message):
        certificates_of(FULL, plan)


def test_the_fallback_uses_the_second_votes_under_p() -> None:
    sure = sampled(votes(2000, 2000), votes(1999, 2000, start=2000))
    certificate = certificates_of(sure, PLAN.replace(fallback=True))["truncated"]
    # p^2000 Pr[Bin(2000, p) >= 1999] = alpha / 4.
    p = certificate.known_of_p.lower
    tail = p**2000 * (p**2000 + 2000 * p**1999 * (1 - p))
    assert tail == pytest.approx(0.00025, rel=1e-6)
    assert certificate.observations == ()
    with pytest.raises(NotEnoughVotes, match=r"needs the first 2000 .* under truncated:0.7"):
        certificates_of(sure, PLAN)
    double = PLAN.replace(fallback=True, methods=PLAN.laws)
    with pytest.raises(NotEnoughVotes, match=r"needs the first 4000 .* under P"):
        certificates_of(sampled(votes(2000, 2000)), double)


def test_a_stopped_input_is_abstained_on_whatever_the_alpha() -> None:
    stopped = sampled(votes(300, 1024))
    patient = PLAN.replace(early_stop=True)
    for alpha in (0.001, 0.9):
        for certificate in certificates_of(stopped, patient.replace(alpha=alpha)).values():
            assert certificate.status == "abstained"
            assert certificate.radius == 0
    with pytest.raises(NotEnoughVotes, match="needs the first 4000"):
        certificates_of(stopped, PLAN)


def test_no_votes_under_q_are_needed_without_a_majority() -> None:
    unsure = sampled(votes(1005, 2000), votes(990, 2000, start=2000))
    for certificate in certificates_of(unsure, PLAN).values():
        assert certificate.status == "abstained"


def test_contradicting_intervals_abstain() -> None:
    # With Q truncated to 0.7 of the mass, Q_A = 0.1 leaves P_A at most 0.37: an interval is wrong.
    odd = sampled(
        votes(1900, 2000),
        votes(1900, 2000, start=2000),
        votes(200, 2000, BALL),
    )
    certificate = certificates_of(odd, PLAN.replace(methods=("truncated:heuristic",)))["truncated"]
    assert certificate.status == "abstained"
    assert certificate.known_of_p == Interval(0.0, 1.0)


def test_sampled_votes_can_be_certified_again() -> None:
    classifier = Ball(LAW, float(LAW.radial_quantile(0.9)))
    seen = sample_input(classifier, np.zeros(30, np.float32), PLAN, 3)
    again = SampledInput.from_dict(seen.to_dict(), LAW)
    assert certificates_of(again, PLAN) == certificates_of(seen, PLAN)
    assert certificates_of(seen, PLAN)["truncated"].radius > 0

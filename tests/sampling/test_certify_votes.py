"""Certificates from saved votes: what they allow, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from dsrs.sampling.certificates import certify_method, certify_votes
from dsrs.sampling.plan import SamplingPlan
from dsrs.sampling.sample import sample_input
from dsrs.sampling.votes import SampledInput, Votes
from known_classifiers import Ball

from dsrs.certification import certify, check
from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.errors import NotEnoughVotes
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated
from dsrs.records import Interval, Observation

LAW = GeneralizedGaussian(30, 0.5, 8)
PLAN = SamplingPlan(LAW, n=4000, additional=("truncated:heuristic", "rescaled:0.8x"))


def stream(name: str, hits: int, total: int, q: AdditionalLaw | None = None) -> Votes:
    rest = (0,) * 63
    return Votes(name, (total - hits, hits), (total, *rest), (hits, *rest), q)


def sampled(*votes: Votes, stopped: bool = False) -> SampledInput:
    return SampledInput(0, 1, 1, 1, votes, stopped)


FULL = sampled(
    stream("p1", 1800, 2000),
    stream("p2", 1820, 2000),
    stream("q:truncated", 1950, 2000, Truncated(LAW, 0.7)),
    stream("q:rescaled", 1940, 2000, Rescaled(LAW, 0.4)),
)


def test_each_method_uses_its_own_votes_and_alpha() -> None:
    certificates = certify_votes(FULL, PLAN)
    assert list(certificates) == ["np", "truncated", "rescaled"]
    lower = clopper_pearson_lower(3620, 4000, 0.001)
    assert certificates["np"] == certify(LAW, Interval(lower, 1.0))
    p = Interval(*clopper_pearson(1800, 2000, 0.0005))
    q = Interval(*clopper_pearson(1950, 2000, 0.0005))
    assert certificates["truncated"] == certify(LAW, p, Observation(Truncated(LAW, 0.7), q))
    for certificate in certificates.values():
        assert certificate.status == "certified"
        assert check(certificate)


def test_the_split_of_alpha_is_a_parameter() -> None:
    certificate = certify_method(FULL, PLAN.replace(alpha_share=0.25), "rescaled")
    assert (certificate.p.lower, certificate.p.upper) == clopper_pearson(1800, 2000, 0.00025)
    seen = certificate.additional[0].interval
    assert (seen.lower, seen.upper) == clopper_pearson(1940, 2000, 0.00075)


def test_a_larger_alpha_certifies_more() -> None:
    strict, loose = certify_votes(FULL, PLAN), certify_votes(FULL, PLAN.replace(alpha=0.1))
    for method in strict:
        assert loose[method].radius > strict[method].radius


def test_a_run_of_several_methods_certifies_each_alone() -> None:
    alone = PLAN.replace(additional=("rescaled:0.4",), neyman_pearson=False)
    assert certify_votes(FULL, alone) == {"rescaled": certify_votes(FULL, PLAN)["rescaled"]}
    fixed = PLAN.replace(additional=("truncated:0.7",))
    assert certify_votes(FULL, fixed)["truncated"] == certify_votes(FULL, PLAN)["truncated"]
    plain = PLAN.replace(additional=())
    assert certify_votes(FULL, plain) == {"np": certify_votes(FULL, PLAN)["np"]}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (PLAN.replace(n=5000), "needs 5000 votes under P, but input 0 has 4000"),
        (PLAN.replace(sample_share=0.4), "needs 1600 votes of stream 'p1'"),
        (PLAN.replace(additional=("truncated:0.6",)), r"truncated:0.6 needs 2000 votes .* none"),
        (PLAN.replace(additional=("rescaled:0.3",)), r"q:rescaled \(2000 under rescaled:0.4\)"),
    ],
)
def test_missing_votes_are_named(plan: SamplingPlan, message: str) -> None:
    with pytest.raises(NotEnoughVotes, match=message):
        certify_votes(FULL, plan)


def test_a_method_outside_the_plan_is_refused() -> None:
    with pytest.raises(NotEnoughVotes, match="has the methods np, truncated, rescaled"):
        certify_method(FULL, PLAN, "other")


def test_the_fallback_uses_the_second_votes_under_p() -> None:
    sure = sampled(stream("p1", 2000, 2000), stream("p2", 1999, 2000))
    certificate = certify_votes(sure, PLAN.replace(fallback=True))["truncated"]
    # p^2000 Pr[Bin(2000, p) >= 1999] = alpha / 4.
    p = certificate.p.lower
    tail = p**2000 * (p**2000 + 2000 * p**1999 * (1 - p))
    assert tail == pytest.approx(0.00025, rel=1e-6)
    assert certificate.additional == ()
    with pytest.raises(NotEnoughVotes, match="truncated:heuristic needs 2000"):
        certify_votes(sure, PLAN)
    with pytest.raises(NotEnoughVotes, match="needs 2000 votes of stream 'p2'"):
        certify_method(sampled(stream("p1", 2000, 2000)), PLAN.replace(fallback=True), "truncated")


def test_a_stopped_input_is_abstained_on_whatever_the_alpha() -> None:
    stopped = sampled(stream("p1", 300, 1024), stopped=True)
    for alpha in (0.001, 0.9):
        for certificate in certify_votes(stopped, PLAN.replace(alpha=alpha)).values():
            assert certificate.status == "abstained"
            assert certificate.radius == 0


def test_no_votes_under_q_are_needed_without_a_majority() -> None:
    unsure = sampled(stream("p1", 1005, 2000), stream("p2", 990, 2000))
    for certificate in certify_votes(unsure, PLAN).values():
        assert certificate.status == "abstained"


def test_contradicting_intervals_abstain() -> None:
    # With Q truncated to 0.7 of the mass, Q_A = 0.1 leaves P_A at most 0.37: an interval is wrong.
    odd = sampled(
        stream("p1", 1900, 2000),
        stream("p2", 1900, 2000),
        stream("q:truncated", 200, 2000, Truncated(LAW, 0.7)),
    )
    certificate = certify_method(odd, PLAN, "truncated")
    assert certificate.status == "abstained"
    assert certificate.p == Interval(0.0, 1.0)


def test_sampled_votes_can_be_certified_again() -> None:
    classifier = Ball(LAW, float(LAW.radial_quantile(0.9)))
    seen = sample_input(classifier, np.zeros(30, np.float32), PLAN, 3)
    again = SampledInput.from_dict(seen.to_dict(), LAW)
    assert certify_votes(again, PLAN) == certify_votes(seen, PLAN)
    assert certify_votes(seen, PLAN)["truncated"].radius > 0

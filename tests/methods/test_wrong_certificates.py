"""How often certificates are wrong, on classifiers whose probabilities and radii are known.

Most runs draw the number of hits from its exact binomial law instead of making noise, which is the
same to everything after the classifier and a thousand times faster.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.certifying import sample_input
from dsrs.classifiers import Classifier
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan, certificates_of
from dsrs.proofs import Certificate
from dsrs.votes import Counts, SampledInput, Setting, VoteCollector, WorkUnit
from known_classifiers import Ball, Linear, margin_of, monte_carlo_slack

ALPHA = 0.2
METHODS = ("np", "truncated:heuristic", "rescaled:0.8x")
GAUSSIAN = GeneralizedGaussian(6, 0.5)
GENERAL = GeneralizedGaussian(20, 0.5, 6)


class ExactVotes(VoteCollector):
    """Binomial votes with the known probability of class 1, in place of noise and a model."""

    def __init__(self, seed: int) -> None:
        super().__init__(workers=1)
        self._generator = np.random.default_rng(seed)

    def collect(
        self,
        classifier: Classifier,
        x: NDArray[np.float32],
        setting: Setting,
        unit: WorkUnit,
    ) -> Counts:
        assert isinstance(classifier, (Linear, Ball))
        additional = unit.stream.additional
        if additional is None:
            probability = classifier.probability(unit.stream.base)
        else:
            probability = classifier.probability_under(additional)  # type: ignore[arg-type]
        trials = unit.stop - unit.first
        hits = int(self._generator.binomial(trials, probability))
        counts = Counts.zero(2)
        counts.votes[:, 0] = trials - hits, hits
        return counts


def is_wrong(certificate: Certificate, target: int, classifier: Linear | Ball) -> bool:
    # Class 0 is never the smoothed answer here, so every certificate for it is wrong.
    allowed = classifier.true_radius if target == 1 else 0.0
    return certificate.radius > allowed


def misses(certificate: Certificate, target: int, classifier: Linear | Ball) -> bool:
    """Whether some interval of the certificate misses its probability."""

    def outside(seen: object, probability: float) -> bool:
        probability = probability if target == 1 else 1 - probability
        return not seen.lower <= probability <= seen.upper  # type: ignore[attr-defined]

    return outside(certificate.known_of_p, classifier.probability(certificate.law)) or any(
        outside(each.interval, classifier.probability_under(each.law))  # type: ignore[arg-type]
        for each in certificate.observations
    )


def linear(probability: float) -> Linear:
    return Linear(6, margin_of(probability, 0.5))


def ball(probability: float) -> Ball:
    return Ball(GENERAL, float(GENERAL.radial_quantile(probability)))


STRATEGIES = {
    "plain": {},
    "early stop and fallback": {"fallback": True, "early_stop": True},
    "uneven": {"alpha_share": 0.3, "sample_share": 0.3, "fallback": True},
}
CLASSIFIERS: dict[str, Linear | Ball] = {
    "linear-0.53": linear(0.53),
    "linear-0.9995": linear(0.9995),
    "ball-0.7": ball(0.7),
    "ball-0.9995": ball(0.9995),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("runs", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_certificates_are_wrong_at_most_alpha_often(name: str, strategy: str, runs: int) -> None:
    classifier = CLASSIFIERS[name]
    law = GAUSSIAN if isinstance(classifier, Linear) else GENERAL
    # Few selection votes, so that the wrong class is often the one to certify.
    plan = Plan(
        law,
        METHODS,
        n=4000,
        n0=5,
        alpha=ALPHA,
        **STRATEGIES[strategy],  # type: ignore[arg-type]
    )
    wrong = dict.fromkeys(plan.names, 0)
    missed = dict.fromkeys(plan.names, 0)
    x = np.zeros(law.d, dtype=np.float32)
    with ExactVotes(seed=11) as collector:
        for index in range(runs):
            sampled = sample_input(classifier, x, plan, index, None, collector)
            assert sampled.target is not None
            for method, certificate in certificates_of(sampled, plan).items():
                wrong[method] += is_wrong(certificate, sampled.target, classifier)
                missed[method] += misses(certificate, sampled.target, classifier)
    allowed = ALPHA + monte_carlo_slack(ALPHA, runs)
    for method in wrong:
        assert wrong[method] / runs <= allowed, (method, wrong)
        assert missed[method] / runs <= allowed, (method, missed)
        # A wrong certificate needs an interval that missed: the converse would be a solver's error.
        assert wrong[method] <= missed[method]


def test_the_simulation_can_see_a_wrong_certificate() -> None:
    # Neyman-Pearson is sharp on a linear classifier: it is wrong as often as its bound is.
    classifier = linear(0.8)
    plan = Plan(GAUSSIAN, ("np",), n=4000, alpha=ALPHA)
    wrong = 0
    runs = 600
    with ExactVotes(seed=5) as collector:
        for index in range(runs):
            sampled = sample_input(classifier, np.zeros(6, np.float32), plan, index, 1, collector)
            wrong += is_wrong(certificates_of(sampled, plan)["np"], 1, classifier)
    assert ALPHA - 2 * monte_carlo_slack(ALPHA, runs) < wrong / runs
    assert wrong / runs <= ALPHA + monte_carlo_slack(ALPHA, runs)


@pytest.mark.parametrize("classifier", [linear(0.7), ball(0.8)], ids=["linear", "ball"])
def test_real_noise_is_wrong_at_most_alpha_often(classifier: Linear | Ball) -> None:
    law = GAUSSIAN if isinstance(classifier, Linear) else GENERAL
    plan = Plan(
        law,
        METHODS,
        n=1000,
        n0=9,
        alpha=ALPHA,
        fallback=True,
        early_stop=True,
    )
    runs = 20
    wrong = dict.fromkeys(plan.names, 0)
    x = np.zeros(law.d, dtype=np.float32)
    with VoteCollector(2) as collector:
        for index in range(runs):
            sampled = sample_input(classifier, x, plan, index, None, collector)
            assert sampled.target is not None
            for method, certificate in certificates_of(sampled, plan).items():
                wrong[method] += is_wrong(certificate, sampled.target, classifier)
    allowed = ALPHA + monte_carlo_slack(ALPHA, runs)
    assert all(count / runs <= allowed for count in wrong.values()), wrong


def test_real_votes_match_the_known_probabilities() -> None:
    plan = Plan(GAUSSIAN, ("np", "truncated:0.6", "truncated:0.9", "rescaled:0.8x"), n=60_000)
    classifier = linear(0.75)
    sampled = sample_input(classifier, np.zeros(6, np.float32), plan, 0, 1)
    _compare(sampled, classifier)
    general = plan.replace(law=GENERAL)
    _compare(sample_input(ball(0.5), np.zeros(20, np.float32), general, 0, 1), ball(0.5))


def _compare(sampled: SampledInput, classifier: Linear | Ball) -> None:
    law = GAUSSIAN if isinstance(classifier, Linear) else GENERAL
    for votes in sampled.votes:
        known = (
            classifier.probability(law)
            if votes.stream.additional is None
            else classifier.probability_under(votes.stream.additional)  # type: ignore[arg-type]
        )
        deviation = (known * (1 - known) / votes.total) ** 0.5
        assert abs(votes.successes / votes.total - known) <= 4 * deviation, votes.stream


@pytest.mark.parametrize("probability", [0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
def test_a_linear_classifier_is_certified_close_to_its_true_radius(probability: float) -> None:
    classifier = linear(probability)
    plan = Plan(GAUSSIAN, ("np",), n=100_000, alpha=0.001, grid=None)
    sampled = sample_input(classifier, np.zeros(6, np.float32), plan, 1, 1)
    radius = certificates_of(sampled, plan)["np"].radius
    assert 0.93 * classifier.true_radius < radius <= classifier.true_radius

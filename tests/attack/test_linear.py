"""A linear classifier, whose nearest counterexample is known: its margin."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.attack import AttackSettings, attack_input
from dsrs.certification import certify
from dsrs.laws import GeneralizedGaussian
from dsrs.records import Certificate, Interval
from known_classifiers import Linear

SIGMA = 0.5


def certificate(law: GeneralizedGaussian, probability: float = 0.6) -> Certificate:
    return certify(law, Interval(probability, 1.0))


@pytest.mark.parametrize(("margin", "budget"), [(1.0, 200_000), (1.5, 75_000), (3.0, 75_000)])
def test_a_linear_classifier_is_attacked_within_three_percent(margin: float, budget: int) -> None:
    """Margins in units of sigma, d = 48."""
    law = GeneralizedGaussian(48, SIGMA)
    classifier = Linear(48, margin * SIGMA)
    settings = AttackSettings(budget=budget, seed=3)
    found = attack_input(classifier, np.zeros(48, np.float32), 1, certificate(law), settings)
    assert found.attacked is not None
    assert 1 < found.attacked / (margin * SIGMA) < 1.03
    assert found.counterexample is not None
    assert found.counterexample.shown == "answer changed"
    assert found.votes <= budget

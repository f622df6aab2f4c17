"""Answers of a routed classifier are wrong at most alpha often: planted probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.classifiers.routed import RoutedModel
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.methods import Plan
from dsrs.smoothed.asking import Asked
from dsrs.smoothed.routed_answering import routed_answer
from dsrs.votes import Collector, Setting, WorkUnit
from dsrs.votes.tally import Counts
from routing import planted

ALPHA, TRIALS = 0.2, 300
LAW = GeneralizedGaussian(4, 0.5)


@dataclass
class Drawn(Collector):
    """Votes that are drawn: the probabilities of each answer, by the place of the classifier."""

    chances: list[list[float]]
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def collect(
        self, classifier: Classifier, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        votes = np.zeros((2, HISTOGRAM_BINS), dtype=np.int64)
        chances = self.chances[unit.stream.classifier]
        votes[:, 0] = self.generator.multinomial(unit.stop - unit.first, chances)
        return Counts(votes)


def answers(chances: list[list[float]]) -> list[int | None]:
    model = RoutedModel(planted.router(), LAW, [planted.expert()] * 2, (LAW, LAW))
    plan = Plan(LAW, ("np",), n0=256, alpha=ALPHA, batch=64, grid=None, experts=(LAW, LAW))
    asked = Asked(model, np.zeros(4, "f4"), plan, 0, 0, Drawn(chances))
    return [routed_answer(asked).label for _ in range(TRIALS)]


@pytest.mark.parametrize(
    ("router", "experts"),
    [
        # The true route is expert 0, which hardly answers class 0; expert 1 answers class 1.
        ([0.52, 0.48], [[0.52, 0.48], [0.0, 1.0]]),
        # The true route is expert 1, which hardly answers class 1, and expert 0 is often named.
        ([0.49, 0.51], [[1.0, 0.0], [0.49, 0.51]]),
        # All is clear but the route.
        ([0.49, 0.51], [[1.0, 0.0], [0.0, 1.0]]),
    ],
)
def test_answers_are_wrong_at_most_alpha_often(
    router: list[float], experts: list[list[float]]
) -> None:
    right = int(np.argmax(experts[int(np.argmax(router))]))
    wrong = sum(label not in (None, right) for label in answers([router, *experts])) / TRIALS
    assert wrong <= ALPHA + 3.1 * math.sqrt(ALPHA * (1 - ALPHA) / TRIALS)


def test_experts_that_agree_are_answered_whatever_the_router_says() -> None:
    assert answers([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]]).count(0) > 0.95 * TRIALS

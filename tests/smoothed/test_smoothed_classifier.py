"""The smoothed classifier as a newcomer uses it."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.smoothed import SmoothedClassifier, told_apart
from known_classifiers import Ball, Linear, margin_of

GAUSSIAN = GeneralizedGaussian(8, 0.5)
ORIGIN = np.zeros(8, dtype=np.float32)


@dataclass(frozen=True)
class Coin(Linear):
    """The sign of the last value: even odds at the origin."""

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return (batch[:, -1] > 0).astype(np.int64)


def test_predict_answers_or_abstains() -> None:
    sure = SmoothedClassifier(Linear(8, 0.5), GAUSSIAN).predict(ORIGIN)
    assert (sure.status, sure.label) == ("predicted", 1)
    assert sum(sure.counts) < 1000  # a clear class needs few
    unsure = SmoothedClassifier(Coin(8, 0.0), GAUSSIAN).predict(ORIGIN)
    assert (unsure.status, unsure.label) == ("abstained", None)


def test_predictions_are_wrong_at_most_alpha_often() -> None:
    # P_A = 0.52 for class 1, so class 0 is wrong; 60 votes make that easy at alpha = 0.3.
    classifier = Linear(8, margin_of(0.52, 0.5))
    wrong = predicted = 0
    for seed in range(200):
        smoothed = SmoothedClassifier(classifier, GAUSSIAN, seed=seed, workers=1)
        answer = smoothed.predict(ORIGIN, n=60, alpha=0.3)
        predicted += answer.status == "predicted"
        wrong += answer.label == 0
    assert 30 < predicted < 100
    assert wrong < 0.3 * 200


def test_certify_the_predicted_class_or_a_label() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.5), GAUSSIAN, n=10_000, seed=0)
    chosen = smoothed.certify(ORIGIN)
    assert chosen.status == "certified"
    assert 0.4 < chosen.radius <= 0.5
    assert smoothed.certify(ORIGIN, label=1).radius == chosen.radius
    assert smoothed.certify(ORIGIN, label=0).status == "abstained"


def test_double_sampling_beats_neyman_pearson_on_a_ball() -> None:
    law = GeneralizedGaussian(200, 0.5, 90)
    classifier = Ball(law, float(law.radial_quantile(0.9)))
    x = np.zeros(200, dtype=np.float32)
    plain = SmoothedClassifier(classifier, law, n=20_000, method="np", seed=0).certify(x)
    double = SmoothedClassifier(classifier, law, n=20_000, seed=0).certify(x)
    assert not plain.observations
    assert double.observations
    assert double.radius > 1.1 * plain.radius
    assert double.radius <= classifier.true_radius


def test_the_same_seed_gives_the_same_answer_on_any_number_of_workers() -> None:
    answers = [
        SmoothedClassifier(Linear(8, 0.3), GAUSSIAN, n=3000, seed=0, workers=workers).certify(
            ORIGIN
        )
        for workers in (1, 2, 5)
    ]
    assert answers[0] == answers[1] == answers[2]
    other = SmoothedClassifier(Linear(8, 0.3), GAUSSIAN, n=3000, seed=1).certify(ORIGIN)
    assert other != answers[0]


def test_with_a_seed_the_index_chooses_the_noise() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.3), GAUSSIAN, n=3000, seed=0)
    assert smoothed.sample(ORIGIN).votes == smoothed.sample(ORIGIN, index=0).votes
    assert smoothed.sample(ORIGIN).votes != smoothed.sample(ORIGIN, index=1).votes
    assert smoothed.predict(ORIGIN, index=1).counts != smoothed.predict(ORIGIN).counts


def test_wrong_inputs_are_refused() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.3), GAUSSIAN)
    for bad in (np.zeros(7, np.float32), np.zeros(0, np.float32), np.full(8, np.nan)):
        with pytest.raises(DataError):
            smoothed.predict(bad)
        with pytest.raises(DataError):
            smoothed.certify(bad)


@pytest.mark.parametrize(
    ("variation", "votes"), [(8e-6, 10**6), (1e-3, 1000), (1e-3, 10**5), (1e-3, 10**6)]
)
def test_votes_that_stray_do_not_name_a_class_that_only_ties(variation: float, votes: int) -> None:
    """Two classes tie under ideal noise, and all that strays goes to the first."""
    alpha = 0.001

    def fewest(variation: float) -> int:
        """Votes that name the first class."""
        return bisect.bisect_left(
            range(votes),
            True,
            lo=votes // 2,
            key=lambda best: told_apart(np.array([best, votes - best]), alpha, variation) == 0,
        )

    named = fewest(variation)
    assert stats.binom.sf(named - 1, votes, 0.5 + variation) <= alpha / 2
    # It costs no more than the votes that may stray.
    most = 3 + variation * votes + 5 * (variation * votes) ** 0.5
    assert fewest(0.0) <= named <= fewest(0.0) + most


def test_a_label_may_be_an_integer_of_any_library() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    smoothed = SmoothedClassifier(Linear(8, 0.4), GAUSSIAN, n=500, seed=3)
    plain = smoothed.certify(ORIGIN, 1)
    assert smoothed.certify(ORIGIN, torch.tensor(1)) == plain
    assert smoothed.certify(ORIGIN, np.int64(1)) == plain
    for label in (torch.tensor(1.0), True, 1.0, "1", torch.tensor([0, 1])):
        with pytest.raises(DataError, match="must be a class from 0 to 1, a whole number"):
            smoothed.certify(ORIGIN, label)


def test_a_misspelt_option_is_named() -> None:
    with pytest.raises(InvalidInput, match="no option `N`; did you mean `n`"):
        SmoothedClassifier(Linear(8, 0.4), GAUSSIAN, N=1000)
    with pytest.raises(InvalidInput, match="no option `zebra`; the options are method"):
        SmoothedClassifier(Linear(8, 0.4), GAUSSIAN, zebra=1)


def test_what_is_no_classifier_is_told_how_to_become_one() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    sklearn = pytest.importorskip("sklearn.linear_model", reason="needs the extra `sklearn`")
    estimator = sklearn.LogisticRegression().fit([[0.0], [1.0]], [0, 1])

    class Structural:
        def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
            return np.zeros(len(batch), np.int64)

    for model, way in [
        (torch.nn.Linear(8, 2), r"got Linear; .*from_torch\(model\.eval\(\), input_shape\)"),
        (estimator, r"got LogisticRegression; .*from_sklearn\(model\)"),
        (Structural(), r"let Structural inherit from dsrs\.classifiers\.Classifier"),
        (lambda batch: batch, r"from_callable\(model, input_shape\)"),
        ("net.onnx", r"load_classifier\(name\)"),
    ]:
        with pytest.raises(InvalidInput, match=way):
            SmoothedClassifier(model, GAUSSIAN)

"""The door for scores: what models say of all classes, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.classifiers import from_callable, from_sklearn, normalised
from dsrs.errors import ClassifierError, NoScores

BATCH = np.array([[0.25, 0.5], [1.0, 0.0]], dtype=np.float32)


def test_logits_are_scores() -> None:
    model = from_callable(lambda batch: 2 * batch, (2,))
    scores = model.scores(BATCH)
    assert scores.dtype == np.float64
    assert np.array_equal(scores, 2 * BATCH)


def test_a_normalised_model_keeps_its_scores() -> None:
    inner = from_callable(lambda batch: batch, (2,), bounds=(0.0, 1.0))
    model = normalised(inner, (0.5,), (0.25,), (0.0, 1.0))
    assert np.array_equal(model.scores(BATCH), (BATCH - 0.5) / 0.25)


def test_class_ids_are_no_scores() -> None:
    model = from_callable(lambda batch: np.zeros(len(batch), int), (2,), 2)
    for refused in (model, normalised(model, (0.0,), (2.0,), (0.0, 1.0))):
        with pytest.raises(NoScores, match="returns classes only"):
            refused.scores(BATCH)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_are_numbers(wrong: float) -> None:
    model = from_callable(
        lambda batch: np.where(batch == 0, wrong, batch), (2,), 2, fingerprint="f"
    )
    with pytest.raises(ClassifierError, match="finite"):
        model.scores(BATCH)
    certain = from_callable(
        lambda batch: np.where(batch == 0, -np.inf, batch), (2,), 2, fingerprint="f"
    )
    assert certain.scores(BATCH)[1, 1] == -np.inf


def test_an_estimator_gives_its_probabilities() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs the extra `sklearn`")
    x = np.random.default_rng(0).uniform(size=(60, 2))
    y = np.where(x[:, 0] > 0.5, 3, 1)  # classes 1 and 3 of four
    estimator = linear_model.LogisticRegression().fit(x, y)
    model = from_sklearn(estimator)
    scores = model.scores(BATCH)
    assert scores.shape == (2, 4)
    assert np.allclose(scores[:, [1, 3]], estimator.predict_proba(BATCH))
    assert not scores[:, [0, 2]].any()
    margin = linear_model.RidgeClassifier().fit(x, y)
    with pytest.raises(NoScores, match="predict_proba"):
        from_sklearn(margin).scores(BATCH)

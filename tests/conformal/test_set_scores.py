"""Scores of classes, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.conformal import SCORES, kind_of_outputs, log_probabilities, score_named
from dsrs.errors import InvalidInput

LOGITS = np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-np.inf, 3.0, 3.0]])
UNIFORMS = np.array([0.25, 0.5, 0.75])


def probabilities(row: np.ndarray) -> np.ndarray:
    weights = np.exp(row)
    return np.asarray(weights / weights.sum())


def test_the_threshold_score_is_what_the_class_lacks() -> None:
    found = SCORES["threshold"].of(log_probabilities(LOGITS, "logits"), UNIFORMS)
    for row, logits in zip(found, LOGITS, strict=True):
        assert row == pytest.approx(1 - probabilities(logits), abs=1e-15)


def test_the_adaptive_score_adds_up_likelier_classes() -> None:
    found = SCORES["adaptive"].of(log_probabilities(LOGITS, "logits"), UNIFORMS)
    for row, logits, u in zip(found, LOGITS, UNIFORMS, strict=True):
        p = probabilities(logits)
        for y in range(3):
            # Among equals the lower number comes first.
            likelier = [j for j in range(3) if p[j] > p[y] or (p[j] == p[y] and j < y)]
            assert row[y] == pytest.approx(sum(p[likelier]) + u * p[y], abs=1e-15)


def test_a_confident_model_keeps_its_digits() -> None:
    logs = log_probabilities(np.array([[60.0, 0.0]]), "logits")
    assert SCORES["threshold"].of(logs, np.zeros(1))[0, 0] == pytest.approx(np.exp(-60), rel=1e-12)


def test_probabilities_are_told_from_logits() -> None:
    assert kind_of_outputs(np.array([[0.2, 0.8], [1.0, 0.0]])) == "probabilities"
    assert kind_of_outputs(np.array([[0.2, 0.9], [1.0, 0.0]])) == "logits"
    assert kind_of_outputs(np.array([[-1.0, 2.0]])) == "logits"
    logs = log_probabilities(np.array([[0.25, 0.75, 0.0]]), "probabilities")
    assert np.exp(logs[0]) == pytest.approx([0.25, 0.75, 0.0])


def test_an_unknown_score_is_named() -> None:
    with pytest.raises(InvalidInput, match="threshold, adaptive, got 'margin'"):
        score_named("margin")

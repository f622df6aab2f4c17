"""Scores of classes: how little a model believes in each, from its answer to one noisy input.

A set holds the classes whose score is the threshold or less. Any function of the noisy input, the
class and a uniform number of its own serves; the guarantee does not depend on it, the size of the
sets does. A new score is a line in SCORES, or `register`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]
Outputs = Literal["logits", "probabilities"]

SUM_TOLERANCE = 1e-3  # of probabilities that add up to 1 in float16


@dataclass(frozen=True, slots=True)
class Score:
    """A score of every class.

    Args:
        title: what it is, in a line.
        of: from the logarithms of probabilities (rows, classes) and a uniform number for each row,
            the scores (rows, classes).
    """

    title: str
    of: Callable[[Floats, Floats], Floats]


def threshold_score(logs: Floats, uniforms: Floats) -> Floats:
    """1 - p: the smallest sets on average (Sadinle, Lei and Wasserman 2019)."""
    return -np.expm1(logs)


def adaptive_score(logs: Floats, uniforms: Floats) -> Floats:
    """The probability of all likelier classes, and a random part of its own (APS).

    Sets are larger where the model is unsure (Romano, Sesia and Candes 2020). Of equally likely
    classes the one of the lower number comes first.
    """
    p = np.exp(logs)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    found = np.empty_like(p)
    np.put_along_axis(found, order, before + uniforms[:, None] * ranked, axis=1)
    return found


SCORES: dict[str, Score] = {
    "threshold": Score("1 - p of the class: the smallest sets on average", threshold_score),
    "adaptive": Score(
        "the p of all likelier classes and a random part of its own (APS): sets that grow where "
        "the model is unsure",
        adaptive_score,
    ),
}


def register(name: str, score: Score) -> None:
    """Make a score of another package known to `calibrate`, `predict` and the command line."""
    if name in SCORES:
        raise InvalidInput(f"there is a score {name!r} already")
    SCORES[name] = score


def score_named(name: str) -> Score:
    """The score of this name, or InvalidInput."""
    if name not in SCORES:
        raise InvalidInput(f"`score` must be one of {', '.join(SCORES)}, got {name!r}")
    return SCORES[name]


def kind_of_outputs(answers: Floats) -> Outputs:
    """What a model seems to return: rows of numbers from 0 to 1 that add up to 1, or logits.

    A wrong guess costs size of the sets and no coverage, as it is made once, before calibration.
    """
    inside = bool(((answers >= 0) & (answers <= 1)).all())
    whole = inside and bool((np.abs(answers.sum(axis=1) - 1) <= SUM_TOLERANCE).all())
    return "probabilities" if whole else "logits"


def log_probabilities(answers: Floats, outputs: Outputs) -> Floats:
    """The logarithms of the probabilities that a model gives to the classes."""
    if outputs == "logits":
        return np.asarray(special.log_softmax(answers, axis=1))
    with np.errstate(divide="ignore"):
        return np.log(np.clip(answers, 0.0, 1.0))

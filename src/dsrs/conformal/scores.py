"""Scores of classes: how little a model believes in each, from its answer to one noisy input.

A set holds the classes whose score is the threshold or less. Any function of the noisy input, the
class and a uniform number of its own serves; the guarantee does not depend on it, the size of the
sets does. A new score is an entry of SCORES, or `register`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.classifiers import Classifier, answer_of
from dsrs.errors import InvalidInput, NotAFunction
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.noise import NOISE_BLOCK, NoiseStream, Stream

Floats = NDArray[np.float64]
Outputs = Literal["logits", "probabilities"]

# ---- Scores

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


# ---- One noisy query of a model: the scores of all classes, as calibration and answers take them

CALIBRATION, ANSWER, TUNING, PROBE = "set-calibration", "set-answer", "set-tuning", "set-probe"
PURPOSES = (CALIBRATION, ANSWER, TUNING, PROBE)
PROBES = 8  # noisy rows that tell one rounding of a model from another


@dataclass(frozen=True, slots=True)
class Query:
    """How a model is asked: all of it is part of the score function, in calibration and answers.

    Args:
        law: the noise.
        grid: what inputs and noise are rounded to; None adds them in float32.
        score: the name of the score.
        outputs: whether the model returns logits or probabilities.
        batch: rows of every forward pass, always full, since a model's rounding may depend on it.
    """

    law: GeneralizedGaussian
    grid: Grid | None
    score: str
    outputs: Outputs
    batch: int = 1

    def scores(
        self, classifier: Classifier, x: NDArray[np.float32], draws: int, key: tuple[str, int, int]
    ) -> Floats:
        """The scores (draws, classes) of x under so many draws of noise.

        Args:
            classifier: the model.
            x: the input.
            draws: how many noisy copies.
            key: purpose, seed and index, which name the noise and the uniform numbers.
        """
        logs = self.log_probabilities(classifier, x, draws, key)
        uniforms, score = uniform_numbers(draws, key), score_named(self.score)
        # One row at a time: sums and exponentials of arrays may round by their shape.
        rows = [score.of(logs[i : i + 1], uniforms[i : i + 1]) for i in range(draws)]
        return np.concatenate(rows)

    def log_probabilities(
        self, classifier: Classifier, x: NDArray[np.float32], draws: int, key: tuple[str, int, int]
    ) -> Floats:
        """The logarithms of the model's probabilities (draws, classes); see `scores`."""
        purpose, seed, index = key
        flat = np.ascontiguousarray(x, dtype=np.float32).ravel()
        stream = NoiseStream(Stream(purpose, self.law), seed, index, self.grid)
        found = np.empty((draws, classifier.num_classes))
        for first in range(0, draws, NOISE_BLOCK):
            rows = min(NOISE_BLOCK, draws - first)
            noisy, norms = np.empty((rows, flat.size), dtype=np.float32), np.empty(rows)
            stream.add_to(flat, first, noisy, norms)
            found[first : first + rows] = self.answers(classifier, noisy.reshape(-1, *x.shape))
        return np.concatenate([log_probabilities(row[None], self.outputs) for row in found])

    def answers(self, classifier: Classifier, rows: NDArray[np.float32]) -> Floats:
        """What the model returns for these rows, asked in full passes of `batch` rows."""
        parts = []
        for first in range(0, len(rows), self.batch):
            part = rows[first : first + self.batch]
            missing = self.batch - len(part)
            if missing:
                part = np.concatenate([part, np.repeat(part[-1:], missing, axis=0)])
            answer = answer_of(classifier.scores, part, classifier.description)
            parts.append(answer[: self.batch - missing])
        return np.concatenate(parts)


def uniform_numbers(draws: int, key: tuple[str, int, int]) -> Floats:
    """A uniform number for each draw, independent of its noise."""
    purpose, seed, index = key
    entropy = np.random.SeedSequence(seed, spawn_key=(index, PURPOSES.index(purpose)))
    return np.random.Generator(np.random.Philox(entropy)).random(draws)


def probe_answers(classifier: Classifier, query: Query) -> Floats:
    """What the model returns for a few inputs that are always the same.

    They tell a model from one of another precision, engine or device, which has the same name.
    """
    lower, upper = classifier.bounds
    middle = np.full(classifier.input_shape, (lower + upper) / 2, dtype=np.float32)
    noise = np.random.default_rng(2).uniform(lower, upper, (PROBES, *middle.shape))
    return query.answers(classifier, (0.5 * (middle + noise)).astype(np.float32))


def refuse_unless_row_by_row(classifier: Classifier, x: NDArray[np.float32], query: Query) -> None:
    """Raise NotAFunction unless a row has one answer, bit for bit, whenever and in any place.

    Scores are compared to the last bit, since a threshold may be any of them. Whether classes
    depend on other rows is what `classifiers.function_check` tries.
    """
    noise = np.random.default_rng(0).standard_normal((8, *x.shape), dtype=np.float32)
    rows = x + np.float32(query.law.sigma) * noise
    first = query.answers(classifier, rows)
    again = query.answers(classifier, np.concatenate([rows[1:], rows[:1]]))
    if not np.array_equal(first[1:], again[:-1]) or not np.array_equal(first[0], again[-1]):
        advice = " or --batch-size 1" if query.batch > 1 else ""
        raise NotAFunction(
            "expected the same scores for the same row, but some rows got others when they were "
            f"asked again{' in another place' if query.batch > 1 else ''}; use the model in "
            f"inference mode, with deterministic operations{advice} ({classifier.description})"
        )

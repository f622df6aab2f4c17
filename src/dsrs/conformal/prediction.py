"""Answer with a set of classes, from one noisy query of the model."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.certifying import (
    Compared,
    checked_index,
    checked_input,
    compare_served,
    facts_of_model,
    refuse_other,
)
from dsrs.classifiers import Classifier, checked_classifier
from dsrs.conformal.queries import ANSWER, probe_answers
from dsrs.conformal.sets import Sets
from dsrs.errors import DataError
from dsrs.methods import Plan
from dsrs.noise import check_seed, fresh_seed

# Of the largest answer: sums in another order differ by less, another precision by more.
ANSWER_ROUNDING = 1e-4
BIT_FOR_BIT = "the same, bit for bit"
LOG = logging.getLogger("dsrs.counting")


@dataclass(frozen=True, slots=True)
class PredictionSet:
    """The classes that an input may have.

    The set holds the true class with the coverage of its `Sets`: on average over inputs,
    calibration sets and noise, not for each single input. It may be empty.

    Args:
        classes: those in the set, the likeliest first by their share of the draws, then by score.
        shares: for each class of the model, in how many of the draws its score was within the
            threshold.
        draws: how many noisy queries were made.
        seed: of the noise, so that the answer can be had again.
        seed_public: whether the seed was known before the input was; then a stranger who chose the
            input knew its noise, and nothing is promised (docs/security.md).
    """

    classes: tuple[int, ...]
    shares: tuple[int, ...]
    draws: int
    seed: int
    seed_public: bool

    def __contains__(self, label: object) -> bool:
        return label in self.classes

    def __len__(self) -> int:
        return len(self.classes)


class SetPredictor:
    """Answers with prediction sets.

        sets = dsrs.conformal.Sets.load("sets.json")
        predictor = dsrs.conformal.SetPredictor(classifier, sets)
        predictor.predict(x).classes

    A set holds the true class with probability `sets.coverage` or more, although x may have been
    moved by up to `sets.radius`: this holds on average over inputs, calibration sets and noise, not
    for each single input. The noise of each answer is drawn after the input has arrived; one that
    is fixed by the input, or known before, could be tried out (docs/security.md).

    Args:
        classifier: the model that the sets were calibrated with; any other raises OtherModel.
        sets: the sets.
        seed: for experiments: the same seed and index give the same answer.
        device: where the model runs.
    """

    def __init__(
        self, classifier: Classifier, sets: Sets, *, seed: int | None = None, device: str = "cpu"
    ) -> None:
        self.classifier = checked_classifier(classifier)
        self.sets = sets
        if seed is not None:
            check_seed(seed)
        self._seed = seed
        compared = compare_sets(sets, classifier, device)
        refuse_other(compared, "the file of prediction sets")
        if compared[-1].served != BIT_FOR_BIT:
            LOG.warning(
                "the model rounds otherwise than in calibration (%s): what is promised is of the "
                "other rounding; calibrate here to be exact",
                compared[-1].served,
            )
        grid = None if sets.grid is None else sets.grid.grid
        self._plan = Plan(sets.law, ("np",), grid=grid)

    @property
    def seed_public(self) -> bool:
        """Whether the noise can be known before the input is: for experiments."""
        return self._seed is not None

    def predict(self, x: ArrayLike, *, index: int | None = None) -> PredictionSet:
        """The set of x, from `sets.draws` noisy queries.

        Raises DataError for an input that is not a point of the grid, if the sets are for those.
        """
        scores, seed = self.scores(x, index)
        return PredictionSet(
            *set_of(scores, self.sets.threshold), len(scores), seed, self.seed_public
        )

    def scores(self, x: ArrayLike, index: int | None) -> tuple[NDArray[np.float64], int]:
        """The scores (draws, classes) of x under fresh noise, and the seed of the noise."""
        image = self.accepted(x, index)
        seed = fresh_seed() if self._seed is None else self._seed  # after the input has arrived
        key = (ANSWER, seed, checked_index(index))
        return self.sets.query.scores(self.classifier, image, self.sets.draws, key), seed

    def accepted(self, x: ArrayLike, index: int | None) -> NDArray[np.float32]:
        """The input as the model takes it, or an error that says what does not fit."""
        image, grid = checked_input(self.classifier, x, self._plan, index), self.sets.grid
        if grid is not None:
            moved = grid.grid.distance(np.asarray(x))
            if moved > grid.aside:
                raise DataError(
                    f"{'the input' if index is None else f'input {index}'} lies {moved:.3g} (l2) "
                    f"from the nearest point of the grid ({grid.grid.text}), and these sets allow "
                    f"{grid.aside:.3g}; calibrate with --off-grid (`off_grid=True`) for inputs "
                    "that lie anywhere"
                )
        return image


def set_of(
    scores: NDArray[np.float64], threshold: float
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The classes within the threshold in more than half of the draws, and the number of draws."""
    shares = (scores <= threshold).sum(axis=0)
    inside = np.flatnonzero(2 * shares > len(scores))
    order = np.lexsort((scores.mean(axis=0)[inside], -shares[inside]))
    return tuple(inside[order].tolist()), tuple(shares.tolist())


def facts_of_sets(sets: Sets) -> dict[str, Any]:
    """What prediction sets are about."""
    model, grid = sets.model, sets.grid
    return {
        "fingerprint": model.fingerprint,
        "input_shape": list(model.input_shape),
        "bounds": list(model.bounds),
        "num_classes": model.num_classes,
        "device": model.device,
        "law": sets.law.to_dict(),
        "grid": None if grid is None else grid.grid.to_dict(),
    }


def compare_sets(sets: Sets, classifier: Classifier, device: str = "cpu") -> list[Compared]:
    """The facts of prediction sets beside those of the model that is served, and its precision."""
    found = compare_served(facts_of_sets(sets), facts_of_model(classifier, device))
    if all(one.same for one in found if one.name in ("input_shape", "num_classes", "bounds")):
        found.append(_precision(sets, classifier))
    return found


def _precision(sets: Sets, classifier: Classifier) -> Compared:
    """Whether the model answers fixed inputs as it did in calibration, but for rounding."""
    kept = np.array(sets.model.probes)
    now = probe_answers(classifier, sets.query)
    quoted = f"answers to {len(kept)} fixed inputs"
    if kept.shape != now.shape:
        return Compared("precision", quoted, "other numbers of answers", same=False)
    if np.array_equal(kept, now):
        return Compared("precision", quoted, BIT_FOR_BIT, same=True)
    finite = np.isfinite(kept) & np.isfinite(now)
    scale = max(float(np.abs(kept[finite]).max(initial=0.0)), np.finfo(np.float64).tiny)
    away = float(np.abs(kept - now)[finite].max(initial=0.0)) / scale
    alike = np.array_equal(kept[~finite], now[~finite]) and away <= ANSWER_ROUNDING
    return Compared("precision", quoted, f"off by {away:.1g} of the largest", same=alike)

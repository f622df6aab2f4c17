"""Calibrated prediction sets: the record of what is promised, and answers with sets of classes."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

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
from dsrs.conformal.level import ShiftProof, coverage_of_one, level_of, rank_for
from dsrs.conformal.scores import ANSWER, Outputs, Query, probe_answers, score_named
from dsrs.errors import DataError, InvalidInput
from dsrs.files import from_json, record_to_json, shown, write_whole
from dsrs.laws import WITHOUT_GRID, GeneralizedGaussian, Grid, smoothing_law_from_dict
from dsrs.methods import Plan
from dsrs.noise import check_seed, fresh_seed

# ---- The record: what is promised, its proof, and what it is about

SETS_KIND, SETS_FORMAT = "prediction sets", 1
# In every output, page and docstring, as it stands or spelled out by `Sets.guarantee`.
MARGINAL = "it holds on average over inputs, calibration sets and noise, not for each single input"
BESIDE = ("kind", "format", "guarantee")


@dataclass(frozen=True, slots=True)
class SetGrid:
    """What inputs and noise are rounded to, and what is allowed for it.

    Args:
        step: of the grid.
        origin: where the grid begins.
        variation: how far sampled noise may be from the law's, in total variation.
        aside: how far (l2) an input, clean or moved, may lie from its grid point.
    """

    step: float
    origin: float
    variation: float
    aside: float

    @property
    def grid(self) -> Grid:
        """The grid itself."""
        return Grid(self.step, self.origin)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scores of the true classes of calibration inputs, one for each draw of noise.

    Args:
        inputs: the number of inputs.
        draws: draws of noise for each.
        scores: of the true class, the draws of the first input first.
        rank: which of the sorted scores is the threshold; beyond the last it is infinite.
        seed: of the noise, which may be public (docs/conformal.md).
        data: the name of the data.
        data_fingerprint: a hash of the data.
        indices: which inputs of the data.
    """

    inputs: int
    draws: int
    scores: tuple[float, ...]
    rank: int
    seed: int
    data: str
    data_fingerprint: str
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetModel:
    """The model that the sets are about.

    Args:
        fingerprint: of the model.
        description: for people.
        input_shape: of one input.
        bounds: the least and the greatest value of an input.
        num_classes: how many classes there are.
        device: the kind of device that it runs on.
        probes: its answers to fixed inputs, which tell another precision or rounding.
    """

    fingerprint: str
    description: str
    input_shape: tuple[int, ...]
    bounds: tuple[float, ...]
    num_classes: int
    device: str
    probes: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Sets:
    """Prediction sets that are calibrated: all that an answer needs, with its proof.

    A set holds the true class of a new input with probability `coverage` or more, although the
    input may have been moved by up to `radius`: it holds on average over inputs, calibration sets
    and noise, not for each single input. With `confidence` it holds for this calibration set, on
    average over inputs and noise, unless the calibration set was one of an unlucky 1 - confidence.

    Args:
        coverage: 1 - a.
        radius: how far (l2) every input may have been moved before its noise was drawn.
        law: the noise.
        level: 1 - a', the coverage of clean sets that calibration is for.
        proof: why clean coverage of `level` leaves `coverage` under shifts.
        threshold: the largest score of a class in a set; infinity puts all classes into it.
        score: the name of the score.
        outputs: whether the model returns logits or probabilities.
        batch: rows of every forward pass.
        draws: sets of which an answer is the majority.
        confidence: see above; None for coverage on average over calibration sets.
        grid: what inputs and noise are rounded to; None: noise was added in float32.
        calibration: the scores that the threshold is from.
        model: what the sets are about.
    """

    coverage: float
    radius: float
    law: GeneralizedGaussian
    level: float
    proof: ShiftProof
    threshold: float
    score: str
    outputs: Outputs
    batch: int
    draws: int
    confidence: float | None
    grid: SetGrid | None
    calibration: Calibration
    model: SetModel

    kind: ClassVar[str] = SETS_KIND

    def __post_init__(self) -> None:
        score_named(self.score)
        check_seed(self.calibration.seed)
        for name, value, least in (
            ("batch", self.batch, 1),
            ("draws", self.draws, 1),
            ("inputs", self.calibration.inputs, 1),
            ("draws", self.calibration.draws, 1),
            ("rank", self.calibration.rank, 0),
        ):
            if value < least:
                raise InvalidInput(f"`{name}` must be at least {least}, got {value}")
        proof, grid = self.proof, self.grid
        for name, sound in (
            ("coverage", 0 < self.coverage < 1),
            ("radius", 0 <= self.radius < math.inf),
            ("level", 0 <= self.level <= 1),
            ("proof", 0 <= proof.radius < math.inf and 0 < proof.multiplier < math.inf),
            ("proof", 0 <= proof.overlap <= 1),
            ("grid", grid is None or (0 <= grid.variation <= 1 and 0 <= grid.aside < math.inf)),
        ):
            if not sound:
                got = shown(getattr(self, name))
                raise InvalidInput(f"`{name}` is out of its range, got {got}")
        scores, rank = self.calibration.scores, self.calibration.rank
        if len(scores) != self.calibration.inputs * self.calibration.draws:
            raise InvalidInput(f"`scores` must hold inputs times draws, got {len(scores)}")
        due = threshold_of(scores, rank)
        if self.threshold < due:
            raise InvalidInput(f"`threshold` must be the score of rank {rank}, {due!r}, or more")
        self._refuse_unless_it_follows()

    def _refuse_unless_it_follows(self) -> None:
        """Raise InvalidInput unless level and rank follow from the promise and the proof.

        The overlap of the proof is taken as given here; the checker of `dsrs check` encloses it.
        """
        grid, counted = self.grid, self.calibration
        allowed = (0.0, 0.0) if grid is None else (grid.variation, grid.aside)
        least = Fraction(self.radius) + 2 * Fraction(allowed[1])
        if Fraction(self.proof.radius) < least:
            raise InvalidInput(f"`proof.radius` must be {float(least)!r} or more")
        one = coverage_of_one(self.coverage, self.draws)
        if self.level < level_of(self.proof, one, allowed[0]):
            raise InvalidInput("`level` must not be less than its proof asks for")
        if counted.rank < rank_for(self.level, counted.inputs, counted.draws, self.confidence):
            raise InvalidInput("`rank` must not be less than the level asks for")

    @property
    def query(self) -> Query:
        """How the model is asked."""
        grid = None if self.grid is None else self.grid.grid
        return Query(self.law, grid, self.score, self.outputs, self.batch)

    @property
    def says_nothing(self) -> bool:
        """Whether every set holds all classes."""
        return math.isinf(self.threshold)

    @property
    def guarantee(self) -> str:
        """What is promised, in a sentence for people; no digit of a number is cut."""
        moved = f", although the input may have been moved by up to {float(self.radius)!r} (l2)"
        where = moved if self.radius else ""
        text = (
            f"the set of a new input holds its true class with probability {float(self.coverage)!r}"
            f" or more{where}; "
        )
        if self.confidence is None:
            return text + MARGINAL
        unlucky = f"{100 * (1 - self.confidence):g}%"
        return (
            f"{text}it holds on average over inputs and noise, not for each single input, and for "
            f"this calibration set except if it is one of an unlucky {unlucky}"
        )

    @property
    def caveats(self) -> list[str]:
        """What a reader must know beside the guarantee."""
        return [WITHOUT_GRID] if self.grid is None else []

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        head = {"kind": SETS_KIND, "format": SETS_FORMAT, "guarantee": self.guarantee}
        fields: dict[str, Any] = record_to_json(self)
        return head | fields

    @classmethod
    def from_dict(cls, fields: Any) -> Sets:
        """The sets that `to_dict` was made from; whatever else it is raises `DataError`."""
        if not isinstance(fields, dict) or fields.get("kind") != SETS_KIND:
            raise DataError("this is not a file of `dsrs conformal calibrate`")
        if fields.get("format") != SETS_FORMAT:
            raise DataError(
                f"this version of dsrs reads prediction sets of format {SETS_FORMAT}, got "
                f"{shown(fields.get('format'))}"
            )
        try:
            return from_json(cls, fields, {GeneralizedGaussian: smoothing_law_from_dict}, BESIDE)
        except InvalidInput as error:
            raise DataError(f"these are not prediction sets: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the sets as a JSON file, whole or not at all."""
        write_whole(Path(path), (json.dumps(self.to_dict(), allow_nan=False) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Sets:
        """The sets of a file that `save` wrote. `dsrs check FILE` proves what it says."""
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{path} cannot be read as prediction sets: {error}") from None
        try:
            return cls.from_dict(fields)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def threshold_of(scores: tuple[float, ...], rank: int) -> float:
    """The score of this rank, 1 for the least; -infinity for rank 0, infinity beyond the last."""
    if rank == 0:
        return -math.inf
    return sorted(scores)[rank - 1] if rank <= len(scores) else math.inf


# ---- Answers: a set of classes from one noisy query of the model

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

"""The ways to help a model, one function each: what it makes of the model, and behind what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import Candidate
from dsrs.classifiers import Classifier, denoised, denoiser_from, from_onnx
from dsrs.classifiers.batch_statistics import with_statistics
from dsrs.classifiers.callable import CallableClassifier
from dsrs.datasets.dataset import Dataset
from dsrs.errors import ClassifierError

STATISTICS_ROWS, STATISTICS_BATCH = 512, 64
# Statistics are for somewhat more noise than was best before, which they make bearable.
MORE_NOISE = 1.25


@dataclass(frozen=True)
class Situation:
    """What a way has to work with.

    Attributes:
        model: the model as it is.
        unlabelled: inputs that are not reported, to estimate or to learn from.
        rows: which of them.
        before: the candidates so far, the model as it is first.
        folder: where a way may keep files.
        seed: of its noise.
    """

    model: Classifier
    unlabelled: Dataset
    rows: Sequence[int]
    before: Sequence[Candidate]
    folder: Path
    seed: int = 0
    options: dict[str, object] = field(default_factory=dict)

    @property
    def best(self) -> Candidate:
        """The best candidate so far."""
        return max(self.before, key=lambda each: each.value)


# The model with what was done to it, and the denoiser that it stands behind.
Made = tuple[Classifier, str | None]
Way = Callable[[Situation], Made]


def behind(name: str) -> Way:
    """The way that puts the denoiser of this name in front of the model."""

    def way(situation: Situation) -> Made:
        model = situation.model
        return denoised(model, denoiser_from(name, model.input_shape, model.bounds)), name

    return way


def statistics(situation: Situation) -> Made:
    """Batch-norm statistics under the noise, and behind the denoiser, of the best so far."""
    model, best = situation.model, situation.best
    if not isinstance(model, CallableClassifier) or model.graph is None:
        raise ClassifierError(
            "statistics can be estimated in ONNX models and in PyTorch modules that can be "
            f"exported, not in {model.description}"
        )
    sigma = MORE_NOISE * best.choice.law.sigma
    name = best.denoiser
    denoiser = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    clean, noisy = [], []
    for images, noise in _noisy_batches(situation, sigma):
        clean.append(images)
        noisy.append(noise if denoiser is None else denoiser.rows(noise))
    made: Classifier = from_onnx(
        with_statistics(model.graph(), noisy, clean),
        input_shape=model.input_shape,
        num_classes=model.num_classes,
        bounds=model.bounds,
        name=f"{model.description.partition(';')[0]} with statistics under sigma = {sigma:.3g}",
    )
    return (made if denoiser is None else denoised(made, denoiser)), name


WAYS: dict[str, Way] = {
    "clip": behind("clip"),
    "dct": behind("dct"),
    "statistics": statistics,
}
# Cheap ones first; none of these needs training.
DEFAULT_WAYS = ("clip", "dct", "statistics")


def _noisy_batches(
    situation: Situation, sigma: float
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Inputs, repeated if there are few, and the same under noise."""
    rng = np.random.default_rng(situation.seed)
    order = np.resize(rng.permutation(np.asarray(situation.rows)), STATISTICS_ROWS)
    found = []
    for start in range(0, STATISTICS_ROWS, STATISTICS_BATCH):
        chosen = order[start : start + STATISTICS_BATCH]
        images = np.stack([situation.unlabelled.input(int(index)) for index in chosen])
        noise = rng.standard_normal(images.shape, dtype=np.float32)
        found.append((images, images + np.float32(sigma) * noise))
    return found

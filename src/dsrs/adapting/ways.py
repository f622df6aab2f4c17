"""The ways to help a model, one function each: what it makes of the model, and behind what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import Candidate, Watch
from dsrs.adapting.learning import Learning, fine_tuned, trained_denoiser
from dsrs.classifiers import Classifier, denoised, denoiser_from, from_onnx
from dsrs.classifiers.batch_statistics import with_statistics
from dsrs.classifiers.callable import CallableClassifier
from dsrs.datasets.dataset import Dataset
from dsrs.errors import ClassifierError, InvalidInput

if TYPE_CHECKING:
    from dsrs.classifiers.callable import TorchWeights

STATISTICS_ROWS, STATISTICS_BATCH = 512, 64
# Statistics are for somewhat more noise than was best before, which they make bearable.
MORE_NOISE = 1.25
# What learns bears about three times the noise that was best before it.
LEARNT_NOISE = 3.0


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
        learning: how those that learn do it; None: there is no data to learn from.
        watch: makes a counter of the images of a training.
    """

    model: Classifier
    unlabelled: Dataset
    rows: Sequence[int]
    before: Sequence[Candidate]
    folder: Path
    seed: int = 0
    learning: Learning | None = None
    watch: Watch | None = None

    @property
    def best(self) -> Candidate:
        """The best candidate so far."""
        return max(self.before, key=lambda each: each.value)

    @property
    def noise_to_learn(self) -> float:
        """The size of the noise to learn under: as asked, or by what was best without learning."""
        if self.learning is not None and self.learning.sigma is not None:
            return self.learning.sigma
        plain = [each for each in self.before if each.name not in LEARNING_WAYS]
        return LEARNT_NOISE * max(plain, key=lambda each: each.value).choice.law.sigma

    def allowed(self, way: str) -> Learning:
        """How to learn, or InvalidInput where there is nothing to learn from."""
        if self.learning is None:
            raise InvalidInput(
                f"{way} learns from inputs that are neither chosen by nor reported: give data of "
                "the same shape as `train_data` (--train-data)"
            )
        return self.learning


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
    before = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    clean, noisy = [], []
    for images, noise in _noisy_batches(situation, sigma):
        clean.append(images)
        noisy.append(noise if before is None else before.rows(noise))
    made: Classifier = from_onnx(
        with_statistics(model.graph(), noisy, clean),
        input_shape=model.input_shape,
        num_classes=model.num_classes,
        bounds=model.bounds,
        name=f"{model.description.partition(';')[0]} with statistics under sigma = {sigma:.3g}",
    )
    return (made if before is None else denoised(made, before)), name


def denoiser(situation: Situation) -> Made:
    """A denoiser trained in front of the frozen model."""
    learning, model = situation.allowed("denoiser"), situation.model
    weights = weights_of(model)
    file = trained_denoiser(
        situation.unlabelled,
        situation.rows,
        None if weights is None else weights.module(),
        situation.noise_to_learn,
        learning,
        situation.folder / "denoiser",
        situation.watch,
    )
    made = denoised(model, denoiser_from(file, model.input_shape, model.bounds))
    return made, str(file)


def fine_tune(situation: Situation) -> Made:
    """The model trained on under noise, from its own weights."""
    learning, model = situation.allowed("fine-tune"), situation.model
    weights = weights_of(model)
    if weights is None:
        raise ClassifierError(
            "fine-tune goes on from weights in PyTorch: a module, a folder of `dsrs train`, or a "
            f"network with --weights; it cannot train {model.description}"
        )
    if len(situation.rows) != len(situation.unlabelled):
        raise InvalidInput("fine-tune learns from a whole data set, got some of its inputs")
    return fine_tuned(
        situation.unlabelled,
        weights,
        situation.noise_to_learn,
        learning,
        situation.folder / "fine-tuned",
        situation.watch,
    ), None


def weights_of(model: Classifier) -> TorchWeights | None:
    """The weights of a model in PyTorch, where it has them there."""
    return getattr(model, "weights", None)


WAYS: dict[str, Way] = {
    "clip": behind("clip"),
    "dct": behind("dct"),
    "statistics": statistics,
    "denoiser": denoiser,
    "fine-tune": fine_tune,
}
# Cheap ones first; none of these needs training.
DEFAULT_WAYS = ("clip", "dct", "statistics")
LEARNING_WAYS = ("denoiser", "fine-tune")


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

"""The ways to help a model, one function each: what it makes of the model, and behind what."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.learning import Made, Situation, behind, denoiser, fine_tune
from dsrs.classifiers import Classifier, denoised, denoiser_from, from_onnx
from dsrs.classifiers.batch_statistics import with_statistics
from dsrs.classifiers.callable import CallableClassifier
from dsrs.errors import ClassifierError

STATISTICS_ROWS, STATISTICS_BATCH = 512, 64
# Statistics are for somewhat more noise than was best before, which they make bearable.
MORE_NOISE = 1.25

Way = Callable[[Situation], Made]


def statistics(situation: Situation) -> Made:
    """Batch-norm statistics under the noise, and behind the denoiser, of the best so far."""
    model, best = situation.model, situation.best
    if not isinstance(model, CallableClassifier) or model.graph is None:
        raise ClassifierError(
            "statistics can be estimated in ONNX models and in PyTorch modules that can be "
            f"exported, not in {model.description}"
        )
    sigma = MORE_NOISE * best.tuned.best.law.sigma
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


WAYS: dict[str, Way] = {
    "clip": lambda situation: behind(situation.model, "clip"),
    "dct": lambda situation: behind(situation.model, "dct"),
    "dct-mild": lambda situation: behind(situation.model, "dct-mild"),
    "statistics": statistics,
    "denoiser": denoiser,
    "fine-tune": fine_tune,
}
# Cheap ones first; none of these needs training.
DEFAULT_WAYS = ("clip", "dct", "dct-mild", "statistics")


def _noisy_batches(
    situation: Situation, sigma: float
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Inputs, repeated if there are few, and the same under noise."""
    dataset, rows = situation.inputs_for("statistics")
    rng = np.random.default_rng(situation.seed)
    order = np.resize(rng.permutation(np.asarray(rows)), STATISTICS_ROWS)
    found = []
    for start in range(0, STATISTICS_ROWS, STATISTICS_BATCH):
        chosen = order[start : start + STATISTICS_BATCH]
        images = np.stack([dataset.input(int(index)) for index in chosen])
        noise = rng.standard_normal(images.shape, dtype=np.float32)
        found.append((images, images + np.float32(sigma) * noise))
    return found

"""The ways to help a model, one function each: what it makes of the model, and behind what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import Learned, Made
from dsrs.adapting.learning import (
    LOG,
    Situation,
    behind,
    check_denoiser,
    check_fine_tune,
    denoiser,
    fine_tune,
)
from dsrs.classifiers import (
    CallableClassifier,
    Classifier,
    check_statistics_exist,
    denoised,
    denoiser_from,
    from_onnx,
    with_statistics,
)
from dsrs.errors import ClassifierError

STATISTICS_ROWS, STATISTICS_BATCH = 512, 64
ENOUGH_FOR_STATISTICS = 64  # different inputs; fewer are warned of
# Statistics are for somewhat more noise than was best before, which they make bearable.
MORE_NOISE = 1.25


@dataclass(frozen=True)
class Way:
    """A way to help a model.

    Attributes:
        make: makes it.
        check: raises what `make` would, as far as it can be told before any candidate is judged.
    """

    make: Callable[[Situation], Made]
    check: Callable[[Situation], object]


def check_statistics(situation: Situation) -> bytes:
    """The model as an ONNX file that has statistics, or the error that `statistics` ends with."""
    model = situation.model
    if not isinstance(model, CallableClassifier) or model.graph is None:
        raise ClassifierError(
            "statistics can be estimated in ONNX models and in PyTorch modules that can be "
            f"exported, not in {model.description}"
        )
    situation.inputs_for("statistics")
    graph = model.graph()
    check_statistics_exist(graph)
    return graph


def statistics(situation: Situation) -> Made:
    """Batch-norm statistics under the noise, and behind the denoiser, of the best so far."""
    model, best, graph = situation.model, situation.best, check_statistics(situation)
    sigma = MORE_NOISE * best.tuned.best.law.sigma
    name = best.denoiser
    before = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    clean, noisy = [], []
    batches, different = _noisy_batches(situation, sigma)
    for images, noise in batches:
        clean.append(images)
        noisy.append(noise if before is None else before.rows(noise))
    made: Classifier = from_onnx(
        with_statistics(graph, noisy, clean),
        input_shape=model.input_shape,
        num_classes=model.num_classes,
        bounds=model.bounds,
        name=f"{model.description.partition(';')[0]} with statistics under sigma = {sigma:.3g}",
    )
    whole = made if before is None else denoised(made, before)
    return Made(whole, name, Learned(different, sigma))


def _in_front(name: str) -> Way:
    """The denoiser of this name in front of the model."""
    return Way(
        make=lambda situation: behind(situation.model, name),
        check=lambda situation: denoiser_from(
            name, situation.model.input_shape, situation.model.bounds
        ),
    )


WAYS: dict[str, Way] = {
    **{name: _in_front(name) for name in ("clip", "dct", "dct-mild")},
    "statistics": Way(statistics, check_statistics),
    "denoiser": Way(denoiser, check_denoiser),
    "fine-tune": Way(fine_tune, check_fine_tune),
}
# Cheap ones first; none of these needs training.
DEFAULT_WAYS = ("clip", "dct", "dct-mild", "statistics")


def _noisy_batches(
    situation: Situation, sigma: float
) -> tuple[list[tuple[NDArray[np.float32], NDArray[np.float32]]], int]:
    """Inputs, repeated if there are few, and the same under noise; how many are different."""
    dataset, rows = situation.inputs_for("statistics")
    rng = np.random.default_rng(situation.seed)
    order = np.resize(rng.permutation(np.asarray(rows)), STATISTICS_ROWS)
    different = len(np.unique(order))
    if different < ENOUGH_FOR_STATISTICS:
        LOG.warning(
            "statistics are estimated from %d different inputs, again and again; give %d or more",
            different,
            ENOUGH_FOR_STATISTICS,
        )
    found = []
    for start in range(0, STATISTICS_ROWS, STATISTICS_BATCH):
        chosen = order[start : start + STATISTICS_BATCH]
        images = np.stack([dataset.input(int(index)) for index in chosen])
        noise = rng.standard_normal(images.shape, dtype=np.float32)
        found.append((images, images + np.float32(sigma) * noise))
    return found, different

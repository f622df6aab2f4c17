"""Models that want their inputs otherwise than the data has them: normalised, or channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, ScoreGradient, described
from dsrs.classifiers.callable import CallableClassifier, Forward, TorchWeights, remembered
from dsrs.classifiers.denoisers import Chain, Denoiser
from dsrs.classifiers.denoisers.normalisation import Normalisation
from dsrs.classifiers.in_front import denoised, in_numpy
from dsrs.classifiers.onnx_graph import in_front_of
from dsrs.classifiers.preparation import normalisation_text
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.errors import ClassifierError, InvalidInput


def channels_last(forward: Forward) -> Forward:
    """A function of (n, channels, height, width) from one of (n, height, width, channels).

    That is how Keras, TensorFlow and JAX models see images. Their answers become numpy arrays.
    """

    def on_channels_first(batch: NDArray[np.float32]) -> NDArray[Any]:
        if batch.ndim != 4:
            raise ClassifierError(
                "channels last is for images (channels, height, width), "
                f"got inputs of shape {batch.shape[1:]}"
            )
        return np.asarray(forward(np.ascontiguousarray(batch.transpose(0, 2, 3, 1))))

    return on_channels_first


@remembered
def normalised(
    classifier: Classifier,
    mean: Sequence[float],
    std: Sequence[float],
    bounds: tuple[float, float],
) -> CallableClassifier:
    """A classifier of inputs x in `bounds` from one that was trained on (x - mean) / std.

    One number, or one for each channel. Noise is added before, in the units of x, so that sigma
    and radii are in those units.
    """
    shape = tuple(classifier.input_shape)
    shift, scale = (
        _by_channel(values, shape, name) for values, name in ((mean, "mean"), (std, "std"))
    )
    if not (scale > 0).all():
        raise InvalidInput(f"`std` must be positive, got {tuple(std)}")

    front = Normalisation(shape, shift, scale)
    noisy, graph = getattr(classifier, "noisy", None), getattr(classifier, "graph", None)

    def behind(denoiser: Denoiser) -> CallableClassifier:
        made = denoised(classifier, Chain([denoiser, front]))
        title = f"{inner} ({units}) behind {denoiser.name}"
        return replace(made, bounds=bounds, description=described(title, shape, bounds))

    def chained(gradient: ScoreGradient | None) -> ScoreGradient | None:
        return gradient and (
            lambda batch, scores: gradient((batch - shift) / scale, scores) / scale
        )

    units, inner = normalisation_text(mean, std), classifier.description.partition(";")[0]
    return replace(
        in_numpy(classifier, front),
        bounds=bounds,
        identity=f"{classifier.fingerprint} {tuple(map(float, mean))} {tuple(map(float, std))}",
        description=described(f"{inner} ({units})", shape, bounds),
        probed=False,
        noisy=noisy and (lambda block, units: noisy(block, (*units, (shift, scale)))),
        score_gradient=chained(classifier.score_gradient),
        later_gradient=lambda: chained(classifier.gradient()),
        weights=_weights_behind(front, getattr(classifier, "weights", None)),
        behind=behind,
        graph=graph and (lambda: in_front_of(front.graph(), graph())),
    )


def _weights_behind(front: Normalisation, weights: TorchWeights | None) -> TorchWeights | None:
    """The weights of a model behind a normalisation."""
    if weights is None:
        return None
    inner, better = weights.module, weights.trainable

    def whole(module: Any) -> Any:
        return imported_torch().nn.Sequential(front.module(), module).eval()

    return TorchWeights(
        lambda: whole(inner()),
        trainable=better and (lambda clean: whole(better([front.rows(rows) for rows in clean]))),
    )


def _by_channel(values: Sequence[float], shape: tuple[int, ...], name: str) -> NDArray[np.float32]:
    if not all(map(math.isfinite, values)) or len(values) not in (1, shape[0]):
        raise InvalidInput(
            f"`{name}` must be one number or one for each of {shape[0]} channels, "
            f"got {tuple(values)}"
        )
    return np.asarray(values, dtype=np.float32).reshape(-1, *(1,) * (len(shape) - 1))

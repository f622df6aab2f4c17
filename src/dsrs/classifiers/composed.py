"""Classifiers from classifiers: the mean of several, one normalised, scaled, on several devices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import normalisation_text
from dsrs.classifiers.base import Classifier, ScoreGradient, described
from dsrs.classifiers.callable import (
    CallableClassifier,
    Forward,
    TorchWeights,
    denoised,
    in_numpy,
    probe_batch,
    remembered,
)
from dsrs.classifiers.denoisers import Chain, Denoiser, Normalisation
from dsrs.classifiers.onnx_graph import averaged, in_front_of
from dsrs.classifiers.scaling import Scaling
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.errors import ClassifierError, InvalidInput

# ---- The mean of the scores of several models

SHARE_TOLERANCE = 1e-3  # of probabilities in reduced precision


@remembered
def ensemble(members: Sequence[Classifier]) -> CallableClassifier:
    """The classifier whose scores are the mean of the members' scores.

    Scores are what the models return, all logits or all probabilities. A row is one query, which
    takes a pass of each member.

    Args:
        members: two or more models of one input shape, number of classes and bounds, which return
            scores.
    """
    if len(members) < 2:
        raise InvalidInput(f"an ensemble needs two models or more, got {len(members)}")
    first = members[0]
    kinds = {_kind_of_scores(_checked_scores(member, first)) for member in members}
    if len(kinds) > 1:
        raise InvalidInput(
            "some models of the ensemble return probabilities and others do not, so their mean "
            "would count the others most; let all return logits, or all probabilities"
        )

    def forward(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(np.mean([member.scores(batch) for member in members], axis=0))

    def behind(denoiser: Denoiser) -> CallableClassifier:
        return ensemble([denoised(member, denoiser) for member in members])

    titles = [member.description.partition(";")[0] for member in members]
    graphs = [graph for member in members if (graph := getattr(member, "graph", None))]
    return CallableClassifier(
        forward=forward,
        input_shape=tuple(first.input_shape),
        num_classes=first.num_classes,
        bounds=first.bounds,
        identity="mean of " + ", ".join(member.fingerprint for member in members),
        description=described(
            f"mean of {len(members)} models: {', '.join(titles)}",
            tuple(first.input_shape),
            first.bounds,
        ),
        class_names=first.class_names,
        behind=behind,
        graph=(lambda: averaged([graph() for graph in graphs]))
        if len(graphs) == len(members)
        else None,
    )


def _checked_scores(member: Classifier, first: Classifier) -> NDArray[np.float64]:
    """Some scores of a member, or an error unless it fits the first one and returns scores."""
    for name in ("input_shape", "num_classes", "bounds"):
        expected, actual = getattr(first, name), getattr(member, name)
        if expected != actual:
            raise InvalidInput(
                f"the models of an ensemble must have the same `{name}`: "
                f"{first.description} has {expected}, {member.description} has {actual}"
            )
    scores = member.scores(probe_batch(member.input_shape, member.bounds))
    return np.asarray(scores, dtype=np.float64)


def _kind_of_scores(scores: NDArray[np.float64]) -> str:
    """Probabilities if no row has a negative score and each sums to 1."""
    sums = scores.sum(axis=1)
    are_shares = bool(np.all(scores >= 0) and np.all(np.abs(sums - 1) < SHARE_TOLERANCE))
    return "probabilities" if are_shares else "others"


# ---- Inputs otherwise than the data has them: channels last, or normalised


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


# ---- The classifier of scaled inputs


@remembered
def scaled(classifier: Classifier, scaling: Scaling) -> CallableClassifier:
    """A classifier of scaled inputs from one of inputs in the units of their features.

    The inputs are brought back in double precision, then converted to float32 once: a function of
    the scaled grid point alone.
    """
    shape = tuple(classifier.input_shape)
    if shape != (len(scaling.unit),):
        raise InvalidInput(
            f"{classifier.description}: a scaling of {len(scaling.unit)} features needs a model of "
            f"inputs of shape ({len(scaling.unit)},), got {shape}"
        )
    unit = np.asarray(scaling.unit, np.float32)

    def chained(gradient: ScoreGradient | None) -> ScoreGradient | None:
        return gradient and (lambda batch, scores: gradient(scaling.to_own(batch), scores) * unit)

    inner = classifier.description.partition(";")[0]
    return CallableClassifier(
        forward=lambda batch: classifier.classify(scaling.to_own(batch)),
        input_shape=shape,
        num_classes=classifier.num_classes,
        bounds=scaling.bounds,
        identity=f"{classifier.fingerprint} scaled:{scaling.fingerprint}",
        description=f"{described(inner, shape, scaling.bounds)}, {scaling.text}",
        class_names=classifier.class_names,
        score_gradient=chained(classifier.score_gradient),
        later_gradient=lambda: chained(classifier.gradient()),
        scoring=lambda batch: classifier.scores(scaling.to_own(batch)),
        scaling=scaling,
    )


# ---- One model on several devices of this machine, which share out the votes

ALL = ":all"
DEVICE = re.compile(r"[a-z]+(:\d{1,2})?")


def devices_of(text: str) -> tuple[str, ...]:
    """The devices that `device` names: one, several with commas, or all of a type (`cuda:all`)."""
    names = tuple(text.split(","))
    if text.endswith(ALL):
        names = _all_of(text[: -len(ALL)])
    for name in names:
        if not DEVICE.fullmatch(name) and name:
            raise InvalidInput(f"`device` must be such as cpu, cuda or cuda:1, got {name!r}")
    kinds = {name.partition(":")[0] for name in names}
    if len(kinds) > 1 or "" in names or len(set(names)) < len(names):
        raise InvalidInput(
            f"`device` must name different devices of one type, such as cuda:0,cuda:1, got {text!r}"
        )
    return names


def _all_of(kind: str) -> tuple[str, ...]:
    if kind != "cuda":
        raise InvalidInput(f"`device` cuda:all takes every GPU; {kind + ALL!r} is not known")
    count = imported_torch().cuda.device_count()
    if not count:
        raise InvalidInput("`device` is cuda:all, and PyTorch sees no CUDA device here")
    return tuple(f"{kind}:{number}" for number in range(count))


def on_each(device: str, load: Callable[[str], Classifier]) -> Classifier:
    """What `load` makes for a device, or for each of several.

    Args:
        device: as `devices_of` reads it.
        load: makes the model on one device; a model of its own for every call.
    """
    names = devices_of(device)
    made = [load(name) for name in names]
    return made[0] if len(made) == 1 else on_several(made)


@remembered
def on_several(members: Sequence[Classifier]) -> CallableClassifier:
    """The first of these models, with all of them to share out its votes.

    Args:
        members: the same model on different devices.
    """
    first = members[0]
    if not isinstance(first, CallableClassifier):
        raise InvalidInput(
            f"{first.description} says itself where it runs; several devices are for PyTorch and "
            "ONNX models"
        )
    for member in members:
        if member.fingerprint != first.fingerprint:
            raise ClassifierError(
                f"{member.description} is another model than {first.description}: "
                f"{member.fingerprint}, not {first.fingerprint}"
            )
    return replace(first, replicas=tuple(members))

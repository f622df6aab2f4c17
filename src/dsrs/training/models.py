"""The model of a run: a named network or the user's own, fresh or with saved weights."""

from __future__ import annotations

import copy
import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dsrs.classifiers import (
    MODEL_CARD,
    MODEL_NAME,
    MODEL_WEIGHTS,
    TorchWeights,
    from_onnx,
    imported_home,
    normalised,
    object_named,
    read_weights,
    with_weights,
)
from dsrs.errors import ClassifierError, DataError, InvalidInput, MissingExtra
from dsrs.networks import NETWORKS, Normalize, build_network

LOG = logging.getLogger("dsrs.training")
NEEDED_CARD_FIELDS = ("architecture", "input_shape", "num_classes", "law")


def fresh_model(
    architecture: str,
    input_shape: Sequence[int],
    num_classes: int,
    mean: Sequence[float],
    deviation: Sequence[float],
) -> nn.Module:
    """A named network behind its normalisation, or the user's `package.module:name`.

    `name` is a module or a function of no arguments that makes one. It is used as it is: it takes
    images in [0, 1] of shape (n, *input_shape) and gives logits of shape (n, num_classes).
    """
    network = _network(architecture, input_shape, num_classes)
    if architecture in NETWORKS:
        network = nn.Sequential(Normalize(mean, deviation), network)
    _check_answers(network, architecture, input_shape, num_classes)
    return network


@dataclass(frozen=True)
class SavedModel:
    """Weights to start from or to learn from.

    Attributes:
        name: What the file or folder is called.
        tensors: The weights by name, as they were saved.
        architecture: The network that they are for, where it stands with them.
        mean: Means of the channels, where they do not stand with the weights.
        std: Their standard deviations.
        weights: The model itself where it is at hand; it is copied, not changed.
    """

    name: str
    tensors: Mapping[str, Tensor]
    architecture: str | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    weights: TorchWeights | None = None

    def model(
        self,
        architecture: str,
        input_shape: Sequence[int],
        num_classes: int,
        clean: NDArray[np.float32] | None = None,
    ) -> nn.Module:
        """The saved model, in evaluation mode.

        Args:
            architecture: The network, where the weights name none.
            input_shape: The shape of an image.
            num_classes: Number of logits.
            clean: Images without noise, if the model is to be trained: a graph of ONNX gets back
                the normalisation that its export has folded.
        """
        if self.weights is not None:
            model = copy.deepcopy(_module(self.weights, clean)).eval().requires_grad_(True)
            _check_answers(model, self.name, input_shape, num_classes)
            return model
        spec = self.architecture or architecture
        network = _network(spec, input_shape, num_classes)
        title = f"the weights of {self.name} and {spec}"
        loaded: nn.Module = with_weights(network, self.tensors, title, self.mean, self.std)
        _check_answers(loaded, spec, input_shape, num_classes)
        return loaded


def given_model(weights: TorchWeights, name: str) -> SavedModel:
    """The model of these weights as what a run may start from; cards name its network."""
    architecture = weights.architecture or type(weights.module()).__name__
    return SavedModel(name, {}, architecture, weights=weights)


def saved_model(
    path: str | Path,
    *,
    architecture: str | None = None,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> SavedModel:
    """The weights in a folder of `dsrs train`, or in a file (.onnx, .safetensors, .pth, ...).

    Args:
        path: The folder or the file.
        architecture: The network that they are for; by default the one that the folder names.
        mean: Means of the channels that images were normalised by, for a file without them.
        std: Their standard deviations.
    """
    place = Path(path)
    if place.is_dir():
        card = read_card(place)
        own = str(card["architecture"])
        if architecture is None and own not in NETWORKS and ":" not in own:
            return _of_onnx(place / MODEL_NAME, place.name, mean, std)  # no code builds it
        architecture = architecture or own
        tensors = read_weights(place / MODEL_WEIGHTS)
    elif place.suffix.lower() == ".onnx":
        return _of_onnx(place, place.name, mean, std)
    else:
        tensors = read_weights(place)
    return SavedModel(place.name, tensors, architecture, tuple(mean), tuple(std))


def _of_onnx(file: Path, name: str, mean: Sequence[float], std: Sequence[float]) -> SavedModel:
    """The graph of an ONNX file, behind a normalisation where there is one."""
    made = from_onnx(file)
    if mean or std:
        made = normalised(made, mean or (0.0,), std or (1.0,), made.bounds)
    assert made.weights is not None
    return given_model(made.weights, name)


def _module(weights: TorchWeights, clean: NDArray[np.float32] | None) -> nn.Module:
    module: nn.Module = weights.module()
    if clean is not None and weights.trainable is not None:
        try:
            module = weights.trainable([clean])
        except ClassifierError as error:
            LOG.info("the model is trained as its graph is: %s", error)
    return module


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a folder that `dsrs train` wrote."""
    wanted = f"expected {MODEL_CARD} and {MODEL_WEIGHTS} of `dsrs train` in {str(folder)!r}"
    try:
        card: dict[str, Any] = json.loads((folder / MODEL_CARD).read_text(encoding="utf-8"))
        missing = [name for name in NEEDED_CARD_FIELDS if name not in card]
    except (OSError, ValueError, RecursionError, TypeError) as error:
        raise DataError(f"{wanted}: {error}") from None
    if missing:
        raise DataError(f"{wanted}: the card lacks {', '.join(missing)}")
    return card


def trained_model(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The model of a folder that `dsrs train` wrote, in evaluation mode, and its card."""
    card = read_card(folder)
    saved = saved_model(folder)
    shape, classes = tuple(card["input_shape"]), int(card["num_classes"])
    return saved.model(str(card["architecture"]), shape, classes), card


def parameter_count(model: nn.Module) -> int:
    """Trained numbers in the model."""
    return sum(math.prod(weights.shape) for weights in model.parameters())


def _network(spec: str, input_shape: Sequence[int], num_classes: int) -> nn.Module:
    if ":" in spec:
        return _user_module(spec)
    if spec not in NETWORKS:
        raise InvalidInput(
            f"`architecture` must be one of {', '.join(NETWORKS)}, or package.module:name, "
            f"got {spec!r}"
        )
    return build_network(spec, input_shape, num_classes)


def _user_module(spec: str) -> nn.Module:
    module_name, _, name = spec.partition(":")
    try:
        home = imported_home(module_name, spec)
    except ClassifierError as error:
        # The default for ImageNet, which not everyone needs.
        missing = getattr(error.__cause__, "name", None) or ""
        if missing.partition(".")[0] == "torchvision":
            raise MissingExtra("torchvision", "imagenet") from None
        raise
    model = object_named(home, name, spec)
    if not isinstance(model, nn.Module):
        raise ClassifierError(
            f"{spec!r} must be a torch.nn.Module or a function of no arguments that makes one, "
            f"got {type(model).__name__}"
        )
    return model


def _check_answers(
    model: nn.Module, spec: str, input_shape: Sequence[int], num_classes: int
) -> None:
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            answer = model(torch.zeros(2, *input_shape))
    except (RuntimeError, TypeError, ValueError) as error:
        raise ClassifierError(
            f"{spec} does not take images of shape {tuple(input_shape)}: {error}"
        ) from error
    model.train(was_training)
    if tuple(answer.shape) != (2, num_classes):
        raise ClassifierError(
            f"{spec} must give logits of shape (n, {num_classes}), "
            f"got {tuple(answer.shape)} for n = 2"
        )

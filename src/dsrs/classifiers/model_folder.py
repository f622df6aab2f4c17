"""Folders that hold a model as model.onnx, as `dsrs adapt` and `dsrs train` write them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier
from dsrs.classifiers.callable import CallableClassifier, TorchWeights
from dsrs.classifiers.onnx_file import ADAPTER as ONNX_FILE
from dsrs.networks import NETWORKS, build_network

MODEL_NAME, MODEL_WEIGHTS, MODEL_CARD = "model.onnx", "model.safetensors", "card.json"


def _load(name: str, options: ModelOptions) -> Classifier:
    folder = Path(name)
    made = ONNX_FILE.load(str(folder / MODEL_NAME), options)
    if isinstance(made, CallableClassifier) and (weights := _weights(folder, made)) is not None:
        made = replace(made, weights=weights)
    return made


def _weights(folder: Path, made: CallableClassifier) -> TorchWeights | None:
    """The weights that `dsrs train` keeps beside the model, where its network has a name."""
    try:
        architecture = str(json.loads((folder / MODEL_CARD).read_text("utf-8"))["architecture"])
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    if architecture not in NETWORKS or not (folder / MODEL_WEIGHTS).is_file():
        return None

    def module() -> Any:
        from dsrs.classifiers.weights import read_weights, with_weights

        network = build_network(architecture, made.input_shape, made.num_classes)
        title = f"the weights of {folder.name} and {architecture}"
        return with_weights(network, read_weights(folder / MODEL_WEIGHTS), title)

    return TorchWeights(module, architecture)


ADAPTER = Adapter(
    "a folder with model.onnx", lambda name: (Path(name) / MODEL_NAME).is_file(), _load
)

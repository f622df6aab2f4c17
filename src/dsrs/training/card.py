"""The card of a trained model: what it is, how it was made, how good it is."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dsrs
from dsrs.classifiers import MODEL_CARD, MODEL_NAME, MODEL_WEIGHTS
from dsrs.datasets import Dataset
from dsrs.files import write_whole
from dsrs.training.batches import class_count
from dsrs.training.evaluation import accuracy
from dsrs.training.export import save_onnx, save_safetensors
from dsrs.training.held_out_inputs import held_out
from dsrs.training.loop import Trained
from dsrs.training.models import parameter_count
from dsrs.training.settings import TrainingSettings

CARD_FORMAT = 2


def write_model(
    folder: Path,
    trained: Trained,
    settings: TrainingSettings,
    dataset: Dataset,
    test: Dataset | None = None,
) -> dict[str, Any]:
    """Write model.safetensors, model.onnx and card.json into `folder`; return the card."""
    save_safetensors(trained.model, folder / MODEL_WEIGHTS)
    difference = save_onnx(trained.model, dataset.input_shape, folder / MODEL_NAME)
    card = {
        "format": CARD_FORMAT,
        "architecture": settings.architecture,
        "parameters": parameter_count(trained.model),
        "input_shape": list(dataset.input_shape),
        "bounds": list(dataset.bounds),
        "num_classes": class_count(dataset),
        "class_names": list(dataset.class_names),
        "law": trained.law.to_dict(),
        "recipe": settings.recipe.to_dict(),
        "settings": settings.to_dict(),
        "start": trained.origins.get("start"),
        "training_data": _data(dataset),
        "held_out": _held_out(dataset, settings),
        "test_data": None if test is None else _data(test),
        "test": None if test is None else accuracy(trained.model, test, trained.law, settings.seed),
        "training_seconds": round(sum(record["seconds"] for record in trained.history), 1),
        "history": trained.history,
        "onnx_difference": difference,
        "files": {
            name: f"sha256:{hashlib.sha256((folder / name).read_bytes()).hexdigest()}"
            for name in (MODEL_NAME, MODEL_WEIGHTS)
        },
        "versions": {
            "dsrs": dsrs.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    write_whole(folder / MODEL_CARD, (json.dumps(card, indent=2, allow_nan=False) + "\n").encode())
    return card


def _data(dataset: Dataset) -> dict[str, Any]:
    name = Path(dataset.name).name  # a card travels; where the data lay does not matter
    return {"name": name, "images": len(dataset), "fingerprint": dataset.fingerprint}


def _held_out(dataset: Dataset, settings: TrainingSettings) -> dict[str, Any] | None:
    """The inputs of the training data that the model was not trained on."""
    if not settings.hold_out:
        return None
    indices = held_out(len(dataset), settings.hold_out)
    return {"share": settings.hold_out, "images": len(indices), "indices": indices.tolist()}

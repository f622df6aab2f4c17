"""A trained model as files: its weights, its ONNX model, and a card that says how good it is."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import dsrs
from dsrs.classifiers import MODEL_CARD, MODEL_NAME, MODEL_WEIGHTS, answers_of, bytes_of, onnx_model
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, imported
from dsrs.files import write_whole
from dsrs.training.batches import NoiseLaw, class_count, sample_noise, tensors
from dsrs.training.loop import Trained, seed_epoch
from dsrs.training.models import parameter_count
from dsrs.training.settings import TrainingSettings, held_out

EVALUATION_BATCH = 500


def accuracy(model: nn.Module, dataset: Dataset, law: NoiseLaw, seed: int) -> dict[str, Any]:
    """Clean and noisy accuracy of the base classifier, in evaluation mode, over a labelled dataset.

    Noisy accuracy is the mean of P_A over the dataset, estimated with one noise vector an image.
    """
    generator = seed_epoch(seed, 0)
    clean, noisy = 0, 0
    with torch.no_grad():
        for start in range(0, len(dataset), EVALUATION_BATCH):
            images, labels = tensors(
                dataset, np.arange(start, min(start + EVALUATION_BATCH, len(dataset)))
            )
            offsets = sample_noise(law, images, generator)
            clean += int((model(images).argmax(dim=1) == labels).sum())
            noisy += int((model(images + offsets).argmax(dim=1) == labels).sum())
    return {
        "images": len(dataset),
        "clean_accuracy": clean / len(dataset),
        "noisy_accuracy": noisy / len(dataset),
    }


# ---- The model: safetensors for PyTorch, ONNX for everything else

# Logits of both runtimes differ by float32 rounding, in other orders of summation.
EXPORT_TOLERANCE = 1e-3


def save_safetensors(model: nn.Module, path: Path) -> None:
    """Weights and buffers, under the names of the module's state."""
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    write_whole(path, imported("safetensors.torch", "train").save(state))


def save_onnx(
    model: nn.Module,
    input_shape: Sequence[int],
    path: Path,
    target: str = "logits",
) -> float:
    """Write images (n, *input_shape) -> `target` (n, ...) for any n, and compare.

    Returns the largest difference between the answers of ONNX Runtime and of the module.
    """
    model.eval()
    example = np.random.default_rng(0).random((2, *input_shape), dtype=np.float32)
    names = {"input_names": ["images"], "output_names": [target]}
    advice = "model.safetensors is there"
    content = _without_traces(onnx_model(model, example, "the model", advice, "n", **names))
    # Another batch size than the example's: an export that froze it would fail here.
    images = np.concatenate([example] * 3)[:5]
    (logits,) = answers_of(content, [target], images)
    with torch.no_grad():
        expected = model(torch.from_numpy(images)).numpy()
    difference = float(np.abs(logits - expected).max())
    scale = max(1.0, float(np.abs(expected).max()))
    if not (math.isfinite(difference) and difference <= EXPORT_TOLERANCE * scale):
        raise ClassifierError(
            f"{path} answers differently from the module it was made from: logits differ by "
            f"{difference:g}; keep model.safetensors and report this"
        )
    write_whole(path, content)
    return difference


def _without_traces(model: Any) -> bytes:
    """An ONNX model without the exporter's notes, which hold paths and source of this machine."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info):
        del noted.metadata_props[:]
    for named in (graph, *graph.node):
        named.doc_string = ""
    return bytes_of(model)


# ---- The card

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

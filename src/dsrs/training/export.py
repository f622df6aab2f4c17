"""A trained model as files: safetensors for PyTorch, ONNX for everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dsrs.classifiers import answers_of, bytes_of, onnx_model
from dsrs.errors import ClassifierError, imported
from dsrs.files import write_whole

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

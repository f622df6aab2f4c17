"""A trained model as files: safetensors for PyTorch, ONNX for everything else."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dsrs.errors import ClassifierError, MissingExtra
from dsrs.files.whole import write_whole

# Logits of both runtimes differ by float32 rounding, in other orders of summation.
EXPORT_TOLERANCE = 1e-3


def save_safetensors(model: nn.Module, path: Path) -> None:
    """Weights and buffers, under the names of the module's state."""
    try:
        from safetensors.torch import save
    except ImportError:
        raise MissingExtra("safetensors", "train") from None
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    write_whole(path, save(state))


def save_onnx(
    model: nn.Module,
    input_shape: Sequence[int],
    path: Path,
    source: str = "images",
    target: str = "logits",
) -> float:
    """Write `source` (n, *input_shape) -> `target` (n, ...) for any n, and compare.

    Returns the largest difference between the answers of ONNX Runtime and of the module.
    """
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  torch's exporter needs it
    except ImportError as error:
        raise MissingExtra(str(error.name), "train") from None
    model.eval()
    example = torch.from_numpy(np.random.default_rng(0).random((2, *input_shape), dtype=np.float32))
    chatter = logging.getLogger("torch.onnx")
    level = chatter.level
    chatter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # The exporter warns about its own use of torch, which a user cannot change.
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                model,
                (example,),
                input_names=[source],
                output_names=[target],
                dynamic_shapes=({0: torch.export.Dim("n")},),
                dynamo=True,
                verbose=False,
            )
    finally:
        chatter.setLevel(level)
    if program is None:
        raise ClassifierError("the model cannot be exported to ONNX; model.safetensors is there")
    content = _without_traces(program.model_proto)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    # Another batch size than the example's: an export that froze it would fail here.
    images = example.repeat(3, *[1] * len(input_shape))[:5]
    (logits,) = session.run([target], {source: images.numpy()})
    with torch.no_grad():
        expected = model(images).numpy()
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
    serialized: bytes = model.SerializeToString(deterministic=True)
    return serialized

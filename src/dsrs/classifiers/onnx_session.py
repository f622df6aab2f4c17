"""Sessions of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import failure
from dsrs.classifiers.onnx_device import provider_for
from dsrs.errors import ClassifierError, imported


def opened_session(model: str | Path | bytes, title: str, threads: int, device: str) -> Any:
    """The session of a model, or ClassifierError.

    Args:
        model: the name of the file, or its content.
        title: what messages call it.
        threads: threads inside of an operator.
        device: "cpu", "cuda" or "cuda:1".
    """
    runtime = imported("onnxruntime", "onnx")
    provider = provider_for(device, runtime.get_available_providers())
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    loadable = model if isinstance(model, bytes) else str(model)
    try:
        return runtime.InferenceSession(loadable, options, providers=[provider])
    except runtime_failures() as error:
        raise ClassifierError(f"{title} cannot be read as an ONNX model: {error}") from error


def answers_of(
    content: bytes, outputs: Sequence[str], batch: NDArray[np.float32]
) -> list[NDArray[Any]]:
    """What these outputs of an ONNX model are on a batch."""
    session = opened_session(content, "ONNX model", 1, "cpu")
    try:
        arrays: list[NDArray[Any]] = session.run(
            list(outputs), {session.get_inputs()[0].name: batch}
        )
    except runtime_failures() as error:
        raise failure(error, "ONNX model", batch.shape) from error
    return arrays


def runtime_failures() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises; its own errors have no base class in common."""
    states = vars(imported("onnxruntime", "onnx").capi.onnxruntime_pybind11_state).values()
    own = (state for state in states if isinstance(state, type) and issubclass(state, Exception))
    return (*own, RuntimeError, ValueError)

"""ONNX models on a device: which provider runs them, and passes on tensors that are there already.

On `cuda` ONNX Runtime reads noise where PyTorch made it and writes its answers beside it. It has a
stream of its own, so both wait for each other at every pass. `cpu:0` is the processor behind the
same code, as in `tensor_passes`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from dsrs.classifiers.base import failure
from dsrs.classifiers.callable import CallableClassifier, probe_batch
from dsrs.classifiers.tensor_passes import NoisyForward, Run, imported_torch, is_apart, noise_beside
from dsrs.errors import ClassifierError

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def provider_for(device: str, available: Sequence[str]) -> str | tuple[str, dict[str, str]]:
    """What runs a model on this device, as ONNX Runtime takes it; or ClassifierError.

    Args:
        device: such as "cpu" or "cuda:1".
        available: the providers that ONNX Runtime has.
    """
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return CPU
    if kind == "cuda" and CUDA in available:
        return CUDA, {"device_id": number or "0"}
    advice = (
        "pip uninstall onnxruntime && pip install onnxruntime-gpu, or use device='cpu'"
        if kind == "cuda"
        else "ONNX files run on cpu and cuda; use device='cpu', or a PyTorch model"
    )
    raise ClassifierError(
        f"this onnxruntime cannot run on {device!r}, it has {', '.join(available)}; {advice}"
    )


def available_providers() -> tuple[str, ...]:
    """What ONNX Runtime can run on here; nothing where it is missing."""
    try:
        import onnxruntime
    except ImportError:
        return ()
    return tuple(onnxruntime.get_available_providers())


def bound_noise(
    session: Any, names: tuple[str, str], model: CallableClassifier, device: str
) -> NoisyForward | None:
    """Noise made by PyTorch on the device, read by ONNX Runtime there; None: the processor's.

    Args:
        session: of ONNX Runtime.
        names: of the input and the output.
        model: the same model on arrays.
        device: where the session runs.
    """
    if device == "cpu" or importlib.util.find_spec("torch") is None:
        return None
    place = imported_torch().device(device)
    if not is_apart(place):
        return None
    title = model.description.partition(";")[0]
    run = bound_passes(session, names, model, place)
    return noise_beside(run, place, title, model.input_shape)


def bound_passes(
    session: Any, names: tuple[str, str], model: CallableClassifier, place: Any
) -> Run:
    """Runs the session on tensors of a device, into tensors of that device."""
    torch = imported_torch()
    example = model.forward(probe_batch(model.input_shape, model.bounds))
    tail, kind = example.shape[1:], example.dtype
    where = (place.type, (place.index or 0) if place.type == "cuda" else 0)
    given, wanted = names

    def run(batch: Any) -> Any:
        rows = batch.contiguous()
        answer = torch.empty((len(rows), *tail), dtype=getattr(torch, kind.name), device=place)
        try:
            binding = session.io_binding()
            binding.bind_input(given, *where, np.float32, tuple(rows.shape), rows.data_ptr())
            binding.bind_output(wanted, *where, kind.type, tuple(answer.shape), answer.data_ptr())
            if place.type == "cuda":
                torch.cuda.current_stream(place).synchronize()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
        except Exception as error:  # errors of ONNX Runtime have no base class in common
            raise failure(error, model.description, tuple(rows.shape)) from error
        return answer

    return run

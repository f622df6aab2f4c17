"""ONNX models in ONNX Runtime: which files they are, on which device they run, and their sessions.

On `cuda` ONNX Runtime reads noise where PyTorch made it and writes its answers beside it. It has a
stream of its own, so both wait for each other at every pass. `cpu:0` is the processor behind the
same code, as in `tensor_passes`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import failure
from dsrs.classifiers.callable import CallableClassifier, probe_batch
from dsrs.classifiers.tensor_passes import NoisyForward, Run, imported_torch, is_apart, noise_beside
from dsrs.errors import ClassifierError, imported

# ---- The files that hold weights, found without running or trusting the model
# An ONNX file is a Protocol Buffers message. Only the fields on the way to a tensor's external data
# are followed, by their numbers in onnx.proto, so that no package beside ONNX Runtime is needed.

# Message -> number of a field -> the message in it; `location` pairs are the goal.
FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "pair"},
}
KEY, VALUE = 1, 2
FIXED_LENGTHS = {1: 8, 5: 4}  # wire types of numbers
VARINT, BYTES = 0, 2


def external_weights(model: bytes, path: Path) -> list[Path]:
    """The files beside `path` that hold tensors of the model in it, in order.

    Raises ClassifierError where one lies outside the model's folder, through a link or not.
    """
    folder = path.parent.resolve()
    try:
        names = {name.decode("utf-8") for name in _locations(memoryview(model), "model")}
        files = sorted((path.parent / name).resolve() for name in names)
    except (IndexError, RecursionError, ValueError) as error:
        raise ClassifierError(f"{path.name} cannot be read as an ONNX model: {error}") from error
    for file in files:
        if not file.is_relative_to(folder):
            raise ClassifierError(
                f"{path.name} wants weights from {file}, outside its own folder {folder}; "
                "save the model with its weights in it, or beside it"
            )
    return files


def _locations(message: memoryview, kind: str) -> Iterator[bytes]:
    if kind == "pair":
        entries = {number: bytes(content) for number, content in _fields(message)}
        if entries.get(KEY) == b"location":
            yield entries.get(VALUE, b"")
        return
    inner = FIELDS[kind]
    for number, content in _fields(message):
        if number in inner:
            yield from _locations(content, inner[number])


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message that hold bytes, with their numbers."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, wire = tag >> 3, tag & 7
        if wire == BYTES:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("it is cut")
            yield number, message[place : place + length]
            place += length
        elif wire == VARINT:
            _, place = _varint(message, place)
        elif wire in FIXED_LENGTHS:
            place += FIXED_LENGTHS[wire]
        else:
            raise ValueError(f"unknown kind of field {wire}")


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


# ---- Devices

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


# ---- Sessions


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

"""PyTorch model files: exported programs (.pt2). TorchScript and Python pickles are refused."""

from __future__ import annotations

import hashlib
import warnings
import zipfile
from pathlib import Path
from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions, by_suffix
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier
from dsrs.classifiers.callable import CallableClassifier, remembered
from dsrs.classifiers.exported_archive import without_code
from dsrs.classifiers.precision import in_precision
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.classifiers.torch_module import PlacedModule
from dsrs.errors import ClassifierError

HOW_TO_EXPORT = (
    "Export the model to ONNX (torch.onnx.export) or to a .pt2 file (torch.export.save), or name "
    "the Python code that builds it (package.module:name) and give its weights beside it"
)


@remembered
def from_torch_file(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    num_classes: int | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    device: str = "cpu",
) -> CallableClassifier:
    """A classifier from a `torch.export` archive (.pt2).

    It runs in PyTorch; on CPU an ONNX file of the same model is several times faster.

    Args:
        path: the archive, as torch.export.save of PyTorch 2.8 or later writes it.
        input_shape: the shape of one input, to be compared with that of the program.
        num_classes: the number of classes, where the answers are class ids.
        bounds: the least and the greatest value of a clean input.
        device: where the program runs: "cpu", "cuda".
    """
    file = Path(path)
    if not file.is_file():
        raise ClassifierError(f"there is no model file {str(path)!r}")
    if file.suffix.lower() != ".pt2":
        raise ClassifierError(refusal(file))
    torch = imported_torch()
    title = f"exported program {file.name}"
    archive = without_code(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.export.load(archive)
            module = program.module()
    except (RuntimeError, ValueError, TypeError, KeyError, AssertionError) as error:
        raise ClassifierError(f"{title} cannot be loaded: {error}") from error
    _refuse_training_graph(program, title)
    rows, declared = _exported_input(program, title)
    if input_shape is not None and tuple(input_shape) != declared:
        raise ClassifierError(
            f"{title} takes inputs of shape {declared}, but `input_shape` is {tuple(input_shape)}"
        )
    module.to(device)
    module.training = False
    place = torch.device(device)
    ready = in_precision(module, "float32", place, title)
    identity = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    placed = PlacedModule(ready, place, title, identity, "PyTorch", rows=rows, learns=False)
    return placed.eager(declared, num_classes, bounds)


def _load(name: str, options: ModelOptions) -> Classifier:
    return from_torch_file(name, **options.chosen("input_shape", "num_classes", "bounds", "device"))


ADAPTER = Adapter("net.pt2", by_suffix(".pt2"), _load)


def refusal(path: Path) -> str:
    """Why a file of PyTorch or a pickle is not read, and what to do instead."""
    if _is_torchscript(path):
        return (
            f"{path.name} is TorchScript, which PyTorch has given up and which is not read. "
            + HOW_TO_EXPORT
        )
    trusted = ""
    if path.suffix.lower() == ".joblib":
        trusted = (
            ". One of scikit-learn that you trust: write a file.py that loads it (model = "
            f"joblib.load({path.name!r})), and name file.py:model"
        )
    return (
        f"{path.name} is a Python pickle, or not a model: pickles run code when they are read, "
        f"so they are never opened. {HOW_TO_EXPORT}{trusted}"
    )


def _is_torchscript(path: Path) -> bool:
    # torch.save and torch.jit.save both write zips, often both named .pt; only the second
    # holds TorchScript code.
    try:
        with zipfile.ZipFile(path) as archive:
            inner = [name.partition("/")[2] for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError):
        return False
    return "constants.pkl" in inner and any(name.startswith("code/") for name in inner)


def _refuse_training_graph(program: Any, title: str) -> None:
    # An exported graph has its mode written into its operators.
    random = any(
        node.op == "call_function" and "dropout" in str(node.target) and True in node.args
        for node in program.graph.nodes
    )
    if random or program.graph_signature.buffers_to_mutate:
        raise ClassifierError(
            f"{title} was exported in training mode; call .eval() and export it again"
        )


def _exported_input(program: Any, title: str) -> tuple[int | None, tuple[int, ...]]:
    """The number of rows if it is fixed, and the shape of one input."""
    names = program.graph_signature.user_inputs
    values = [node.meta.get("val") for node in program.graph.nodes if node.name in names]
    shape = tuple(values[0].shape) if len(values) == 1 and hasattr(values[0], "shape") else ()
    if len(shape) < 2 or not all(isinstance(axis, int) for axis in shape[1:]):
        raise ClassifierError(
            f"{title} must take one tensor of shape (n, ...) where only n may be open, "
            f"it takes {values}"
        )
    return (shape[0] if isinstance(shape[0], int) else None), shape[1:]

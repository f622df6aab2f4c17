"""One door for models given by name: which adapter takes it is told by the name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, checked_bounds
from dsrs.classifiers.layout import normalised
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.classifiers.python_object import OBJECT_SPEC, from_python_object
from dsrs.classifiers.torch_file import from_torch_file, refusal
from dsrs.classifiers.torch_module import Engine
from dsrs.errors import ClassifierError, InvalidInput

# TorchScript or pickles, whatever they are called.
REFUSED_SUFFIXES = (
    *(".ts", ".jit", ".torchscript", ".pt", ".pth"),
    *(".pkl", ".pickle", ".joblib", ".ckpt", ".bin"),
)


def load_classifier(
    spec: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    num_classes: int | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    threads: int = 1,
    device: str = "cpu",
    engine: Engine = "auto",
    output: str | None = None,
    weights: str | Path | None = None,
    channels_last: bool = False,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> Classifier:
    """The classifier that `spec` names: net.onnx, net.pt2 or package.module:name.

    `input_shape` and `num_classes` are needed only where the model does not say them. `output`
    chooses an output of an ONNX model, `weights` and `channels_last` are for
    `package.module:name`; see the adapters. `mean` and `std` are for a model that was trained on
    normalised inputs and does not normalise them itself.
    """
    if mean or std:
        inner = load_classifier(
            spec,
            input_shape=input_shape,
            num_classes=num_classes,
            threads=threads,
            device=device,
            engine=engine,
            output=output,
            weights=weights,
            channels_last=channels_last,
        )
        return normalised(inner, mean or (0.0,), std or (1.0,), checked_bounds(bounds))
    text, suffix = str(spec), Path(spec).suffix.lower()
    if weights is not None and not OBJECT_SPEC.fullmatch(text):
        raise InvalidInput(f"`weights` go with package.module:name, got the model {text!r}")
    if channels_last and not OBJECT_SPEC.fullmatch(text):
        raise InvalidInput(f"`channels_last` goes with package.module:name, got {text!r}")
    if output is not None and suffix != ".onnx":
        raise InvalidInput(f"`output` is for ONNX models, got the model {text!r}")
    if suffix == ".onnx":
        return from_onnx(
            spec,
            input_shape=input_shape,
            num_classes=num_classes,
            bounds=bounds,
            threads=threads,
            device=device,
            output=output,
        )
    if suffix == ".pt2":
        return from_torch_file(
            spec, input_shape=input_shape, num_classes=num_classes, bounds=bounds, device=device
        )
    if suffix in REFUSED_SUFFIXES:
        raise ClassifierError(refusal(Path(spec)))
    if suffix == ".safetensors":
        raise ClassifierError(
            f"{Path(spec).name} holds weights without a model: name the code that builds the "
            "model (package.module:name) and give this file as `weights`"
        )
    if OBJECT_SPEC.fullmatch(text):
        return from_python_object(
            text,
            input_shape=input_shape,
            num_classes=num_classes,
            bounds=bounds,
            engine=engine,
            threads=threads,
            device=device,
            weights=weights,
            channels_last=channels_last,
        )
    raise ClassifierError(
        f"{text!r} is not a known kind of model: expected a file ending in .onnx or .pt2, "
        "or package.module:name"
    )

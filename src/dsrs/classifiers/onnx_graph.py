"""ONNX models as graphs: built by hand, put in series, and averaged; needs the package `onnx`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import ClassifierError, imported

OPSET = 13  # of the graphs that are built here; their operators are the same up to this and later
IR_VERSION = 8
STANDARD = ("", "ai.onnx")
FRONT, BACK = "front_", "back_"


def imported_onnx() -> ModuleType:
    """The module `onnx`, or MissingExtra."""
    for part in ("onnx.compose", "onnx.version_converter"):
        imported(part, "onnx")
    return imported("onnx", "onnx")


class GraphBuilder:
    """Builds a model from float32 `rows` of shape (n, *input_shape) to rows of the same shape."""

    def __init__(self, input_shape: tuple[int, ...]) -> None:
        self._onnx = imported_onnx()
        self._shape = input_shape
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: ArrayLike) -> str:
        """The name of a constant tensor."""
        name = f"constant_{len(self._constants)}"
        tensor = self._onnx.numpy_helper.from_array(np.asarray(value), name)
        self._constants.append(tensor)
        return name

    def scalar(self, value: float) -> str:
        """The name of a float32 constant."""
        return self.constant(np.float32(value))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; the name of its result."""
        name = f"{operator}_{len(self._nodes)}"
        made = self._onnx.helper.make_node(operator, list(inputs), [name], name, **attributes)
        self._nodes.append(made)
        return name

    def reshape(self, tensor: str, *shape: int) -> str:
        """Add a node that reshapes `tensor` to (n, *shape), and return the name of its result."""
        return self.add("Reshape", tensor, self.constant(np.array([-1, *shape], np.int64)))

    def model(self, result: str) -> Any:
        """The model whose output is `result`."""
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        ends = [
            helper.make_tensor_value_info(name, kind, ["n", *self._shape])
            for name in ("rows", result)
        ]
        graph = helper.make_graph(self._nodes, "rows", ends[:1], ends[1:], self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def model_of_file(path: Path) -> Any:
    """Read the model in a file, with the weights that lie beside it."""
    return imported_onnx().load(str(path))


def model_of_bytes(content: bytes) -> Any:
    """The model that `content` is."""
    return imported_onnx().load_model_from_string(content)


def bytes_of(model: Any) -> bytes:
    """A model as the content of a file."""
    try:
        content: bytes = model.SerializeToString(deterministic=True)
    except ValueError as error:  # Protocol Buffers end at 2 GB
        raise ClassifierError(f"the model is too large for one ONNX file: {error}") from error
    return content


def in_series(front: Any, back: Any) -> Any:
    """One model that gives what `front` answers to `back`; both have one input and one output.

    The batch axis is that of `back`, which may have fixed it.
    """
    onnx = imported_onnx()
    front, back = same_opset([front, back])
    only_input(front)
    link = (front.graph.output[0].name, only_input(back).name)
    axis = only_input(back).type.tensor_type.shape.dim[0]
    try:
        made = onnx.compose.merge_models(front, back, [link], prefix1=FRONT, prefix2=BACK)
    except (ValueError, RuntimeError) as error:
        raise ClassifierError(f"these ONNX models cannot be one: {error}") from error
    made.graph.input[0].type.tensor_type.shape.dim[0].CopyFrom(axis)
    del made.graph.value_info[:]  # shapes of the parts, which may contradict the batch axis
    return made


def in_front_of(front: Any, content: bytes) -> bytes:
    """The file of `front` and the model that `content` is, in series."""
    return bytes_of(in_series(front, model_of_bytes(content)))


def averaged(contents: Sequence[bytes]) -> bytes:
    """The file of one model that gives the mean of what these models answer to one input."""
    onnx, models = imported_onnx(), [model_of_bytes(content) for content in contents]
    prefixed = [
        onnx.compose.add_prefix(model, f"member{i}_") for i, model in enumerate(same_opset(models))
    ]
    whole = prefixed[0]
    source = only_input(whole).name
    for other in prefixed[1:]:
        own = only_input(other).name
        for node in other.graph.node:
            node.input[:] = [source if name == own else name for name in node.input]
        for field in ("node", "initializer", "sparse_initializer"):
            getattr(whole.graph, field).extend(getattr(other.graph, field))
        whole.functions.extend(other.functions)
    outputs = [model.graph.output[0].name for model in prefixed]
    whole.graph.node.append(onnx.helper.make_node("Mean", outputs, ["scores"], "scores"))
    whole.graph.output[0].name = "scores"
    del whole.graph.value_info[:]
    return bytes_of(whole)


def only_input(model: Any) -> Any:
    """The one input that is no weight."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in weights]
    if len(inputs) != 1 or len(model.graph.output) != 1:
        raise ClassifierError("expected an ONNX model of one input and one output")
    return inputs[0]


def same_opset(models: Sequence[Any]) -> list[Any]:
    """These models in the newest of their operator sets."""
    onnx = imported_onnx()
    versions = [opset_of(model) for model in models]
    newest, ir = max(OPSET, *versions), max(model.ir_version for model in models)
    converted = []
    for model, version in zip(models, versions, strict=True):
        made = type(model)()
        made.CopyFrom(model)
        if version < newest:
            try:
                made = onnx.version_converter.convert_version(made, newest)
            except (RuntimeError, ValueError) as error:
                raise ClassifierError(
                    f"this ONNX model cannot be brought from opset {version} to {newest}: {error}"
                ) from error
        made.ir_version = ir
        # Some tools name the standard operators twice, or by their other name.
        others = [each for each in made.opset_import if each.domain not in STANDARD]
        del made.opset_import[:]
        made.opset_import.extend([onnx.helper.make_opsetid("", newest), *others])
        converted.append(made)
    return converted


def opset_of(model: Any) -> int:
    """The version of the standard operators that a model is written in."""
    return max((each.version for each in model.opset_import if each.domain in STANDARD), default=1)

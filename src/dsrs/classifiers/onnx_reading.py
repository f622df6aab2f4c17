"""The graph of an ONNX model as steps and constants, for the module that runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.onnx_graph import STANDARD, imported_onnx
from dsrs.errors import ClassifierError, imported

# Inputs of an operator that training changes, where they are constants.
TRAINED_PLACES = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (1, 2),
    "MatMul": (0, 1),
    "BatchNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "PRelu": (1,),
}
# Inputs that have a tensor of their own, although exporters let equal ones share it.
OWN_PLACES = {**TRAINED_PLACES, "BatchNormalization": (1, 2, 3, 4), "Add": (0, 1)}
# Inputs that are settings: they stay numbers.
SETTING_PLACES = {
    "Clip": (1, 2),
    "Dropout": (1, 2),
    "Pad": (1, 2, 3),
    "Resize": (1, 2, 3),
    "Upsample": (1,),
}
PASSING_ON = ("Identity", "Transpose", "Reshape", "Unsqueeze", "Squeeze", "Cast")


@dataclass(frozen=True)
class Step:
    """One node of a graph: an operator, and the names and settings of one use of it."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


def read_graph(model: Any, target: str) -> tuple[list[Step], dict[str, NDArray[Any]]]:
    """The steps that compute the target in their order, and the constants of the model by name."""
    model = _inlined(model)
    constants = _initializers(model)
    steps = [_step(node) for node in model.graph.node]
    for step in steps:
        if step.operator == "Constant":
            constants[step.outputs[0]] = _value(step)
        elif step.operator == "Identity" and step.inputs[0] in constants:
            constants[step.outputs[0]] = constants[step.inputs[0]]
    return _untied(_needed(steps, target, constants), constants), constants


def setting_names(steps: Iterable[Step]) -> set[str]:
    """The names of what is a setting of a step."""
    return _at(steps, SETTING_PLACES)


def _inlined(model: Any) -> Any:
    """The model without functions of its own."""
    if not model.functions:
        return model
    return imported("onnx.inliner", "onnx").inline_local_functions(model)


def _initializers(model: Any) -> dict[str, NDArray[Any]]:
    to_array = imported_onnx().numpy_helper.to_array
    if model.graph.sparse_initializer:
        raise ClassifierError("the ONNX model has sparse weights: not supported")
    return {tensor.name: np.asarray(to_array(tensor)) for tensor in model.graph.initializer}


def _step(node: Any) -> Step:
    onnx = imported_onnx()
    name = node.op_type if node.domain in STANDARD else f"{node.domain}.{node.op_type}"
    attributes = {}
    for each in node.attribute:
        value = onnx.helper.get_attribute_value(each)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif isinstance(value, onnx.TensorProto):
            value = np.asarray(onnx.numpy_helper.to_array(value))
        attributes[each.name] = value
    return Step(name, tuple(node.input), tuple(node.output), attributes)


def _value(step: Step) -> NDArray[Any]:
    """The value of a `Constant`."""
    kinds = {
        "value": None,
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_int": np.int64,
        "value_ints": np.int64,
    }
    for name, value in step.attributes.items():
        if name in kinds:
            return np.asarray(value, kinds[name])
    raise ClassifierError(f"the ONNX operator Constant with {', '.join(step.attributes)}")


def _needed(steps: list[Step], target: str, constants: Iterable[str]) -> list[Step]:
    """The steps that the target is computed by."""
    wanted, kept = {target}, []
    for step in reversed(steps):
        if wanted & set(step.outputs) and not set(step.outputs) <= set(constants):
            wanted |= set(step.inputs) - {""}  # an optional input that is absent
            kept.append(step)
    return kept[::-1]


def _untied(steps: Sequence[Step], constants: dict[str, NDArray[Any]]) -> list[Step]:
    """The steps with a constant of their own in each place of OWN_PLACES."""
    taken: set[str] = set()
    found = []
    for step in steps:
        inputs = list(step.inputs)
        for place in OWN_PLACES.get(step.operator, ()):
            name = inputs[place] if place < len(inputs) else ""
            if name in taken:
                inputs[place] = f"{name}_of_{step.outputs[0]}_{place}"
                constants[inputs[place]] = constants[name]
            elif name in constants:
                taken.add(name)
        found.append(replace(step, inputs=tuple(inputs)))
    return found


def _at(steps: Iterable[Step], places: dict[str, tuple[int, ...]]) -> set[str]:
    """The names of what stands at these inputs of operators."""
    return {
        step.inputs[place]
        for step in steps
        for place in places.get(step.operator, ())
        if place < len(step.inputs)
    }


def trained_names(steps: Sequence[Step], constants: set[str]) -> set[str]:
    """The constants that training changes: weights, and what is added to what weights made."""
    makers = {name: step for step in steps for name in step.outputs}
    found = _at(steps, TRAINED_PLACES)
    for step in steps:
        if step.operator == "Add":
            others = [makers.get(name) for name in step.inputs]
            if any(other is not None and other.operator in TRAINED_PLACES for other in others):
                found |= set(step.inputs)
    while (
        passed := {
            makers[name].inputs[0]
            for name in found
            if name in makers and makers[name].operator in PASSING_ON
        }
        - found
    ):
        found |= passed
    return found & constants

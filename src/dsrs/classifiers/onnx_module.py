"""ONNX models as PyTorch modules, for gradients and for training; votes stay with ONNX Runtime.

Floating constants that layers are trained by become parameters, statistics of batch normalisation
become buffers that follow `train()` and `eval()`, other floating constants become buffers. Whole
numbers, such as shapes, are kept as numbers. A module is handed out only after it answered a few
inputs as ONNX Runtime does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dsrs.classifiers.callable import Forward, probe_batch, refuse_other_answers
from dsrs.classifiers.onnx_graph import (
    STANDARD,
    imported_onnx,
    model_of_bytes,
    only_input,
    opset_of,
)
from dsrs.classifiers.onnx_layers import LAYERS
from dsrs.classifiers.onnx_operators import ELEMENTWISE, RESHAPING, Call, Operator
from dsrs.errors import ClassifierError, imported

# ---- The graph as steps and constants

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


# ---- The module

OPERATORS: dict[str, Operator] = {**LAYERS, **RESHAPING, **ELEMENTWISE}


class OnnxModule(nn.Module):
    """The graph of an ONNX model of one input and one output, as a module in evaluation mode.

    A last softmax over the classes is left out: the module answers logits, which losses take, and
    `ends_in_softmax` says so.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__()
        model = model_of_bytes(content)
        source, target = only_input(model), model.graph.output[0].name
        axis = source.type.tensor_type.shape.dim[0]
        self._source, self._opset = source.name, opset_of(model)
        self._fixed_rows = axis.dim_value if axis.HasField("dim_value") else None
        steps, constants = read_graph(model, target)
        self.ends_in_softmax = bool(steps) and _is_class_softmax(steps[-1], target)
        if self.ends_in_softmax:
            target = steps.pop().inputs[0]
        self._target, self._steps = target, tuple(steps)
        for step in steps:
            _refuse_unknown(step)
        self._keep(constants)
        self.eval()

    def _keep(self, constants: dict[str, NDArray[Any]]) -> None:
        """Register the constants that the steps use."""
        used = {name for step in self._steps for name in step.inputs} & constants.keys()
        trained, settings = trained_names(self._steps, used), setting_names(self._steps)
        self._known, self._keys = {}, {}
        for number, name in enumerate(sorted(used)):
            value = constants[name]
            if not np.issubdtype(value.dtype, np.floating) or name in settings - trained:
                self._known[name] = value
                continue
            tensor, key = torch.from_numpy(value.copy()), re.sub(r"\W", "_", f"{name}_{number}")
            self._keys[name] = key
            if name in trained:
                self.register_parameter(key, nn.Parameter(tensor))
            else:
                self.register_buffer(key, tensor)

    def extra_repr(self) -> str:
        """The graph, for the printed structure that fingerprints read."""
        known = {name: value.tolist() for name, value in self._known.items()}
        lines = [
            f"{step.operator}{step.inputs} -> {step.outputs} {step.attributes}"
            for step in self._steps
        ]
        return "\n".join(
            [f"opset={self._opset}, {self._source} -> {self._target}, {known}", *lines]
        )

    def forward(self, batch: Tensor) -> Tensor:
        """The logits of the rows."""
        values: dict[str, Any] = {self._source: batch, **self._known}
        values |= {name: getattr(self, key) for name, key in self._keys.items()}
        rows = None if self._fixed_rows is None else batch.shape[0]
        for step in self._steps:
            call = Call(
                step.operator,
                tuple(values[name] if name else None for name in step.inputs),
                step.attributes,
                self._opset,
                sum(map(bool, step.outputs)),
                batch.device,
                self.training,
                rows,
                self._fixed_rows,
            )
            made = OPERATORS[step.operator].run(call)
            several = made if isinstance(made, tuple) else (made,)
            values |= dict(zip(step.outputs, several, strict=False))
        answer: Tensor = values[self._target]
        return answer


def module_of(
    content: bytes,
    expected: Forward,
    input_shape: tuple[int, ...],
    bounds: tuple[float, float],
    title: str,
) -> OnnxModule:
    """The module of an ONNX model, if it answers as ONNX Runtime does.

    Raises ClassifierError that names an operator or an attribute that is not known, or says by how
    much answers differ.

    Args:
        content: the model as one file.
        expected: what ONNX Runtime answers to batches.
        input_shape: the shape of one input.
        bounds: the least and the greatest value of a clean input.
        title: what messages call the model.
    """
    try:
        module = OnnxModule(content)
        _refuse_disagreement(module, expected, input_shape, bounds, title)
    except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ClassifierError(f"{title} cannot run as a PyTorch module: {reason}") from error
    return module


def _refuse_disagreement(
    module: OnnxModule,
    expected: Forward,
    input_shape: tuple[int, ...],
    bounds: tuple[float, float],
    title: str,
) -> None:
    def answers(batch: NDArray[np.float32]) -> NDArray[Any]:
        with torch.no_grad():
            found = module(torch.from_numpy(batch))
            return np.asarray(torch.softmax(found, 1) if module.ends_in_softmax else found)

    middle, probes = (bounds[0] + bounds[1]) / 2, probe_batch(input_shape, bounds)
    complaint = f"{title} answers differently as a PyTorch module"
    # Within the bounds of the data, and beyond them, where noise takes inputs.
    for batch in (probes, (middle + 3 * (probes - middle)).astype(np.float32)):
        right = expected(batch)
        if right.ndim != 2 or not np.issubdtype(right.dtype, np.floating):
            raise ClassifierError(f"{title} answers classes, not scores that have gradients")
        refuse_other_answers(answers, expected, batch, complaint)


def _is_class_softmax(step: Step, target: str) -> bool:
    axis = step.attributes.get("axis", -1)
    return step.operator == "Softmax" and step.outputs == (target,) and axis in (-1, 1)


def _refuse_unknown(step: Step) -> None:
    found = OPERATORS.get(step.operator)
    if found is None:
        raise ClassifierError(f"the ONNX operator {step.operator} is not known in PyTorch")
    others = sorted(step.attributes.keys() - found.attributes)
    if others:
        raise ClassifierError(
            f"the attribute {others[0]} of the ONNX operator {step.operator} is not known in "
            "PyTorch"
        )

"""Operators of ONNX in PyTorch: how one is called, those that work value by value, those of shapes.

A value of a graph is a tensor, or an array of whole numbers and settings that do not depend on the
inputs' values, such as a shape. These stay in NumPy, where they may be the symbols of an export, so
that a graph may compute shapes for any number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from dsrs.errors import ClassifierError

Known = NDArray[Any]  # numbers that are known, or symbols of them
Value = Any  # a Tensor or Known
SOFTMAX_OF_ONE_AXIS = 13  # since this opset; before, all axes from `axis` on were one


@dataclass(frozen=True)
class Call:
    """One use of an operator.

    Attributes:
        operator: its name, for messages.
        inputs: its operands; None where an optional one is absent.
        attributes: its attributes by name.
        opset: the version of the operators.
        outputs: how many results are asked for.
        device: where tensors are made.
        training: whether normalisations use the statistics of the batch.
        rows: the rows of the batch, where the graph was written for another fixed number of them.
        fixed_rows: that number.
    """

    operator: str
    inputs: tuple[Value | None, ...]
    attributes: dict[str, Any]
    opset: int
    outputs: int
    device: torch.device
    training: bool = False
    rows: int | None = None
    fixed_rows: int | None = None

    def has(self, place: int) -> bool:
        """Whether the operand at this place is given."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def tensor(self, place: int) -> Tensor:
        """The operand at this place, as a tensor."""
        value = self.inputs[place]
        if isinstance(value, Tensor):
            return value
        if value is None:
            raise self.refusal(f"needs its input {place}")
        array = np.asarray(value)
        if array.dtype != object:
            return torch.tensor(array, device=self.device)
        # One by one: as an array, the symbols of an export would become the numbers of its example.
        parts = [torch.full((), each, dtype=torch.int64, device=self.device) for each in array.flat]
        return torch.stack(parts).reshape(array.shape)

    def optional(self, place: int) -> Tensor | None:
        """The operand at this place as a tensor, or None."""
        return self.tensor(place) if self.has(place) else None

    def known(self, place: int) -> Known:
        """The operand at this place, as known numbers."""
        value = self.inputs[place]
        return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)

    def numbers(self, place: int, attribute: str = "") -> list[Any] | None:
        """Numbers that are an operand here, and were an attribute in older operator sets."""
        if self.has(place):
            return list(self.known(place).reshape(-1).tolist())
        given = self.attributes.get(attribute)
        return None if given is None else list(given)

    def get(self, name: str, default: Any) -> Any:
        """An attribute, or its default."""
        return self.attributes.get(name, default)

    def refusal(self, reason: str) -> ClassifierError:
        """The error that says what of this operator is not known."""
        return ClassifierError(f"the ONNX operator {self.operator} {reason}: not supported")


@dataclass(frozen=True)
class Operator:
    """An operator of ONNX: what it computes, and the names of the attributes that it knows."""

    run: Callable[[Call], Any]
    attributes: frozenset[str] = frozenset()


def operator(run: Callable[[Call], Any], attributes: str = "") -> Operator:
    """The operator with these attributes, separated by spaces."""
    return Operator(run, frozenset(attributes.split()))


def _unary(function: Callable[[Tensor], Tensor]) -> Operator:
    return operator(lambda call: function(call.tensor(0)))


def _on_both(
    on_tensors: Callable[..., Tensor], on_known: Callable[..., Any], attributes: str = ""
) -> Operator:
    """An operator of operands of any number, taken two by two."""

    def run(call: Call) -> Value:
        if any(isinstance(value, Tensor) for value in call.inputs):
            result: Value = call.tensor(0)
            for place in range(1, len(call.inputs)):
                result = on_tensors(result, call.tensor(place))
            return result
        result = call.known(0)
        for place in range(1, len(call.inputs)):
            result = on_known(result, call.known(place))
        return np.asarray(result)

    return operator(run, attributes)


def _divided(first: Tensor, second: Tensor) -> Tensor:
    whole = not (first.is_floating_point() or second.is_floating_point())
    return torch.div(first, second, rounding_mode="trunc" if whole else None)


def _known_quotient(first: Known, second: Known) -> Known:
    floating = any(np.issubdtype(each.dtype, np.floating) for each in (first, second))
    return np.asarray(first / second if floating else first // second)


def _mean(call: Call) -> Tensor:
    total = call.tensor(0)
    for place in range(1, len(call.inputs)):
        total = total + call.tensor(place)
    return total / len(call.inputs)


def _clip(call: Call) -> Value:
    if not isinstance(call.inputs[0], Tensor):
        raise call.refusal("on whole numbers")
    x, bounds = call.tensor(0), []
    for place, name in ((1, "min"), (2, "max")):
        given = call.numbers(place) or call.get(name, None)
        bounds.append(float(given[0]) if isinstance(given, list) else given)
    return x if bounds == [None, None] else torch.clamp(x, *bounds)


def _hard_sigmoid(call: Call) -> Tensor:
    slope, shift = call.get("alpha", 0.2), call.get("beta", 0.5)
    return torch.clamp(call.tensor(0) * slope + shift, 0.0, 1.0)


def _prelu(call: Call) -> Tensor:
    x = call.tensor(0)
    return torch.where(x > 0, x, call.tensor(1) * x)


def _gelu(call: Call) -> Tensor:
    how = call.get("approximate", "none")
    return functional.gelu(call.tensor(0), approximate=how)


def _softmax(function: Callable[..., Tensor]) -> Operator:
    def run(call: Call) -> Tensor:
        x = call.tensor(0)
        if call.opset >= SOFTMAX_OF_ONE_AXIS:
            return function(x, dim=call.get("axis", -1))
        flat = x.flatten(call.get("axis", 1) % x.dim())
        return function(flat, dim=-1).reshape(x.shape)

    return operator(run, "axis")


def _where(call: Call) -> Value:
    if any(isinstance(value, Tensor) for value in call.inputs):
        return torch.where(call.tensor(0).bool(), call.tensor(1), call.tensor(2))
    return np.where(call.known(0).astype(bool), call.known(1), call.known(2))


def _power(call: Call) -> Value:
    base = call.inputs[0]
    if not isinstance(base, Tensor) and not isinstance(call.inputs[1], Tensor):
        return call.known(0) ** call.known(1)
    return torch.pow(call.tensor(0), call.tensor(1)).to(call.tensor(0).dtype)


ELEMENTWISE: dict[str, Operator] = {
    "Relu": _unary(functional.relu),
    "Sigmoid": _unary(torch.sigmoid),
    "Tanh": _unary(torch.tanh),
    "HardSwish": _unary(functional.hardswish),
    "Softplus": _unary(functional.softplus),
    "Softsign": _unary(functional.softsign),
    "Mish": _unary(functional.mish),
    "Erf": _unary(torch.erf),
    "Abs": _unary(torch.abs),
    "Neg": _unary(torch.neg),
    "Exp": _unary(torch.exp),
    "Log": _unary(torch.log),
    "Sqrt": _unary(torch.sqrt),
    "Reciprocal": _unary(torch.reciprocal),
    "Sin": _unary(torch.sin),
    "Cos": _unary(torch.cos),
    "Floor": _unary(torch.floor),
    "Ceil": _unary(torch.ceil),
    "Not": _unary(torch.logical_not),
    "LeakyRelu": operator(
        lambda call: functional.leaky_relu(call.tensor(0), call.get("alpha", 0.01)), "alpha"
    ),
    "Elu": operator(lambda call: functional.elu(call.tensor(0), call.get("alpha", 1.0)), "alpha"),
    "HardSigmoid": operator(_hard_sigmoid, "alpha beta"),
    "PRelu": operator(_prelu),
    "Gelu": operator(_gelu, "approximate"),
    "Clip": operator(_clip, "min max"),
    "Add": _on_both(torch.add, np.add),
    "Sub": _on_both(torch.sub, np.subtract),
    "Mul": _on_both(torch.mul, np.multiply),
    "Div": _on_both(_divided, _known_quotient),
    "Pow": operator(_power),
    "Min": _on_both(torch.minimum, np.minimum),
    "Max": _on_both(torch.maximum, np.maximum),
    "Sum": _on_both(torch.add, np.add),
    "Mean": operator(_mean),
    "Equal": _on_both(torch.eq, np.equal),
    "Less": _on_both(torch.lt, np.less),
    "LessOrEqual": _on_both(torch.le, np.less_equal),
    "Greater": _on_both(torch.gt, np.greater),
    "GreaterOrEqual": _on_both(torch.ge, np.greater_equal),
    "And": _on_both(torch.logical_and, np.logical_and),
    "Or": _on_both(torch.logical_or, np.logical_or),
    "Where": operator(_where),
    "Softmax": _softmax(torch.softmax),
    "LogSoftmax": _softmax(torch.log_softmax),
}

# ---- Operators that reduce, cut, join and reshape

# `Cast` numbers types as onnx.TensorProto does.
CAST_TYPES: dict[int, torch.dtype] = {
    1: torch.float32,
    2: torch.uint8,
    3: torch.int8,
    6: torch.int32,
    7: torch.int64,
    9: torch.bool,
    10: torch.float16,
    11: torch.float64,
    16: torch.bfloat16,
}
PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}


def _axes(call: Call, place: int = 1) -> list[int] | None:
    given = call.numbers(place, "axes")
    return None if given is None else [int(axis) for axis in given]


def _reduce(on_tensors: Callable[..., Tensor], on_known: Callable[..., Any]) -> Operator:
    def run(call: Call) -> Value:
        x, axes, keep = call.inputs[0], _axes(call), bool(call.get("keepdims", 1))
        if not axes and call.get("noop_with_empty_axes", 0):
            return x
        if not isinstance(x, Tensor):
            known = call.known(0)
            return np.asarray(on_known(known, axis=tuple(axes) if axes else None, keepdims=keep))
        return on_tensors(x, dim=axes or list(range(x.dim())), keepdim=keep)

    return operator(run, "axes keepdims noop_with_empty_axes")


def _product(x: Tensor, dim: list[int], keepdim: bool) -> Tensor:
    for axis in sorted((axis % x.dim() for axis in dim), reverse=True):
        x = x.prod(dim=axis, keepdim=keepdim)
    return x


def _shape(call: Call) -> Known:
    value = call.inputs[0]
    shape = value.shape if isinstance(value, Tensor) else call.known(0).shape
    kept = list(shape)[call.get("start", 0) : call.get("end", None)]
    found = np.empty(len(kept), dtype=object)  # numbers, or symbols of an export
    found[:] = kept
    return found


def _reshape(call: Call) -> Value:
    wanted, value = call.numbers(1, "shape") or [], call.inputs[0]
    if not isinstance(value, Tensor):
        return call.known(0).reshape([int(length) for length in wanted])
    if not call.get("allowzero", 0):
        wanted = [value.shape[i] if length == 0 else length for i, length in enumerate(wanted)]
    if call.rows is not None and wanted and wanted[0] == call.fixed_rows and value.dim():
        # A graph for a fixed number of rows has that number in its shapes.
        wanted[0] = call.rows if value.shape[0] == call.rows else wanted[0]
    return value.reshape(wanted)


def _flatten(call: Call) -> Tensor:
    x, axis = call.tensor(0), call.get("axis", 1)
    if axis == 1 and x.dim() > 1:
        return x.flatten(1)
    axis = axis % x.dim() if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _transpose(call: Call) -> Value:
    value = call.inputs[0]
    if not isinstance(value, Tensor):
        return np.transpose(call.known(0), call.get("perm", None))
    return value.permute(call.get("perm", list(range(value.dim()))[::-1]))


def _squeeze(call: Call) -> Value:
    axes, value = _axes(call), call.inputs[0]
    if not isinstance(value, Tensor):
        return np.squeeze(call.known(0), tuple(axes) if axes else None)
    return value.squeeze(axes) if axes else value.squeeze()


def _unsqueeze(call: Call) -> Value:
    axes, value = _axes(call) or [], call.inputs[0]
    if not isinstance(value, Tensor):
        return np.expand_dims(call.known(0), tuple(axes))
    rank = value.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        value = value.unsqueeze(axis)
    return value


def _concat(call: Call) -> Value:
    axis, count = call.get("axis", 1), range(len(call.inputs))
    if any(isinstance(value, Tensor) for value in call.inputs):
        return torch.cat([call.tensor(place) for place in count], dim=axis)
    return np.concatenate([call.known(place) for place in count], axis=axis)


def _slice(call: Call) -> Value:
    value = call.inputs[0]
    starts, ends = call.numbers(1, "starts") or [], call.numbers(2, "ends") or []
    axes = _axes(call, 3) or list(range(len(starts)))
    steps = call.numbers(4) or [1] * len(starts)
    whole = value if isinstance(value, Tensor) else call.known(0)
    if isinstance(value, Tensor) and min(steps, default=1) < 0:
        raise call.refusal("with a negative step")
    chosen = [slice(None)] * whole.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        chosen[axis] = slice(start, end, step)
    return whole[tuple(chosen)]


def _split(call: Call) -> tuple[Tensor, ...]:
    x, axis = call.tensor(0), call.get("axis", 0)
    sizes = call.numbers(1, "split")
    if sizes is None:
        return torch.split(x, -(-x.shape[axis] // call.outputs), dim=axis)
    return torch.split(x, [int(size) for size in sizes], dim=axis)


def _pad(call: Call) -> Tensor:
    x, pads = call.tensor(0), call.numbers(1, "pads") or []
    mode, axes = call.get("mode", "constant"), _axes(call, 3) or list(range(x.dim()))
    if mode not in PAD_MODES:
        raise call.refusal(f"with mode {mode}")
    value = call.numbers(2)
    both = {axis % x.dim(): (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    first = min((axis for axis, pair in both.items() if any(pair)), default=None)
    if first is None:
        return x
    # The last axis comes first, and axes that are not padded at all may be left out.
    flat = [
        int(end) for axis in range(x.dim() - 1, first - 1, -1) for end in both.get(axis, (0, 0))
    ]
    if mode == "constant":
        return functional.pad(x, flat, "constant", value[0] if value else call.get("value", 0.0))
    return functional.pad(x, flat, PAD_MODES[mode])


def _gather(call: Call) -> Value:
    data, axis = call.inputs[0], call.get("axis", 0)
    if not isinstance(data, Tensor):
        return np.asarray(np.take(call.known(0), call.known(1).astype(np.int64), axis=axis))
    axis, length = axis % data.dim(), data.shape[axis]
    if not isinstance(call.inputs[1], Tensor) and call.known(1).ndim == 0:
        return data.select(axis, int(call.known(1)))
    indices = call.tensor(1).long()
    indices = torch.where(indices < 0, indices + length, indices)
    found = data.index_select(axis, indices.reshape(-1))
    return found.reshape(*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


def _constant_of_shape(call: Call) -> Value:
    shape, value = call.numbers(0) or [], call.get("value", np.zeros(1, np.float32)).reshape(-1)[0]
    if np.issubdtype(value.dtype, np.floating):
        kind = torch.from_numpy(np.zeros(1, value.dtype)).dtype
        return torch.full(shape, float(value), dtype=kind, device=call.device)
    return np.full(shape, value)


def _range(call: Call) -> Tensor:
    ends = [call.known(place).reshape(-1)[0] for place in range(3)]
    return torch.arange(*ends, device=call.device)


def _cast(call: Call) -> Value:
    kind, value = CAST_TYPES.get(call.get("to", 1)), call.inputs[0]
    if kind is None:
        raise call.refusal(f"to the type {call.get('to', 1)}")
    if isinstance(value, Tensor):
        return value.to(kind)
    if not kind.is_floating_point:  # known numbers stay what they are
        return call.known(0)
    return call.tensor(0).to(kind)


def _expand(call: Call) -> Tensor:
    x, shape = call.tensor(0), call.numbers(1) or []
    own = [1] * (len(shape) - x.dim()) + list(x.shape)
    shape = [1] * (len(own) - len(shape)) + shape
    return x.expand(
        [mine if length == 1 else length for mine, length in zip(own, shape, strict=True)]
    )


def _depth_to_space(call: Call) -> Tensor:
    x, side = call.tensor(0), call.get("blocksize", 1)
    if call.get("mode", "DCR") == "CRD":
        return functional.pixel_shuffle(x, side)
    rows, channels, height, width = x.shape
    parts = x.reshape(rows, side, side, channels // side**2, height, width)
    whole = parts.permute(0, 3, 4, 1, 5, 2)
    return whole.reshape(rows, channels // side**2, height * side, width * side)


def _same(call: Call) -> Value:
    return call.inputs[0]


RESHAPING: dict[str, Operator] = {
    "ReduceMean": _reduce(torch.mean, np.mean),
    "ReduceSum": _reduce(torch.sum, np.sum),
    "ReduceMax": _reduce(torch.amax, np.max),
    "ReduceMin": _reduce(torch.amin, np.min),
    "ReduceProd": _reduce(_product, np.prod),
    "ReduceL2": _reduce(torch.linalg.vector_norm, np.linalg.norm),
    "Shape": operator(_shape, "start end"),
    "Reshape": operator(_reshape, "allowzero shape"),
    "Flatten": operator(_flatten, "axis"),
    "Transpose": operator(_transpose, "perm"),
    "Squeeze": operator(_squeeze, "axes"),
    "Unsqueeze": operator(_unsqueeze, "axes"),
    "Concat": operator(_concat, "axis"),
    "Slice": operator(_slice, "starts ends axes"),
    "Split": operator(_split, "axis split num_outputs"),
    "Pad": operator(_pad, "mode pads value"),
    "Gather": operator(_gather, "axis"),
    "ConstantOfShape": operator(_constant_of_shape, "value"),
    "Range": operator(_range),
    "Cast": operator(_cast, "to saturate round_mode"),
    "Expand": operator(_expand),
    "DepthToSpace": operator(_depth_to_space, "blocksize mode"),
    "Identity": operator(_same),
    "Dropout": operator(_same, "ratio seed"),  # as in evaluation
}

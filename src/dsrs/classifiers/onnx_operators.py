"""Operators of ONNX in PyTorch: how one is called, and those that work value by value.

A value of a graph is a tensor, or an array of whole numbers and settings that do not depend on the
inputs' values, such as a shape. These stay in NumPy, where they may be the symbols of an export, so
that a graph may compute shapes for any number of rows.
"""

from __future__ import annotations

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

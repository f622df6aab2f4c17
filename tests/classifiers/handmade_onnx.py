"""ONNX models written by hand, for tests of what reads their graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

# Operator, inputs, outputs, attributes.
Node = tuple[str, Sequence[str], Sequence[str], Mapping[str, Any]]


def model_of_nodes(
    nodes: Sequence[Node],
    constants: Mapping[str, NDArray[Any]],
    shape: Sequence[int],
    *,
    opset: int = 17,
    rows: int | str = "n",
    flatten: bool = True,
    kind: int = TensorProto.FLOAT,
) -> bytes:
    """A model from `x` to the result `y` of the nodes, of this kind, flattened as `logits`."""
    made = [
        helper.make_node(
            operator.rpartition(".")[2],
            list(inputs),
            list(outputs),
            domain=operator.rpartition(".")[0],
            **attributes,
        )
        for operator, inputs, outputs, attributes in nodes
    ]
    if flatten:
        made.append(helper.make_node("Flatten", ["y"], ["logits"]))
    target = "logits" if flatten else "y"
    graph = helper.make_graph(
        made,
        "handmade",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, *shape])],
        [helper.make_tensor_value_info(target, kind, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=8
    ).SerializeToString()
    return content

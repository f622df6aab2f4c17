"""Each operator of ONNX in PyTorch answers as ONNX Runtime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import from_onnx
from dsrs.errors import ClassifierError

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
torch = pytest.importorskip("torch", reason="needs the extra `torch`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from classifiers.handmade_onnx import Node, model_of_nodes  # noqa: E402

IMAGE = (4, 7, 6)
RNG = np.random.default_rng(3)


def weights(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(0.0, 0.5, shape).astype(np.float32)


def whole(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


def one(operator: str, *inputs: str, **attributes: Any) -> list[Node]:
    """A single node from x, and perhaps constants, to y."""
    return [(operator, ["x", *inputs], ["y"], attributes)]


def agrees(
    nodes: list[Node],
    constants: dict[str, Any] | None = None,
    opset: int = 17,
    shape: tuple[int, ...] = IMAGE,
) -> None:
    """Check answers on another number of rows than those that the reader compares itself."""
    model = from_onnx(model_of_nodes(nodes, constants or {}, shape, opset=opset), input_shape=shape)
    assert model.weights is not None
    batch = RNG.normal(0.5, 1.0, (5, *shape)).astype(np.float32)
    with torch.no_grad():
        found = model.weights.module()(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(found, model.forward(batch), rtol=0, atol=2e-4)


LAYERS: dict[str, tuple[list[Node], dict[str, Any]]] = {
    "conv": (one("Conv", "w", "b", pads=[1, 0, 2, 1]), {"w": weights(5, 4, 3, 3), "b": weights(5)}),
    "conv groups": (
        one("Conv", "w", group=2, strides=[2, 1], dilations=[2, 1]),
        {"w": weights(6, 2, 2, 3)},
    ),
    "conv same": (
        one("Conv", "w", auto_pad="SAME_UPPER", strides=[2, 2]),
        {"w": weights(5, 4, 3, 2)},
    ),
    "conv lower": (
        one("Conv", "w", auto_pad="SAME_LOWER", strides=[2, 2]),
        {"w": weights(5, 4, 4, 2)},
    ),
    "transposed": (
        one("ConvTranspose", "w", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
        {"w": weights(4, 3, 3, 3)},
    ),
    "transposed uneven": (
        one("ConvTranspose", "w", "b", strides=[2, 2], pads=[1, 0, 0, 2]),
        {"w": weights(4, 3, 3, 3), "b": weights(3)},
    ),
    "gemm": (
        [
            ("Flatten", ["x"], ["f"], {}),
            ("Gemm", ["f", "w", "b"], ["y"], {"alpha": 0.5, "beta": 2.0}),
        ],
        {"w": weights(168, 3), "b": weights(1, 3)},
    ),
    "matmul": (one("MatMul", "w"), {"w": weights(6, 2)}),
    "max pool": (one("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]), {}),
    "max pool ceiling": (one("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {}),
    "mean pool": (one("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), {}),
    "mean pool counts pads": (
        one("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        {},
    ),
    "mean pool uneven": (one("AveragePool", kernel_shape=[2, 2], auto_pad="SAME_UPPER"), {}),
    "global mean": (one("GlobalAveragePool"), {}),
    "global max": (one("GlobalMaxPool"), {}),
    "batch norm": (
        one("BatchNormalization", "s", "b", "m", "v", epsilon=1e-3),
        {"s": weights(4), "b": weights(4), "m": weights(4), "v": weights(4) ** 2 + 0.1},
    ),
    "instance norm": (one("InstanceNormalization", "s", "b"), {"s": weights(4), "b": weights(4)}),
    "layer norm": (
        one("LayerNormalization", "s", "b", axis=-2),
        {"s": weights(7, 6), "b": weights(7, 6)},
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    agrees(*LAYERS[name])


@pytest.mark.parametrize(
    "operator",
    [
        *("Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Softsign", "Erf", "Abs", "Neg"),
        *("Exp", "Sin", "Cos", "Floor", "Ceil", "Reciprocal", "LeakyRelu", "Elu", "HardSigmoid"),
    ],
)
def test_functions_of_one_value(operator: str) -> None:
    agrees(one(operator))


def test_functions_with_settings() -> None:
    agrees(one("LeakyRelu", alpha=0.2))
    agrees(one("Elu", alpha=0.4))
    agrees(one("HardSigmoid", alpha=0.3, beta=0.4))
    agrees(one("PRelu", "s"), {"s": weights(4, 1, 1)})
    agrees(one("Clip", "low", "high"), {"low": np.float32(0.0), "high": np.float32(6.0)})
    agrees(one("Clip", "", "high"), {"high": np.float32(0.5)})
    agrees(one("Clip", min=0.0, max=6.0), opset=10)
    for how in ("none", "tanh"):
        agrees(one("Gelu", approximate=how), opset=20)
    for root in ("Sqrt", "Log"):
        agrees([("Abs", ["x"], ["a"], {}), (root, ["a"], ["y"], {})])


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean"])
def test_functions_of_two_values(operator: str) -> None:
    agrees(one(operator, "c"), {"c": weights(4, 1, 1) + 3})
    agrees([(operator, ["c", "x"], ["y"], {})], {"c": weights(6) + 3})


def test_powers_comparisons_and_choices() -> None:
    agrees(one("Pow", "e"), {"e": np.float32(2.0)})
    for how in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"):
        nodes: list[Node] = [(how, ["x", "c"], ["t"], {}), ("Where", ["t", "x", "c"], ["y"], {})]
        agrees(nodes, {"c": weights(6)})
    mask = np.arange(6) % 2 == 0
    agrees([("Where", ["mask", "x", "c"], ["y"], {})], {"mask": mask, "c": np.float32(-1.0)})


@pytest.mark.parametrize(("opset", "axis"), [(17, 1), (17, -1), (11, 1), (11, 2)])
def test_softmax_in_old_and_new_operator_sets(opset: int, axis: int) -> None:
    for operator in ("Softmax", "LogSoftmax"):
        agrees(one(operator, axis=axis), opset=opset)


def test_reductions() -> None:
    for operator in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd"):
        agrees(one(operator, axes=[2, -1], keepdims=1))
        agrees(one(operator, axes=[1], keepdims=0))
    agrees(one("ReduceMean", "axes"), {"axes": whole(2, 3)}, opset=18)
    agrees(one("ReduceSum", "axes", keepdims=0), {"axes": whole(1)})


def test_parts_and_orders() -> None:
    agrees(one("Transpose", perm=[0, 2, 3, 1]))
    agrees(
        one("Slice", "s", "e", "a", "t"),
        {
            "s": whole(1, -4),
            "e": whole(2**62, -1),
            "a": whole(2, 3),
            "t": whole(2, 1),
        },
    )
    agrees(one("Slice", starts=[1], ends=[3], axes=[1]), opset=9)
    agrees(
        [
            ("Split", ["x", "s"], ["p", "q"], {"axis": 1}),
            ("Concat", ["q", "p"], ["y"], {"axis": 1}),
        ],
        {"s": whole(1, 3)},
    )
    agrees([("Split", ["x"], ["p", "q"], {"axis": 1}), ("Sub", ["q", "p"], ["y"], {})])
    for mode in ("constant", "reflect", "edge"):
        agrees(one("Pad", "p", mode=mode), {"p": whole(0, 0, 2, 1, 0, 0, 0, 3)})
    agrees(one("Pad", "p", "v"), {"p": whole(0, 1, 0, 0, 0, 0, 0, 2), "v": np.float32(0.3)})
    agrees(one("Pad", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.2), opset=10)
    agrees(one("Gather", "i", axis=2), {"i": whole(0, -1, 3)})
    agrees(one("Gather", "i", axis=1), {"i": np.array(-2)})
    agrees(
        [("Unsqueeze", ["x", "a"], ["u"], {}), ("Expand", ["u", "s"], ["y"], {})],
        {"a": whole(1), "s": whole(1, 3, 1, 1, 1)},
    )
    for how in ("DCR", "CRD"):
        agrees(one("DepthToSpace", blocksize=2, mode=how))
    agrees(
        [("Unsqueeze", ["x", "a"], ["u"], {}), ("Squeeze", ["u", "a"], ["y"], {})], {"a": whole(-1)}
    )
    agrees([("Cast", ["x"], ["u"], {"to": 11}), ("Cast", ["u"], ["y"], {"to": 1})])
    agrees(one("Dropout"))


def test_shapes_that_a_graph_computes() -> None:
    """The rows of the batch, as exporters write x.view(x.size(0), -1), and zeros of that shape."""
    nodes: list[Node] = [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "zero"], ["n"], {}),
        ("Unsqueeze", ["n", "axes"], ["rows"], {}),
        ("Concat", ["rows", "minus"], ["wanted"], {"axis": 0}),
        ("Reshape", ["x", "wanted"], ["flat"], {}),
        ("Shape", ["flat"], ["t"], {}),
        ("ConstantOfShape", ["t"], ["zeros"], {}),
        ("Add", ["flat", "zeros"], ["y"], {}),
    ]
    agrees(nodes, {"zero": np.array(0), "axes": whole(0), "minus": whole(-1)})
    half: list[Node] = [
        ("Shape", ["x"], ["s"], {}),
        ("Slice", ["s", "two", "four"], ["sides"], {}),
        ("Mul", ["sides", "two"], ["twice"], {}),
        ("Slice", ["s", "zero", "two"], ["first"], {}),
        ("Concat", ["first", "twice"], ["sizes"], {"axis": 0}),
        ("Resize", ["x", "", "", "sizes"], ["y"], {"mode": "linear"}),
    ]
    agrees(half, {"zero": whole(0), "two": whole(2), "four": whole(4)})


def test_resizing() -> None:
    scales = {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 3], np.float32)}
    nearest = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    agrees(one("Resize", "r", "s", mode="nearest", **nearest), scales)
    for place in ("half_pixel", "align_corners", "pytorch_half_pixel"):
        agrees(one("Resize", "r", "s", mode="linear", coordinate_transformation_mode=place), scales)
    agrees(one("Upsample", "s", mode="nearest"), {"s": scales["s"]}, opset=9)


@pytest.mark.parametrize(
    ("nodes", "named"),
    [
        (one("CumSum", "a"), "the ONNX operator CumSum is not known"),
        (one("com.microsoft.QuickGelu"), r"operator com\.microsoft\.QuickGelu is not known"),
        (one("Resize", "", "s", mode="cubic"), "operator Resize with .*cubic.*: not supported"),
        (
            one("Resize", "", "sides", mode="linear", axes=[2, 3]),
            "the attribute axes of the ONNX operator Resize is not known",
        ),
        (one("AveragePool", kernel_shape=[2, 2], dilations=[2, 2]), "AveragePool with dilations"),
        ([("TopK", ["x", "one"], ["y", "places"], {})], "the ONNX operator TopK is not known"),
    ],
)
def test_what_is_not_known_is_named(nodes: list[Node], named: str) -> None:
    scales = np.array([1, 1, 2, 2], np.float32)
    constants = {"a": np.array(1), "s": scales, "sides": scales[2:], "one": whole(1)}
    used = {name: value for name, value in constants.items() if name in nodes[0][1]}
    model = from_onnx(model_of_nodes(nodes, used, IMAGE, opset=19), input_shape=IMAGE)
    assert model.weights is not None
    with pytest.raises(ClassifierError, match=named):
        model.weights.module()
    assert model.gradient() is None  # a black box, as without the reader

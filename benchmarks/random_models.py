"""Networks with random weights, as ONNX: what a benchmark of sampling needs of a model."""

from __future__ import annotations

import numpy as np

SHAPE = (1, 28, 28)
CIFAR_SHAPE = (3, 32, 32)


def small_cnn(seed: int = 0) -> bytes:
    """Four convolutions and three dense layers with random weights, the shape of `mnist-cnn`."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(seed)
    nodes, weights = [], []

    def layer(kind: str, source: str, shape: tuple[int, ...], **attributes: object) -> str:
        name = f"{kind}{len(nodes)}"
        values = generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        weights.append(numpy_helper.from_array(values.astype(np.float32), f"{name}.weight"))
        weights.append(numpy_helper.from_array(np.zeros(shape[0], np.float32), f"{name}.bias"))
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def then(kind: str, source: str) -> str:
        nodes.append(helper.make_node(kind, [source], [f"{kind}{len(nodes)}"]))
        return str(nodes[-1].output[0])

    last, channels = "x", 1
    for outputs, kernel, stride in ((32, 4, 2), (32, 3, 2), (64, 3, 2), (64, 3, 1)):
        sizes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [1] * 4}
        last = then("Relu", layer("Conv", last, (outputs, channels, kernel, kernel), **sizes))
        channels = outputs
    last, features = then("Flatten", last), 64 * 4 * 4
    for units in (256, 128):
        last = then("Relu", layer("Gemm", last, (units, features), transB=1))
        features = units
    last = layer("Gemm", last, (10, features), transB=1)
    graph = helper.make_graph(
        nodes,
        "mnist-cnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return bytes(model.SerializeToString())


def resnet_20() -> bytes:
    """The CIFAR network of the package, with its normalisation."""
    from dsrs.classifiers import exported_to_onnx
    from dsrs.training import fresh_model

    module = fresh_model("resnet-20", CIFAR_SHAPE, 10, (0.5,) * 3, (0.25,) * 3)
    return exported_to_onnx(module.eval(), CIFAR_SHAPE, (0.0, 1.0), "resnet-20")


MODELS = {"mnist-cnn": (small_cnn, SHAPE), "resnet-20": (resnet_20, CIFAR_SHAPE)}

"""Statistics of batch normalisation, estimated again: as PyTorch's training mode has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import from_onnx
from dsrs.classifiers.batch_statistics import with_statistics
from dsrs.errors import ClassifierError

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
torch = pytest.importorskip("torch", reason="needs the extra `torch`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

CHANNELS, CLASSES = 4, 3


def network() -> Any:
    """Two convolutions with normalisations that have seen other data."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, CHANNELS, 3, bias=False),
        torch.nn.BatchNorm2d(CHANNELS),
        torch.nn.ReLU(),
        torch.nn.Conv2d(CHANNELS, CHANNELS, 3, bias=False),
        torch.nn.BatchNorm2d(CHANNELS),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(CHANNELS, CLASSES),
    )
    for layer in (module[1], module[4]):
        layer.running_mean.uniform_(-0.1, 0.1)
        layer.running_var.uniform_(0.5, 1.5)
        torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
    return module.eval()


def as_onnx(module: Any, opset: int, rows: int | str = "n") -> bytes:
    """The network written by hand, with its normalisations."""
    weights = {name: value.detach().numpy() for name, value in module.state_dict().items()}
    make, nodes, source = helper.make_node, [], "x"
    for conv, norm in ((0, 1), (3, 4)):
        parts = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        nodes.append(make("Conv", [source, f"{conv}.weight"], [f"conv{conv}"]))
        nodes.append(make("BatchNormalization", [f"conv{conv}", *parts], [f"norm{norm}"]))
        nodes.append(make("Relu", [f"norm{norm}"], [f"relu{norm}"]))
        source = f"relu{norm}"
    nodes.append(make("GlobalAveragePool", [source], ["pooled"]))
    nodes.append(make("Flatten", ["pooled"], ["flat"]))
    nodes.append(make("Gemm", ["flat", "8.weight", "8.bias"], ["logits"], transB=1))
    kept = [numpy_helper.from_array(value, name) for name, value in weights.items() if value.ndim]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 1, 12, 12])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [rows, CLASSES])],
        kept,
    )
    opsets = [helper.make_opsetid("", opset)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=8
    ).SerializeToString()
    return content


def batches(seed: int, scale: float) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    shape = (32, 1, 12, 12)
    return [rng.normal(0.5, scale, shape).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize("opset", [15, 18])
def test_they_are_those_of_the_training_mode_of_pytorch(opset: int) -> None:
    module, noisy = network(), batches(1, 1.0)
    found = from_onnx(with_statistics(as_onnx(module, opset), noisy, []))
    for layer in (module[1], module[4]):
        layer.momentum = None  # the mean over the batches
        layer.reset_running_stats()
        layer.train()
    with torch.no_grad():
        for batch in noisy:
            module(torch.from_numpy(batch))
        module.eval()
        # PyTorch keeps the unbiased variance: 32 x 10 x 10 and 32 x 8 x 8 values in a batch.
        for layer, count in ((module[1], 3200), (module[4], 2048)):
            layer.running_var *= (count - 1) / count
        expected = module(torch.from_numpy(noisy[0])).numpy()
    assert np.abs(found.forward(noisy[0]) - expected).max() < 1e-4  # float32


def test_each_row_is_answered_by_itself_afterwards() -> None:
    found = from_onnx(with_statistics(as_onnx(network(), 17), batches(1, 1.0), []))
    batch = batches(2, 2.0)[0]
    alone = np.concatenate([found.forward(row[None]) for row in batch])
    assert np.abs(found.forward(batch) - alone).max() < 1e-5


def without_normalisation(content: bytes) -> bytes:
    """The model with its first normalisation gone, and the second folded by hand: none is left."""
    model = onnx.load_model_from_string(content)
    for node in [node for node in model.graph.node if node.op_type == "BatchNormalization"]:
        for other in model.graph.node:
            other.input[:] = [
                node.input[0] if name == node.output[0] else name for name in other.input
            ]
        model.graph.node.remove(node)
    plain: bytes = model.SerializeToString()
    return plain


def test_folded_normalisations_are_put_back() -> None:
    plain = without_normalisation(as_onnx(network(), 17))
    clean, noisy = batches(1, 0.2), batches(2, 1.0)
    # Statistics of the clean inputs themselves change nothing; those of noisy ones do.
    same = from_onnx(with_statistics(plain, clean[:1], clean[:1]))
    expected = from_onnx(plain).forward(clean[0])
    assert np.abs(same.forward(clean[0]) - expected).max() < 1e-3 * np.abs(expected).max()
    other = from_onnx(with_statistics(plain, noisy, clean))
    moved = np.abs(from_onnx(plain).forward(noisy[0]).mean(0) - expected.mean(0)).max()
    kept = np.abs(other.forward(noisy[0]).mean(0) - expected.mean(0)).max()
    assert kept < 0.5 * moved


def test_what_has_no_statistics_is_refused() -> None:
    with pytest.raises(ClassifierError, match="fixed number of rows"):
        with_statistics(as_onnx(network(), 17, rows=8), batches(1, 1.0), [])
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
    )
    flat = helper.make_model(graph, ir_version=8).SerializeToString()
    with pytest.raises(ClassifierError, match="neither batch normalisation nor convolutions"):
        with_statistics(flat, batches(1, 1.0), [])

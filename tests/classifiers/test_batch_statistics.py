"""Statistics of batch normalisation, moved towards those of inputs under noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import from_onnx, with_statistics
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


def answers_by_hand(
    module: Any, noisy: list[NDArray[np.float32]], clean: list[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """What the network answers for noisy[0] with its statistics moved as the docstring says.

    With d = E[clean], e = E[noisy] (mean or variance of a channel): each normalisation maps inputs
    of moments d + (e - d) / 2 to the outputs that it had for inputs of moments d.
    """
    layers = (module[1], module[4])
    with torch.no_grad():

        def moments(batches: list[NDArray[np.float32]], count: int) -> Any:
            """Those of the inputs of the normalisation, as the network is now."""
            seen = [module[:count](torch.from_numpy(batch)) for batch in batches]
            every = (0, 2, 3)
            means = torch.stack([part.mean(every) for part in seen]).mean(0)
            return means, torch.stack([part.var(every, unbiased=False) for part in seen]).mean(0)

        before = [moments(clean, count) for count in (1, 4)]
        for layer, count, (mean, variance) in zip(layers, (1, 4), before, strict=True):
            outputs = layer(torch.stack([mean, mean + variance.sqrt()])[:, :, None, None])
            low, high = outputs[:, :, 0, 0]
            noisy_mean, noisy_variance = moments(noisy, count)
            layer.running_mean.copy_((mean + noisy_mean) / 2)
            layer.running_var.copy_((variance + noisy_variance) / 2)
            spread = (variance + layer.eps).sqrt() / variance.sqrt()
            layer.weight.copy_((high - low) * spread)
            layer.bias.copy_(low)
        return np.asarray(module(torch.from_numpy(noisy[0])).numpy())


@pytest.mark.parametrize("opset", [15, 18])
def test_they_move_halfway_to_those_under_noise(opset: int) -> None:
    # One batch: with several, the later layer would see each behind statistics of that batch.
    module, noisy, clean = network(), batches(1, 1.0)[:1], batches(3, 0.3)[:1]
    found = from_onnx(with_statistics(as_onnx(module, opset), noisy, clean))
    plain = from_onnx(as_onnx(module, opset)).forward(noisy[0])
    expected = answers_by_hand(module, noisy, clean)
    assert np.abs(found.forward(noisy[0]) - expected).max() < 1e-5  # float32
    assert np.abs(plain - expected).max() > 0.01


@pytest.mark.parametrize("opset", [15, 18])
def test_without_noise_nothing_changes(opset: int) -> None:
    content, clean = as_onnx(network(), opset), batches(1, 0.5)[:1]
    same = from_onnx(with_statistics(content, clean, clean))
    assert np.abs(same.forward(clean[0]) - from_onnx(content).forward(clean[0])).max() < 1e-4


def test_each_row_is_answered_by_itself_afterwards() -> None:
    noisy, clean = batches(1, 1.0), batches(3, 0.3)
    found = from_onnx(with_statistics(as_onnx(network(), 17), noisy, clean))
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
    assert kept < 0.7 * moved  # the statistics move half of the way


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

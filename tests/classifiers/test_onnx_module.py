"""ONNX models as PyTorch modules: the same answers, gradients, training, and what is refused."""

from __future__ import annotations

import copy
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from classifiers.test_batch_statistics import as_onnx, batches, network, without_normalisation
from dsrs.classifiers import (
    CallableClassifier,
    Scaling,
    denoised,
    denoiser_from,
    from_onnx,
    load_classifier,
    normalised,
    scaled,
    with_normalisations,
)
from dsrs.errors import ClassifierError, MissingExtra

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
torch = pytest.importorskip("torch", reason="needs the extra `torch`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
pytest.importorskip("onnxscript", reason="needs the extra `torch`")

from onnx import TensorProto  # noqa: E402

from classifiers.handmade_onnx import Node, model_of_nodes  # noqa: E402
from dsrs.classifiers import exported_to_onnx  # noqa: E402
from dsrs.classifiers.onnx_layers import LAYERS  # noqa: E402
from dsrs.classifiers.onnx_module import OPERATORS  # noqa: E402
from dsrs.classifiers.onnx_operators import operator  # noqa: E402
from dsrs.networks import build_network  # noqa: E402

SHAPE = (1, 12, 12)


def module_of(model: CallableClassifier) -> Any:
    assert model.weights is not None
    return model.weights.module()


def by_scripting(module: Any, shape: tuple[int, ...], opset: int, **options: Any) -> bytes:
    """The module as the older exporter of PyTorch writes it."""
    stream = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = (torch.rand(1, *shape),)
        torch.onnx.export(module, example, stream, opset_version=opset, dynamo=False, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mnist-cnn", (1, 20, 20)),
        ("lenet", (1, 28, 28)),
        ("resnet-8-half", (3, 24, 24)),
        ("resnet-20", (3, 16, 16)),
    ],
)
@pytest.mark.parametrize("how", ["exported", "old", "fixed rows", "with normalisation"])
def test_networks_answer_as_in_onnx_runtime(name: str, shape: tuple[int, ...], how: str) -> None:
    torch.manual_seed(0)
    net = build_network(name, shape, 5).eval()
    if how == "exported":
        content = exported_to_onnx(net, shape, (0.0, 1.0), name)
    elif how == "fixed rows":
        content = by_scripting(net, shape, 12)
    else:
        kept = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
        axes = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}
        content = by_scripting(net, shape, 13, **axes, **(kept if how != "old" else {}))
    model = from_onnx(content)
    batch = np.random.default_rng(0).random((7, *shape), dtype=np.float32)
    with torch.no_grad():
        found = module_of(model)(torch.from_numpy(batch)).numpy()
    assert np.abs(found - model.forward(batch)).max() < 1e-4
    if how == "with normalisation":  # each weight, and each statistic, has a tensor of its own
        sizes = [
            sorted(each.numel() for each in part.parameters()) for part in (net, module_of(model))
        ]
        assert sizes[0] == sizes[1]  # fmt: skip


@pytest.mark.parametrize("name", [None, "clip", "dct"])
def test_gradients_are_those_of_difference_quotients(name: str | None) -> None:
    model = from_onnx(as_onnx(network(), 17))
    if name is not None:
        model = denoised(model, denoiser_from(name, SHAPE, (0.0, 1.0)))
    gradient, scores = model.gradient(), np.array([1.0, 0.0, 0.5])
    assert gradient is not None
    batch = np.random.default_rng(1).uniform(0.1, 0.9, (6, *SHAPE)).astype(np.float32)
    step = np.random.default_rng(2).normal(0, 3e-3, batch.shape).astype(np.float32)

    def mean_score(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        powers = np.exp(model.scores(rows))
        return np.asarray((powers / powers.sum(axis=1, keepdims=True)) @ scores)

    rise = (mean_score(batch + step) - mean_score(batch - step)).sum()
    assert 2 * float((gradient(batch, scores) * step).sum()) == pytest.approx(rise, rel=0.05)


def test_a_normalisation_before_the_model_is_a_part_of_module_and_gradient() -> None:
    model = normalised(from_onnx(as_onnx(network(), 17)), (0.3,), (0.2,), (0.0, 1.0))
    batch = np.random.default_rng(0).random((4, *SHAPE), dtype=np.float32)
    with torch.no_grad():
        found = module_of(model)(torch.from_numpy(batch)).numpy()
    assert np.abs(found - model.forward(batch)).max() < 1e-4
    gradient, rows = model.gradient(), torch.from_numpy(batch).requires_grad_(True)
    assert gradient is not None
    torch.softmax(module_of(model)(rows), dim=1)[:, 1].sum().backward()
    assert np.abs(gradient(batch, np.array([0.0, 1.0, 0.0])) - rows.grad.numpy()).max() < 1e-6


def test_units_of_features_are_a_part_of_the_gradient() -> None:
    weights = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    model = from_onnx(model_of_nodes([("MatMul", ["x", "w"], ["y"], {})], {"w": weights}, (3,)))
    scaling = Scaling((0.0, 1.0, 2.0), (1.0, 3.0, 4.0), (1.0, 2.0, 0.5))
    outer, inner = scaled(model, scaling).gradient(), model.gradient()
    assert outer is not None
    assert inner is not None
    batch, scores = np.random.default_rng(1).random((4, 3), dtype=np.float32), np.array([0.0, 1.0])
    expected = inner(scaling.to_own(batch), scores) * np.array(scaling.unit, np.float32)
    np.testing.assert_allclose(outer(batch, scores), expected, rtol=1e-6)


def test_normalisations_follow_the_mode_of_the_module() -> None:
    net = network()
    made = copy.deepcopy(module_of(from_onnx(as_onnx(net, 17))))
    batch = torch.from_numpy(batches(0, 1.0)[0])
    for each in (net, made):
        each.train()
        each(batch)
        each.eval()
    with torch.no_grad():  # both have moved their statistics by a tenth
        assert torch.allclose(made(batch), net(batch), atol=1e-5)
    made.to(torch.float64)
    assert {tensor.dtype for tensor in made.state_dict().values()} == {torch.float64}
    assert made(batch.double()).dtype == torch.float64


def test_equal_constants_that_share_a_tensor_are_trained_apart() -> None:
    """Exporters give the zeros of shifts and means one tensor."""
    zeros, ones = np.zeros(4, np.float32), np.ones(4, np.float32)
    weights = np.random.default_rng(0).normal(size=(4, 1, 3, 3)).astype(np.float32)
    nodes: list[Node] = [
        ("Conv", ["x", "w", "zeros"], ["c"], {}),
        ("BatchNormalization", ["c", "ones", "zeros", "zeros", "ones"], ["y"], {}),
    ]
    constants = {"w": weights, "zeros": zeros, "ones": ones}
    made = module_of(from_onnx(model_of_nodes(nodes, constants, SHAPE)))
    assert len(list(made.parameters())) == 4  # weights and biases, scales and shifts
    assert len(list(made.buffers())) == 2
    made.train()(torch.from_numpy(batches(0, 1.0)[0])).sum().backward()
    assert all(parameter.grad is not None for parameter in made.parameters())


def test_numbers_that_a_graph_computes_stay_open_in_an_export_of_the_module() -> None:
    """Rows are chosen by their numbers, which are computed from how many there are."""
    nodes: list[Node] = [
        ("Shape", ["x"], ["shape"], {}),
        ("Gather", ["shape", "zero"], ["n"], {}),
        ("Range", ["zero", "n", "one"], ["rows"], {}),
        ("Add", ["rows", "n"], ["later"], {}),
        ("Sub", ["later", "n"], ["again"], {}),
        ("Gather", ["x", "again"], ["y"], {}),
    ]
    constants = {"zero": np.array(0), "one": np.array(1)}
    made = module_of(from_onnx(model_of_nodes(nodes, constants, SHAPE)))
    exported = from_onnx(exported_to_onnx(made, SHAPE, (0.0, 1.0), "rows"))
    batch = np.random.default_rng(0).random((7, *SHAPE), dtype=np.float32)
    np.testing.assert_array_equal(exported.forward(batch), batch.reshape(7, -1))


def test_a_shape_with_a_fixed_number_of_rows_takes_any_number() -> None:
    weights = np.random.default_rng(0).normal(size=(144, 3)).astype(np.float32)
    nodes: list[Node] = [
        ("Reshape", ["x", "shape"], ["flat"], {}),
        ("MatMul", ["flat", "w"], ["y"], {}),
    ]
    constants = {"shape": np.array([1, 144]), "w": weights}
    made = module_of(from_onnx(model_of_nodes(nodes, constants, SHAPE, rows=1)))
    assert tuple(made(torch.zeros(5, *SHAPE)).shape) == (5, 3)


def test_a_last_softmax_is_left_out_of_the_module() -> None:
    weights = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    nodes: list[Node] = [("MatMul", ["x", "w"], ["z"], {}), ("Softmax", ["z"], ["y"], {"axis": 1})]
    model = from_onnx(model_of_nodes(nodes, {"w": weights}, (6,), flatten=False))
    batch = np.random.default_rng(1).random((4, 6), dtype=np.float32)
    with torch.no_grad():
        assert (
            np.abs(module_of(model)(torch.from_numpy(batch)).numpy() - batch @ weights).max() < 1e-5
        )


def test_normalisation_is_put_back_without_changing_answers() -> None:
    plain, clean = without_normalisation(as_onnx(network(), 17)), batches(1, 0.2)
    model = from_onnx(plain)
    assert model.weights is not None
    assert model.weights.trainable is not None
    made = model.weights.trainable(clean)
    statistics = [name for name, _ in made.named_buffers()]
    assert len(statistics) == 4  # the mean and the variance behind each of two convolutions
    made.train()
    with torch.no_grad():  # on clean inputs those of a batch are about these
        found = made(torch.from_numpy(clean[0])).numpy()
    assert np.abs(found - model.forward(clean[0])).max() < 0.05
    linear = model_of_nodes(
        [("MatMul", ["x", "w"], ["y"], {})], {"w": np.eye(3, dtype=np.float32)}, (3,)
    )
    assert with_normalisations(linear, []) == linear


def test_other_answers_are_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LAYERS["Gemm"]
    wrong = operator(lambda call: right.run(call) + 0.25, " ".join(right.attributes))
    monkeypatch.setitem(OPERATORS, "Gemm", wrong)
    model = from_onnx(as_onnx(network(), 17))
    with pytest.raises(ClassifierError, match=r"as a PyTorch module \(by 0\.25; up to 0\.001 is"):
        module_of(model)
    with pytest.raises(ClassifierError, match=r"by 0\.25"):  # the reason is remembered
        module_of(model)
    assert model.gradient() is None


def test_class_ids_and_a_missing_pytorch_leave_the_model_a_black_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes: list[Node] = [("ArgMax", ["x"], ["y"], {"axis": 1, "keepdims": 0})]
    content = model_of_nodes(nodes, {}, (3,), flatten=False, kind=TensorProto.INT64)
    model = from_onnx(content, num_classes=3)
    with pytest.raises(ClassifierError, match="the ONNX operator ArgMax is not known in PyTorch"):
        module_of(model)
    file = tmp_path / "net.onnx"
    file.write_bytes(as_onnx(network(), 17))
    loaded = load_classifier(file)

    def missing() -> Any:
        raise MissingExtra("torch", "torch")

    monkeypatch.setattr("dsrs.classifiers.onnx_file.imported_torch", missing)
    assert loaded.gradient() is None

"""ONNX files: shapes, outputs, fixed batches, threads, fingerprints and damage."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import from_onnx, load_classifier, provider_for
from dsrs.errors import ClassifierError, InvalidInput

onnx = pytest.importorskip("onnx", reason="needs the extra `torch`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WEIGHTS = np.random.default_rng(7).normal(size=(6, 3)).astype(np.float32)


def linear_model(
    weights: NDArray[np.float32] = WEIGHTS,
    rows: int | str = "n",
    features: int | str = 6,
    outputs: Sequence[str] = ("logits",),
) -> Any:
    nodes = [helper.make_node("MatMul", ["x", "w"], [name]) for name in outputs]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, features])],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, weights.shape[1]])
            for name in outputs
        ],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(tmp_path: Path, name: str = "net.onnx", **kwargs: Any) -> Path:
    path = tmp_path / name
    onnx.save(linear_model(**kwargs), path)
    return path


def batch_of(rows: int) -> NDArray[np.float32]:
    return np.random.default_rng(rows).normal(size=(rows, 6)).astype(np.float32)


def test_answers_are_those_of_the_matrix(tmp_path: Path) -> None:
    classifier = load_classifier(save(tmp_path))
    batch = batch_of(200)
    assert classifier.input_shape == (6,)
    assert classifier.num_classes == 3
    assert classifier.classify(batch).tolist() == (batch @ WEIGHTS).argmax(axis=1).tolist()


@pytest.mark.parametrize("fixed", [1, 4])
@pytest.mark.parametrize("rows", [1, 4, 11])
def test_a_fixed_batch_axis_does_not_limit_the_batches(
    tmp_path: Path, fixed: int, rows: int
) -> None:
    classifier = load_classifier(save(tmp_path, rows=fixed))
    batch = batch_of(rows)
    assert classifier.classify(batch).tolist() == (batch @ WEIGHTS).argmax(axis=1).tolist()


def test_many_threads_share_one_session(tmp_path: Path) -> None:
    classifier = load_classifier(save(tmp_path), threads=2)
    batches = [batch_of(rows) for rows in range(1, 60)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(classifier.classify, batches))
    for batch, answer in zip(batches, answers, strict=True):
        assert answer.tolist() == (batch @ WEIGHTS).argmax(axis=1).tolist()


def test_an_open_input_shape_must_be_given_and_fit(tmp_path: Path) -> None:
    path = save(tmp_path, features="features")
    with pytest.raises(ClassifierError, match="give `input_shape`"):
        load_classifier(path)
    assert load_classifier(path, input_shape=(6,)).num_classes == 3
    with pytest.raises(ClassifierError, match="failed on a batch"):
        load_classifier(path, input_shape=(5,))
    with pytest.raises(ClassifierError, match=r"takes inputs of shape \(6,\)"):
        load_classifier(save(tmp_path), input_shape=(2, 3))


def test_several_outputs_must_be_chosen_from(tmp_path: Path) -> None:
    path = save(tmp_path, outputs=("features", "logits"))
    with pytest.raises(ClassifierError, match="features, logits"):
        load_classifier(path)
    assert load_classifier(path, output="logits").num_classes == 3


def test_the_fingerprint_is_of_the_bytes_and_of_external_weights(tmp_path: Path) -> None:
    one = load_classifier(save(tmp_path, "a.onnx")).fingerprint
    assert load_classifier(save(tmp_path, "b.onnx")).fingerprint == one
    assert load_classifier(save(tmp_path, "c.onnx", weights=WEIGHTS + 1)).fingerprint != one
    outside = tmp_path / "outside.onnx"
    onnx.save(
        linear_model(),
        outside,
        save_as_external_data=True,
        location="outside.weights",
        size_threshold=0,
    )
    before = load_classifier(outside)
    (tmp_path / "outside.weights").write_bytes((WEIGHTS + 1).tobytes())
    assert load_classifier(outside).fingerprint != before.fingerprint


@pytest.mark.parametrize("kind", ["above", "absolute", "link"])
def test_weights_outside_the_folder_of_the_model_are_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Recent releases of ONNX Runtime refuse this themselves; older ones do not.
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was given to ONNX Runtime")

    monkeypatch.setattr("dsrs.classifiers.onnx_file.opened_session", never)
    folder = tmp_path / "folder"
    folder.mkdir()
    outside = tmp_path / ("outside" * 30)  # a name whose length takes two bytes
    outside.write_bytes(WEIGHTS.tobytes())
    (folder / "link").symlink_to(outside)
    places = {"above": f"../{outside.name}", "absolute": str(outside), "link": "link"}
    model = linear_model()
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], places[kind])
    model.graph.initializer[0].ClearField("raw_data")
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ClassifierError, match="outside its own folder"):
        load_classifier(path)


def test_nan_weights_are_found_when_loading(tmp_path: Path) -> None:
    with pytest.raises(ClassifierError, match="finite logits, got nan"):
        load_classifier(save(tmp_path, weights=np.full((6, 3), np.nan, np.float32)))


def test_cut_files_are_refused(tmp_path: Path) -> None:
    content = save(tmp_path).read_bytes()
    cut = tmp_path / "cut.onnx"
    for size in range(0, len(content), 17):
        cut.write_bytes(content[:size])
        with pytest.raises(ClassifierError):
            load_classifier(cut)


def test_missing_files_devices_and_threads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassifierError, match="no model file"):
        load_classifier(tmp_path / "none.onnx")
    path = save(tmp_path)
    with pytest.raises(InvalidInput, match="threads"):
        load_classifier(path, threads=0)
    with pytest.raises(ClassifierError, match="cannot run on 'tpu'"):
        load_classifier(path, device="tpu")


def test_bytes_are_a_model_as_well() -> None:
    assert from_onnx(linear_model().SerializeToString()).input_shape == (6,)


def test_a_double_input_is_refused(tmp_path: Path) -> None:
    model = linear_model()
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(WEIGHTS.astype(float), "w"))
    with pytest.raises(ClassifierError, match="one float32 input"):
        from_onnx(model.SerializeToString())


def test_a_device_has_its_provider_or_a_clear_message() -> None:
    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert provider_for("cpu", both) == provider_for("cpu:1", both) == "CPUExecutionProvider"
    assert provider_for("cuda", both) == ("CUDAExecutionProvider", {"device_id": "0"})
    assert provider_for("cuda:3", both) == ("CUDAExecutionProvider", {"device_id": "3"})
    with pytest.raises(ClassifierError, match="pip install onnxruntime-gpu"):
        provider_for("cuda", both[1:])
    with pytest.raises(ClassifierError, match="ONNX files run on cpu and cuda"):
        provider_for("mps", both)

"""Ensembles: the mean of the members' scores, one fingerprint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import ensemble, from_callable, from_onnx, load_classifier
from dsrs.errors import ClassifierError, InvalidInput

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def weights(seed: int, classes: int = 3) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(6, classes)).astype(np.float32)


def save(tmp_path: Path, seed: int, classes: int = 3, opset: int = 17) -> Path:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["logits"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", classes])],
        [numpy_helper.from_array(weights(seed, classes), "w")],
    )
    opsets = [helper.make_opsetid("", opset)]
    path = tmp_path / f"net{seed}-{classes}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_scores_are_averaged(tmp_path: Path) -> None:
    paths = [save(tmp_path, seed, opset=15 + seed) for seed in range(3)]
    whole = load_classifier(paths)
    batch = np.random.default_rng(5).normal(size=(300, 6)).astype(np.float32)
    mean = sum(batch @ weights(seed) for seed in range(3))
    assert whole.classify(batch).tolist() == np.argmax(mean, axis=1).tolist()
    members = [load_classifier(path) for path in paths]
    assert any(
        (member.classify(batch) != whole.classify(batch)).any() for member in members
    )  # otherwise this test could not fail
    assert all(member.fingerprint in whole.fingerprint for member in members)
    assert load_classifier(paths[:2]).fingerprint != whole.fingerprint


def test_an_ensemble_is_one_onnx_file_too(tmp_path: Path) -> None:
    whole = load_classifier([save(tmp_path, seed, opset=15 + seed) for seed in range(3)])
    batch = np.random.default_rng(5).normal(size=(50, 6)).astype(np.float32)
    one_file = from_onnx(whole.graph())  # type: ignore[attr-defined]
    assert np.allclose(one_file.forward(batch), whole.forward(batch), atol=1e-5)  # type: ignore[attr-defined]


def test_probabilities_and_logits_are_not_averaged() -> None:
    def logits(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        return batch @ weights(0)

    def shares(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        powers = np.exp(logits(batch))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)

    first, second = (
        from_callable(function, input_shape=(6,), num_classes=3) for function in (logits, shares)
    )
    with pytest.raises(InvalidInput, match="some models of the ensemble return probabilities"):
        ensemble([first, second])
    ensemble([second, second])


def test_a_denoiser_stands_before_every_member(tmp_path: Path) -> None:
    paths = [save(tmp_path, seed) for seed in range(2)]
    batch = 3 * np.random.default_rng(5).normal(size=(300, 6)).astype(np.float32)
    clipped = load_classifier(paths, denoise="clip")
    expected = load_classifier(paths).classify(np.clip(batch, 0, 1))
    assert clipped.classify(batch).tolist() == expected.tolist()


def test_members_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the same `num_classes`"):
        load_classifier([save(tmp_path, 0), save(tmp_path, 1, classes=4)])
    with pytest.raises(InvalidInput, match="two models or more"):
        ensemble([load_classifier(save(tmp_path, 0))])
    ids = from_callable(lambda batch: np.zeros(len(batch), np.int64), (6,), 3, name="zeros")
    with pytest.raises(ClassifierError, match="returns classes only"):
        ensemble([load_classifier(save(tmp_path, 0)), ids])
    with pytest.raises(InvalidInput, match="`weights` are those of one model"):
        load_classifier([save(tmp_path, 0)] * 2, weights="w.pth")


def test_a_folder_with_a_model_is_one(tmp_path: Path) -> None:
    file = save(tmp_path, 0)
    folder = tmp_path / "adapted"
    folder.mkdir()
    with pytest.raises(ClassifierError, match=r"a folder is a model if it holds model\.onnx"):
        load_classifier(folder)
    file.rename(folder / "model.onnx")
    assert load_classifier(folder).num_classes == 3

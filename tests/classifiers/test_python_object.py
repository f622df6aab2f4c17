"""`package.module:name`, scikit-learn estimators, and the door for models given by name."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dsrs.classifiers import from_sklearn, load_classifier
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra

SOURCE = """
import numpy as np
from dsrs.classifiers import from_callable

def logits(batch):
    total = batch.reshape(len(batch), -1).sum(axis=1)
    return np.stack([total, 1 - total], axis=1)

def factory():
    return logits

def ready():
    return from_callable(logits, (2,), name="ready")

class Holder:
    inner = staticmethod(logits)

number = 3
"""

TORCH_SOURCE = """
import torch

def build():
    return torch.nn.Linear(3, 2).eval()

def forgot_eval():
    return torch.nn.Linear(3, 2)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the user's modules in it."""
    (tmp_path / "own_models.py").write_text(SOURCE)
    (tmp_path / "own_torch_models.py").write_text(TORCH_SOURCE)
    monkeypatch.chdir(tmp_path)
    for name in ("own_models", "own_torch_models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["logits", "factory", "Holder.inner"])
def test_callables_and_factories_are_taken(models: Path, name: str) -> None:
    classifier = load_classifier(f"own_models:{name}", input_shape=(2,))
    assert classifier.num_classes == 2
    assert classifier.classify(np.array([[1, 1], [0, 0]], np.float32)).tolist() == [0, 1]
    assert str(models) not in sys.path


def test_a_ready_classifier_is_passed_on(models: Path) -> None:
    assert load_classifier("own_models:ready").description.startswith("ready;")


def test_the_fingerprint_changes_with_the_source(models: Path) -> None:
    before = load_classifier("own_models:logits", input_shape=(2,)).fingerprint
    (models / "own_models.py").write_text(SOURCE + "\n# another model\n")
    assert load_classifier("own_models:logits", input_shape=(2,)).fingerprint != before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own_models:absent", "has no 'absent'"),
        ("own_models:number", "of type int"),
        ("no_such_module:net", "cannot be imported"),
        ("net.xyz", "not a known kind of model"),
        ("weights.safetensors", "holds weights without a model"),
    ],
)
def test_what_cannot_be_taken_is_named(models: Path, spec: str, message: str) -> None:
    with pytest.raises(ClassifierError, match=message):
        load_classifier(spec, input_shape=(2,))


def test_options_that_do_not_apply_are_refused(models: Path) -> None:
    with pytest.raises(InvalidInput, match="give `input_shape`"):
        load_classifier("own_models:logits")
    with pytest.raises(InvalidInput, match="`weights`"):
        load_classifier("own_models:logits", input_shape=(2,), weights="w.safetensors")
    with pytest.raises(InvalidInput, match="`weights`"):
        load_classifier("net.onnx", weights="w.safetensors")
    with pytest.raises(InvalidInput, match="`output`"):
        load_classifier("own_models:logits", input_shape=(2,), output="logits")


def test_safetensors_are_loaded_into_a_torch_module(models: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    from safetensors.torch import save_file

    weights = {"weight": torch.tensor([[1.0, 0, 0], [0, 1.0, 0]]), "bias": torch.zeros(2)}
    save_file(weights, models / "w.safetensors")
    classifier = load_classifier(
        "own_torch_models:build", input_shape=(3,), weights="w.safetensors", engine="eager"
    )
    batch = np.array([[1, 0, 5], [0, 1, 5]], np.float32)
    assert classifier.classify(batch).tolist() == [0, 1]
    save_file({"weight": weights["weight"]}, models / "short.safetensors")
    (models / "cut.safetensors").write_bytes((models / "w.safetensors").read_bytes()[:40])
    for bad in ("short.safetensors", "cut.safetensors", "none.safetensors", "w.pt"):
        with pytest.raises(ClassifierError, match=bad):
            load_classifier("own_torch_models:build", input_shape=(3,), weights=bad)
    with pytest.raises(ClassifierError, match=r"\.eval\(\)"):
        load_classifier("own_torch_models:forgot_eval", input_shape=(3,))


def test_a_missing_extra_names_its_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.onnx").write_bytes(b"any")
    (tmp_path / "net.pt2").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"dsrs\[onnx\]"):
        load_classifier(tmp_path / "net.onnx")
    with pytest.raises(MissingExtra, match=r"dsrs\[torch\]"):
        load_classifier(tmp_path / "net.pt2")


def test_sklearn_estimators_predict_on_flattened_inputs() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs the extra `sklearn`")
    rng = np.random.default_rng(5)
    x = rng.random((90, 2, 3)).astype(np.float32)
    y = (x[:, 0, 0] * 3).astype(int)
    flat = x.reshape(90, -1)
    numbered = from_sklearn(linear_model.LogisticRegression().fit(flat, y), (2, 3))
    expected = linear_model.LogisticRegression().fit(flat, y).predict(flat)
    assert numbered.classify(x).tolist() == expected.tolist()
    # Labels 1, 3, 5 keep their number; names are numbered in their order.
    odd = from_sklearn(linear_model.LogisticRegression().fit(flat, 2 * y + 1), (2, 3))
    assert odd.num_classes == 6
    assert odd.classify(x).tolist() == (2 * expected + 1).tolist()
    names = np.array(["ant", "bee", "cat"])
    named = from_sklearn(linear_model.LogisticRegression().fit(flat, names[y]), (2, 3))
    assert named.classify(x).tolist() == expected.tolist()


def test_sklearn_estimators_must_be_fitted_and_fit_the_shape() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs the extra `sklearn`")
    with pytest.raises(ClassifierError, match=r"call \.fit"):
        from_sklearn(linear_model.LogisticRegression(), (4,))
    x = np.random.default_rng(0).random((20, 4))
    fitted = linear_model.LogisticRegression().fit(x, x[:, 0] > 0.5)
    assert from_sklearn(fitted).input_shape == (4,)
    with pytest.raises(ClassifierError, match="fitted on 4 features"):
        from_sklearn(fitted, (5,))
    signed = linear_model.LogisticRegression().fit(x, np.where(x[:, 0] > 0.5, 1, -1))
    with pytest.raises(ClassifierError, match="at least 0"):
        from_sklearn(signed)
    other = linear_model.LogisticRegression().fit(x, x[:, 1] > 0.5)
    assert from_sklearn(fitted).fingerprint != from_sklearn(other).fingerprint

"""Normalised inputs, channels last, and classes whose weights come from a file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import from_callable, load_classifier, normalised
from dsrs.errors import ClassifierError, InvalidInput

SOURCE = """
import numpy as np

class Answer:
    def __init__(self, values): self.values = values
    def __array__(self, dtype=None, copy=None): return self.values

def keras(batch):
    assert batch.shape[1:] == (5, 4, 3), batch.shape
    red, blue = batch[..., 0].mean(axis=(1, 2)), batch[..., 2].mean(axis=(1, 2))
    return Answer(np.stack([red, blue], axis=1))
"""
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, source in (("layout_models", SOURCE), ("layout_net", NET)):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_function_on_channels_last_sees_them_so() -> None:
    classifier = load_classifier(
        "layout_models:keras", input_shape=(3, 5, 4), num_classes=2, channels_last=True
    )
    batch = np.zeros((2, 3, 5, 4), np.float32)
    batch[0, 0], batch[1, 2] = 1, 1
    assert classifier.classify(batch).tolist() == [0, 1]
    with pytest.raises(ClassifierError, match="for images"):
        load_classifier("layout_models:keras", input_shape=(60,), num_classes=2, channels_last=True)
    with pytest.raises(InvalidInput, match="`channels_last`"):
        load_classifier("net.onnx", channels_last=True)


def test_noise_comes_before_normalisation() -> None:
    def sign(batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.asarray(batch[:, :, 0, 0].sum(axis=1) > 0, dtype=np.int64)

    inner = from_callable(sign, (2, 1, 1), 2)
    found = normalised(inner, (0.25, 0.5), (0.5, 0.25), (0.0, 1.0))
    batch = np.array([[0.5, 0.4], [0.2, 0.6], [0.0, 0.6]], np.float32).reshape(3, 2, 1, 1)
    # (0.25 / 0.5 - 0.1 / 0.25, -0.05 / 0.5 + 0.1 / 0.25, -0.25 / 0.5 + 0.1 / 0.25)
    assert found.classify(batch).tolist() == [1, 1, 0]
    assert found.fingerprint != inner.fingerprint
    assert normalised(inner, (0.25,), (0.5,), (0.0, 1.0)).fingerprint != found.fingerprint
    for mean, std in (((0.1, 0.2, 0.3), (1.0,)), ((0.1,), (0.0,)), ((np.nan,), (1.0,))):
        with pytest.raises(InvalidInput, match=r"`(mean|std)`"):
            normalised(inner, mean, std, (0.0, 1.0))


def test_a_class_with_weights_is_made_loaded_and_evaluated(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    weights = {"layer.weight": torch.eye(3)[:2].contiguous(), "layer.bias": torch.zeros(2)}
    save_file(weights, folder / "net.safetensors")
    classifier = load_classifier(
        "layout_net:Net", input_shape=(3,), weights="net.safetensors", engine="eager"
    )
    assert classifier.classify(np.eye(3, dtype=np.float32)[:2]).tolist() == [0, 1]
    with pytest.raises(ClassifierError, match=r"\.eval\(\)"):
        load_classifier("layout_net:Net", input_shape=(3,), engine="eager")


@pytest.mark.usefixtures("folder")
def test_an_architecture_is_found_in_the_working_folder() -> None:
    pytest.importorskip("torch")
    from dsrs.training import fresh_model

    model = fresh_model("layout_net:Net", (3,), 2, (0.0,), (1.0,))
    assert type(model).__name__ == "Net"
    with pytest.raises(ClassifierError, match="has no 'Missing'"):
        fresh_model("layout_net:Missing", (3,), 2, (0.0,), (1.0,))

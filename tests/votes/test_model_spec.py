"""Models are built from a name, and are those that were asked for or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import load_classifier
from dsrs.errors import ClassifierError
from dsrs.votes import ModelSpec

OPTIONS: dict[str, Any] = {"input_shape": (4,), "num_classes": 2}
SOURCE = """
import numpy as np
def step(batch):
    return (batch.mean(axis=1) > {level}).astype(np.int64)
"""


def test_the_same_name_gives_the_same_classifier() -> None:
    known = load_classifier("voters:bright", **OPTIONS)
    built = ModelSpec.of("voters:bright", OPTIONS, known).build("here")
    batch = np.linspace(0, 1, 20, dtype=np.float32).reshape(5, 4)
    np.testing.assert_array_equal(built.classify(batch), known.classify(batch))


def test_another_model_under_the_same_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "step_of_test.py").write_text(SOURCE.format(level=0.5))
    known = load_classifier("step_of_test:step", **OPTIONS)
    spec = ModelSpec.of("step_of_test:step", OPTIONS, known)
    other = ModelSpec(spec.name, spec.options, "sha256:0")
    assert spec.build("node 1").fingerprint == known.fingerprint
    with pytest.raises(ClassifierError, match="node 2 has another model than was asked for"):
        other.build("node 2")


def test_a_model_that_is_not_there_is_named_with_the_node() -> None:
    spec = ModelSpec("/nowhere/net.onnx", {}, "sha256:0")
    with pytest.raises(ClassifierError, match="node 3 cannot build the model"):
        spec.build("node 3")


def test_files_are_named_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").touch()
    Path("w.safetensors").touch()
    known = load_classifier("voters:bright", **OPTIONS)
    spec = ModelSpec.of("net.onnx", {"weights": "w.safetensors"}, known)
    assert spec.name == str(tmp_path / "net.onnx")
    assert spec.options["weights"] == str(tmp_path / "w.safetensors")

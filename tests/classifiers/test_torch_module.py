"""PyTorch modules: both engines agree, training mode is refused, fall-backs say why."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import fingerprint_of_module, from_torch
from dsrs.errors import ClassifierError, InvalidInput

pytest.importorskip("torch", reason="needs the extra `torch`")

import torch

SHAPE = (1, 8, 8)


def network(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 5),
    ).eval()


class Unexportable(torch.nn.Module):
    """Its answer depends on a number that the exporter cannot know."""

    def forward(self, x: Any) -> Any:
        total = x.flatten(1).sum(1)
        sign = 1.0 if total.sum().item() > 0 else -1.0
        return torch.stack([total * sign, -total], dim=1)


def test_both_engines_give_the_same_classes() -> None:
    module = network()
    fast = from_torch(module, SHAPE, engine="onnx")
    eager = from_torch(module, SHAPE, engine="eager")
    batch = np.random.default_rng(1).normal(0.5, 0.5, (257, *SHAPE)).astype(np.float32)
    with torch.no_grad():
        expected = module(torch.from_numpy(batch)).argmax(1).tolist()
    assert eager.classify(batch).tolist() == expected
    assert fast.classify(batch).tolist() == expected
    assert "onnxruntime" in fast.description
    assert "eager" in eager.description
    assert fast.fingerprint == eager.fingerprint


def test_what_cannot_be_exported_runs_eagerly_and_says_why() -> None:
    classifier = from_torch(Unexportable().eval(), (4,))
    assert "eager, as ONNX is not possible" in classifier.description


def test_an_export_that_answers_differently_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dsrs.classifiers import exported_to_onnx

    other = exported_to_onnx(network(1), SHAPE, (0.0, 1.0), "other")
    monkeypatch.setattr("dsrs.classifiers.torch_module.exported_to_onnx", lambda *_: other)
    with pytest.raises(ClassifierError, match="answers differently"):
        from_torch(network(0), SHAPE, engine="onnx")
    assert "answers differently" in from_torch(network(0), SHAPE).description


@pytest.mark.parametrize("part", [0, 3])
def test_training_mode_of_any_part_is_refused(part: int) -> None:
    module = network()
    module[part].train()
    with pytest.raises(ClassifierError, match=r"call \.eval\(\)"):
        from_torch(module, SHAPE, engine="eager")


def test_a_later_switch_to_training_mode_is_noticed() -> None:
    module = network()
    classifier = from_torch(module, SHAPE, engine="eager")
    module.train()
    with pytest.raises(ClassifierError, match="training mode"):
        classifier.classify(np.zeros((2, *SHAPE), np.float32))


def test_no_gradient_is_kept_and_read_only_batches_pass() -> None:
    module = network()
    classifier = from_torch(module, SHAPE, engine="eager")
    batch = np.zeros((2, *SHAPE), np.float32)
    batch.flags.writeable = False
    classifier.classify(batch)
    assert all(weight.grad is None for weight in module.parameters())


def test_the_fingerprint_is_of_structure_and_weights() -> None:
    assert fingerprint_of_module(network(0)) == fingerprint_of_module(network(0))
    assert fingerprint_of_module(network(0)) != fingerprint_of_module(network(1))
    leaky = network(0)
    leaky[2] = torch.nn.LeakyReLU()
    assert fingerprint_of_module(leaky) != fingerprint_of_module(network(0))


def test_wrong_answers_and_wrong_shapes_are_named() -> None:
    with pytest.raises(ClassifierError, match="failed on a batch"):
        from_torch(network(), (1, 9, 9), engine="eager")
    broken = network()
    with torch.no_grad():
        broken[5].bias.fill_(float("nan"))
    with pytest.raises(ClassifierError, match="finite logits"):
        from_torch(broken, SHAPE, engine="eager")
    with pytest.raises(InvalidInput, match="engine"):
        from_torch(network(), SHAPE, engine="fast")  # type: ignore[arg-type]


def test_the_exporter_of_pytorch_prints_nothing_when_it_fails(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In a process of its own: PyTorch logs to the standard error that it found at its start."""
    code = """
import torch
from dsrs.classifiers import exported_to_onnx
from dsrs.errors import ClassifierError
try:
    exported_to_onnx(torch.nn.Conv2d(3, 4, 3).eval(), (1, 8, 8), (0.0, 1.0), "net")
except ClassifierError as error:
    assert "cannot be exported" in str(error)
else:
    raise AssertionError("a wrong number of channels was exported")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert capfd.readouterr() == ("", "")

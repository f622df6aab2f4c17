"""`dsrs doctor`: what is here, and whether it can be trusted."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import from_torch
from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.networks import build_network
from dsrs.votes import count_votes, machine

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ROUND_SECONDS", 0.01)


def test_the_report_names_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "cpu", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["packages"]["numpy"] == np.__version__
    (device,) = report["devices"]
    assert device["noise"] == "host"
    assert device["answers_agree"]
    assert device["votes"] > 0
    assert device["overlap_agrees"] is None
    assert "CPUExecutionProvider" in report["onnx_providers"]
    assert report["dsrs"]


def test_what_is_missing_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = machine._version
    monkeypatch.setattr(
        machine, "_version", lambda name: None if name == "ray" else installed(name)
    )
    assert main(["doctor", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "missing     clusters: pip install 'dsrs[ray]'" in out
    assert "noise    made by the processor" in out


def test_a_device_that_answers_otherwise_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drifting(*arguments: Any) -> Any:
        module = build_network(*arguments)
        last = list(module.modules())[-1]
        last.register_forward_hook(lambda _, given, answer: answer + next(steps))
        return module

    steps = iter(np.arange(1000.0))
    monkeypatch.setattr(machine, "build_network", drifting)
    assert main(["doctor", "--device", "cpu"]) == 1
    assert "NOT those of the CPU" in capsys.readouterr().out


def test_the_way_of_a_gpu_is_tried_on_the_processor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "cpu:0"]) == 0
    out = capsys.readouterr().out
    assert "made here by eager operations, bit for bit the processor's" in out
    assert "no GPU was tried" in out


@pytest.mark.parametrize("same", [True, False])
def test_overlap_is_remembered_only_where_votes_agree(
    same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[bool] = []
    counted = count_votes

    def count(*arguments: Any) -> Any:
        found = counted(*arguments)
        if os.environ.get("DSRS_OVERLAP") == "on" and not same:
            found.votes[0, 0] += 1
        return found

    monkeypatch.setattr(machine, "count_votes", count)
    monkeypatch.setattr(machine, "record_pass", lambda place, passed: passes.append(passed))
    module = build_network("mnist-cnn", (1, 28, 28), 10).eval()
    model = from_torch(module, (1, 28, 28), device="cpu:0")
    x = np.zeros((1, 28, 28), np.float32)
    assert machine._overlap(model, x, torch.device("cpu:0"), True) is same
    assert passes == [same]
    assert machine._overlap(model, x, torch.device("cpu:0"), False) is same
    assert passes == [same, False]


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match="'cuda:77' cannot be used"):
        machine.report_on("cuda:77")
    with pytest.raises(InvalidInput, match="'nonsense' cannot be used"):
        machine.report_on("nonsense")

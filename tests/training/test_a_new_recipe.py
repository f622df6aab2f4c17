"""A recipe is one file and one line of the registry: what else must know of it, knows of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import torch

from dsrs.cli.main import known_commands, main
from dsrs.training import RECIPES, Batch, Recipe, setting


# What stands in the recipe's file ...
@dataclass(frozen=True)
class Brightness(Recipe):
    """Cross entropy at images that are also made brighter."""

    name: ClassVar[str] = "brightness"
    summary: ClassVar[str] = "cross entropy at brighter images"
    source: ClassVar[str] = "this test"

    glow: float = setting(0.1, "how much brighter the images are made")

    def objective(self, model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        logits = model(batch.images + batch.noise(batch.images) + self.glow)
        return torch.nn.functional.cross_entropy(logits, batch.labels), logits.unsqueeze(0)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, Brightness.name, Brightness)  # ... and the line of the registry


@pytest.fixture
def data(tmp_path: Path) -> Path:
    images = np.random.default_rng(0).integers(0, 256, (24, 12, 12), dtype=np.uint8)
    np.savez(tmp_path / "data.npz", x_train=images, y_train=np.arange(24) % 2)
    return tmp_path / "data.npz"


@pytest.mark.usefixtures("registered")
def test_a_new_recipe_trains_by_command_and_is_on_the_card(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--data", str(data), "--output", str(data.parent / "model"), "--sigma", "0.2"]
    words += ["--architecture", "mnist-cnn", "--epochs", "1", "--batch-size", "8", "--workers", "1"]
    assert main([*words, "--recipe", "brightness", "--glow", "0.3"]) == 0
    assert "accuracy under noise" in capsys.readouterr().out
    card = json.loads((data.parent / "model" / "card.json").read_text())
    assert card["recipe"] == {"name": "brightness", "noises": 1, "glow": 0.3}
    assert card["settings"]["recipe"] == card["recipe"]
    assert (data.parent / "model" / "model.onnx").exists()
    assert main([*words, "--recipe", "brightness", "--glow", "0.4", "--resume"]) == 2
    told = capsys.readouterr().err
    assert "belongs to another run" in told
    assert "'glow': 0.3" in told


@pytest.mark.usefixtures("registered")
def test_a_new_recipe_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "brightness (this test): cross entropy at brighter images" in text
    assert "--glow GLOW brightness: how much brighter the images are made" in text
    assert "--noises NOISES all: noise vectors per image (m)" in text


@pytest.mark.usefixtures("registered")
def test_the_settings_of_a_new_recipe_are_checked(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--data", str(data), "--output", str(data.parent / "model"), "--sigma", "0.2"]
    assert main([*words, "--recipe", "brightness", "--glow", "-1"]) == 2
    assert "--glow must be at least 0, got -1.0" in capsys.readouterr().err
    assert main([*words, "--recipe", "brightness", "--steps", "2"]) == 2
    assert "the recipe brightness has no --steps; its settings" in capsys.readouterr().err


def test_every_option_of_train_says_what_it_does() -> None:
    for option in known_commands(["train"]).by_name["train"].all_options():
        assert option.help, option.name

"""Whole runs on tiny data: resume, the command, the files it writes."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import torch

from dsrs.classifiers import load_classifier
from dsrs.cli import train as verb
from dsrs.cli.main import parsed as arguments_of
from dsrs.datasets import Dataset, load_dataset
from dsrs.errors import (
    ClassifierError,
    InvalidInput,
    MissingExtra,
    StoreCorrupted,
    StoreMismatch,
    StoreTooNew,
)
from dsrs.laws import GeneralizedGaussian
from dsrs.networks import CifarResNet
from dsrs.training import (
    SmoothMix,
    Trained,
    TrainingSettings,
    fresh_model,
    recommended_settings,
    train,
    train_model,
)


def stripes(count: int, seed: int, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of images: rows, columns or a checkerboard, a little noisy."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    row, column = np.indices((side, side))
    patterns = np.stack([row % 2, column % 2, (row + column) % 2]) * 200
    images = patterns[labels] + generator.integers(0, 50, (count, side, side))
    return images.astype(np.uint8), labels


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset.from_arrays(*stripes(48, seed=0), name="stripes")


class Interrupted(Exception):
    pass


class StopAfter:
    """Breaks a run off in the middle of the epoch after `epoch`."""

    def __init__(self, epoch: int) -> None:
        self.epoch, self.finished = epoch, 0

    def started(self, finished_epochs: int) -> None:
        self.finished = finished_epochs

    def batch_done(self, images: int) -> None:
        if self.finished == self.epoch:
            raise Interrupted

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.finished += 1


def weights(trained: Trained) -> dict[str, torch.Tensor]:
    return trained.model.state_dict()


@pytest.mark.parametrize(
    ("recipe", "architecture", "changes"),
    [
        ("gaussian", "mnist-cnn", {}),
        ("consistency", "test_training_runs:shallow_resnet", {"augmentation": "crop-flip"}),
        ("smoothmix", "test_training_runs:shallow_resnet", {"warm_up_unit": "step", "warm_up": 7}),
        ("gaussian", "test_training_runs:WithDropout", {"schedule": "one-cycle"}),
    ],
)
def test_a_resumed_run_ends_with_the_same_weights(
    dataset: Dataset, tmp_path: Path, recipe: str, architecture: str, changes: dict[str, Any]
) -> None:
    base = recommended_settings("mnist", recipe, 0.3, 60, architecture=architecture, batch_size=32)
    settings = replace(base.in_epochs(3), **changes)
    for name in ("whole", "broken", "other"):
        (tmp_path / name).mkdir()
    whole = train(dataset, settings, tmp_path / "whole")
    for epoch in (0, 1, 2):
        with pytest.raises(Interrupted):
            train(dataset, settings, tmp_path / "broken", watcher=StopAfter(epoch))
    resumed = train(dataset, settings, tmp_path / "broken")
    for name, expected in weights(whole).items():
        assert torch.equal(weights(resumed)[name], expected), name
    untimed = [[{**record, "seconds": 0} for record in run.history] for run in (whole, resumed)]
    assert untimed[0] == untimed[1]
    other = train(dataset, replace(settings, seed=1), tmp_path / "other")
    assert any(
        not torch.equal(weights(other)[name], weights(whole)[name]) for name in weights(whole)
    )


class WithDropout(torch.nn.Sequential):
    """A user's module that draws from torch's own generator while it trains."""

    def __init__(self) -> None:
        super().__init__(torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(144, 3))


class ForColour(torch.nn.Conv2d):
    """A user's module for images of three channels."""

    def __init__(self) -> None:
        super().__init__(3, 4, 12)


def shallow_resnet() -> torch.nn.Module:
    """A user's function that makes a module; it has batch statistics to resume."""
    return CifarResNet((1, 12, 12), 3, depth=8)


@pytest.fixture
def tiny(dataset: Dataset, tmp_path: Path) -> tuple[TrainingSettings, Path]:
    settings = recommended_settings("mnist", "gaussian", 0.3, 60, batch_size=48).in_epochs(1)
    train(dataset, settings, tmp_path)
    return settings, tmp_path / "checkpoint.pt"


def test_a_checkpoint_of_other_settings_is_refused(
    dataset: Dataset, tiny: tuple[TrainingSettings, Path]
) -> None:
    settings, path = tiny
    with pytest.raises(StoreMismatch, match=r"sigma: 0\.3 -> 0\.4"):
        train(dataset, replace(settings, sigma=0.4), path.parent)
    other = Dataset.from_arrays(*stripes(48, seed=1))
    with pytest.raises(StoreMismatch, match="data: "):
        train(other, settings, path.parent)


def test_a_damaged_or_newer_checkpoint_is_refused(
    dataset: Dataset, tiny: tuple[TrainingSettings, Path]
) -> None:
    settings, path = tiny
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreCorrupted, match="delete it"):
        train(dataset, settings, path.parent)
    torch.save({"format": 99}, path)
    with pytest.raises(StoreTooNew, match="format 99"):
        train(dataset, settings, path.parent)
    torch.save({"format": 2, "settings": Path("code that would run")}, path)
    with pytest.raises(StoreCorrupted, match="cannot be read"):
        train(dataset, settings, path.parent)


def test_divergence_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    settings = recommended_settings(
        "mnist", "gaussian", 0.3, 60, batch_size=8, learning_rate=1e6
    ).in_epochs(3)
    with pytest.raises(ClassifierError, match="lower learning rate"):
        train(dataset, settings, tmp_path)


def parsed(*words: str) -> argparse.Namespace:
    return arguments_of(["train", *words])[1]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path, str]:
    """The command, stopped in its third epoch and resumed: its words, folder and output."""
    folder = tmp_path_factory.mktemp("train")
    images, labels = stripes(384, seed=0)
    test_images, test_labels = stripes(60, seed=1)
    np.savez(
        folder / "stripes.npz",
        x_train=images,
        y_train=labels,
        x_test=test_images,
        y_test=test_labels,
    )
    options = {
        "--data": str(folder / "stripes.npz"),
        "--output": str(folder / "model"),
        "--sigma": "0.2",
        "--k": "60",
        "--architecture": "mnist-cnn",
        "--epochs": "4",
        "--learning-rate": "0.05",
        "--decay-at": "3",
        "--batch-size": "32",
        "--device": "cpu",
    }
    words = [word for pair in options.items() for word in pair]
    dataset = load_dataset(folder / "stripes.npz", "train")
    (folder / "model").mkdir()
    settings = verb.settings_from(parsed(*words), dataset)
    with pytest.raises(Interrupted):
        train(dataset, settings, folder / "model", watcher=StopAfter(2))
    with redirect_stdout(StringIO()) as shown:
        assert verb.run(parsed(*words, "--resume")) == 0
    return words, folder / "model", shown.getvalue()


def test_the_exported_model_answers_as_the_module(command: tuple[list[str], Path, str]) -> None:
    _, folder, _ = command
    from safetensors.torch import load_file

    model = fresh_model("mnist-cnn", (1, 12, 12), 3, [0.0], [1.0])
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model.eval()
    images, _ = stripes(37, seed=2)
    batch = (images[:, None] / 255).astype(np.float32)
    with torch.no_grad():
        expected = model(torch.from_numpy(batch)).argmax(dim=1).numpy()
    classifier = load_classifier(folder / "model.onnx")
    assert classifier.input_shape == (1, 12, 12)
    np.testing.assert_array_equal(classifier.classify(batch), expected)
    np.testing.assert_array_equal(classifier.classify(batch[:1]), expected[:1])
    assert b"mnist_cnn.py" not in (folder / "model.onnx").read_bytes()


def test_the_card_says_what_was_done(command: tuple[list[str], Path, str]) -> None:
    words, folder, _ = command
    card = json.loads((folder / "card.json").read_text())
    data = load_dataset(words[words.index("--data") + 1], "train")
    assert card["training_data"]["fingerprint"] == data.fingerprint
    assert GeneralizedGaussian.from_dict(card["law"]) == GeneralizedGaussian(144, 0.2, 60)
    assert card["recipe"] == {"name": "gaussian", "noises": 1}
    assert card["num_classes"] == 3
    assert [record["learning_rate"] for record in card["history"]] == pytest.approx(
        [0.05, 0.05, 0.05, 0.005]
    )
    # 60^(1 - e/3) for e = 1, 2, 3 is 15.3, 3.9 and 1.
    assert [record["k"] for record in card["history"]] == [45, 57, 59, 60]
    assert card["test"]["images"] == 60
    # Stripes of contrast 0.78 under noise of 0.2 are easy; chance is 1/3.
    assert card["test"]["noisy_accuracy"] > 0.9


def test_the_command_shows_its_way_and_keeps_what_is_there(
    command: tuple[list[str], Path, str],
) -> None:
    words, _, shown = command
    lines = shown.splitlines()
    assert lines[0] == "resumed after epoch 2 of 4"
    assert lines[1].startswith("epoch 3/4: k 59, learning rate 0.05, loss ")
    assert lines[-1].endswith("model.safetensors and card.json")
    with pytest.raises(StoreMismatch, match="--resume"):
        verb.run(parsed(*words))


def test_without_pytorch_the_extra_is_named(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    settings = recommended_settings("mnist", "gaussian", 0.3, 60)
    with pytest.raises(MissingExtra, match=r"dsrs\[train\]"):
        train_model(dataset, settings, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_options_reach_the_settings(dataset: Dataset) -> None:
    words = ("--data", "x", "--output", "y", "--sigma", "0.5", "--k", "60")
    chosen = parsed(*words, "--recipe", "smoothmix", "--noises", "2", "--warm-up", "9")
    settings = verb.settings_from(chosen, dataset)
    assert (settings.recipe.noises, settings.warm_up, settings.epochs) == (2, 9, 90)
    assert isinstance(settings.recipe, SmoothMix)
    assert (settings.eta, settings.recipe.mix_weight) == (2.0, 5.0)
    # --eta is the law's; the weight that the authors of SmoothMix call eta is --mix-weight.
    chosen = parsed(*words, "--recipe", "smoothmix", "--eta", "1.5", "--mix-weight", "3")
    settings = verb.settings_from(chosen, dataset)
    assert isinstance(settings.recipe, SmoothMix)
    assert (settings.eta, settings.recipe.mix_weight) == (1.5, 3.0)
    assert TrainingSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    with pytest.raises(InvalidInput, match="gaussian has no `mix_weight`"):
        verb.settings_from(parsed(*words, "--mix-weight", "3"), dataset)


@pytest.mark.parametrize("depth", [20, 110])
def test_resnet_depth_is_the_number_of_weighted_layers(depth: int) -> None:
    model = CifarResNet((3, 32, 32), 10, depth)
    weighted = [
        part
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.Conv2d | torch.nn.Linear) and "downsample" not in name
    ]
    assert len(weighted) == depth
    with pytest.raises(InvalidInput, match="6n"):
        CifarResNet((3, 32, 32), 10, depth + 1)


@pytest.mark.parametrize("name", ["mnist-cnn", "mnist-cnn-large"])
def test_mnist_cnn_has_4_convolutions_and_3_linear_layers(name: str) -> None:
    model = fresh_model(name, (1, 28, 28), 10, [0.1], [0.3])
    kinds = [type(m) for m in model.modules()]
    assert (kinds.count(torch.nn.Conv2d), kinds.count(torch.nn.Linear)) == (4, 3)


def test_architectures_normalise_their_input() -> None:
    torch.manual_seed(0)
    model = fresh_model("mnist-cnn", (1, 12, 12), 3, [0.25], [0.5]).eval()
    assert isinstance(model, torch.nn.Sequential)
    images = torch.rand(4, 1, 12, 12)
    assert torch.allclose(model(images), model[1]((images - 0.25) / 0.5))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("resnet-50", "mnist-cnn-large"),
        ("no.such.module:net", "cannot be imported"),
        ("math:tau", "torch.nn.Module"),
        ("test_training_runs:WithDropout", "logits of shape"),
        ("test_training_runs:ForColour", r"does not take images of shape \(1, 12, 12\)"),
    ],
)
def test_unusable_architectures_are_refused(spec: str, message: str) -> None:
    with pytest.raises((InvalidInput, ClassifierError), match=message):
        fresh_model(spec, (1, 12, 12), 4, [0.0], [1.0])


def test_the_default_for_imagenet_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision.models", raising=False)
    with pytest.raises(MissingExtra, match=r"torchvision.*pip install 'dsrs\[imagenet\]'"):
        fresh_model("torchvision.models:resnet50", (3, 224, 224), 1000, [0.0], [1.0])

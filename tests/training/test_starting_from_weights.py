"""`dsrs train --from` and `--hold-out`: what a run begins with and leaves out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import torch

from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, DataError, InvalidInput, StoreMismatch
from dsrs.training import (
    RECIPES,
    TrainingSettings,
    held_out,
    recommended_settings,
    saved_model,
    train,
    train_model,
    trained_model,
    trained_on,
)
from training.test_training_runs import Interrupted, StopAfter, stripes, weights


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset.from_arrays(*stripes(48, seed=0), name="stripes")


def short(recipe: str = "gaussian", **changes: Any) -> TrainingSettings:
    settings = recommended_settings(
        "mnist", recipe, 0.3, 60, architecture="mnist-cnn", batch_size=32
    )
    return replace(settings.in_epochs(1), **changes)


@pytest.fixture(scope="module")
def trained(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model."""
    folder = tmp_path_factory.mktemp("trained") / "first"
    train_model(dataset, short(), folder)
    return folder


def as_cohen_writes_it(folder: Path, path: Path) -> None:
    """The weights of a folder as others publish them: behind a layer that is not in the file."""
    model, _ = trained_model(folder)
    state = {
        name.replace("1.", "1.module.", 1): value
        for name, value in model.state_dict().items()
        if name.startswith("1.")
    }
    torch.save({"epoch": 1, "arch": "mnist", "state_dict": state, "optimizer": {}}, path)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_run_goes_on_from_the_weights_of_a_folder(
    dataset: Dataset, trained: Path, tmp_path: Path, recipe: str
) -> None:
    first, _ = trained_model(trained)
    tiny_steps = short(recipe, learning_rate=1e-9)
    with_weights = train(dataset, tiny_steps, tmp_path, start=saved_model(trained))
    # Steps of 1e-9 leave the weights where they were, normalisation included.
    for name, value in first.state_dict().items():
        assert torch.allclose(weights(with_weights)[name], value, atol=1e-5), name
    fresh_folder = tmp_path / "fresh"
    fresh_folder.mkdir()
    fresh = train(dataset, tiny_steps, fresh_folder)
    assert not torch.allclose(weights(fresh)["1.0.weight"], first.state_dict()["1.0.weight"])


def test_the_architecture_of_a_folder_is_on_the_card_of_the_next(
    dataset: Dataset, trained: Path, tmp_path: Path
) -> None:
    large = short(architecture="mnist-cnn-large")
    card = train_model(dataset, large, tmp_path / "next", start=saved_model(trained))
    assert card["architecture"] == card["settings"]["architecture"] == "mnist-cnn"
    model, _ = trained_model(tmp_path / "next")  # which its weights must fit
    assert isinstance(model, torch.nn.Sequential)
    assert len(model) == 2


def test_a_run_goes_on_from_files(dataset: Dataset, trained: Path, tmp_path: Path) -> None:
    first, _ = trained_model(trained)
    folders = [tmp_path / name for name in ("safetensors", "checkpoint", "published")]
    for folder in folders:
        folder.mkdir()
    as_cohen_writes_it(trained, tmp_path / "published.pth.tar")
    mean, std = (first.state_dict()[f"0.{name}"].tolist() for name in ("mean", "deviation"))
    starts = [
        saved_model(trained / "model.safetensors"),
        saved_model(trained / "checkpoint.pt"),
        saved_model(tmp_path / "published.pth.tar", mean=mean, std=std),
    ]
    ends = [
        weights(train(dataset, short(), folder, start=start))
        for folder, start in zip(folders, starts, strict=True)
    ]
    for end in ends[1:]:
        assert all(torch.equal(end[name], ends[0][name]) for name in ends[0])
    with pytest.raises(ClassifierError, match="behind a layer that normalises"):
        saved_model(tmp_path / "published.pth.tar").model("mnist-cnn", (1, 12, 12), 3)


def test_a_run_that_starts_from_weights_resumes_exactly(
    dataset: Dataset, trained: Path, tmp_path: Path
) -> None:
    settings = short(epochs=2)
    sources: dict[str, Any] = {"start": saved_model(trained)}
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    whole = train(dataset, settings, tmp_path / "whole", **sources)
    with pytest.raises(Interrupted):
        train(dataset, settings, tmp_path / "broken", watcher=StopAfter(1), **sources)
    with pytest.raises(StoreMismatch, match=r"start: sha256:\w+ -> None"):
        train(dataset, settings, tmp_path / "broken")
    resumed = train(dataset, settings, tmp_path / "broken", **sources)
    assert all(torch.equal(weights(resumed)[name], value) for name, value in weights(whole).items())


def test_held_out_inputs_depend_on_the_data_alone() -> None:
    small, large = held_out(1000, 0.1), held_out(1000, 0.25)
    assert (len(small), len(large)) == (100, 250)
    assert set(small) <= set(large)
    assert (np.diff(small) > 0).all()
    kept = trained_on(1000, 0.1)
    assert sorted([*small, *kept]) == list(range(1000))
    assert len(held_out(1000, 0.0)) == 0
    for share in (-0.1, 1.0, float("nan")):
        with pytest.raises(InvalidInput, match="`hold_out` must be a share"):
            held_out(1000, share)
    with pytest.raises(InvalidInput, match="leaves none of 3 inputs"):
        trained_on(3, 0.9)


def test_inputs_that_are_held_out_do_not_matter_to_the_weights(tmp_path: Path) -> None:
    """The same run on data whose held-out inputs are replaced by noise ends with these weights."""
    images, labels = stripes(60, seed=0)
    other = images.copy()
    out = held_out(60, 0.25)
    other[out] = np.random.default_rng(1).integers(0, 256, other[out].shape)
    ends = []
    for name, pixels in (("one", images), ("two", other)):
        (tmp_path / name).mkdir()
        data = Dataset.from_arrays(pixels, labels)
        ends.append(weights(train(data, short(hold_out=0.25), tmp_path / name)))
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    (tmp_path / "all").mkdir()
    data = Dataset.from_arrays(images, labels)
    everything = weights(train(data, short(), tmp_path / "all"))
    assert any(not torch.equal(ends[0][name], everything[name]) for name in everything)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    images, labels = stripes(48, seed=0)
    np.savez(tmp_path / "stripes.npz", x_train=images, y_train=labels)
    return tmp_path / "stripes.npz"


def test_the_command_goes_on_from_a_folder_and_the_card_says_so(
    data: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--data", str(data), "--output", str(tmp_path / "next"), "--sigma", "0.3"]
    words += ["--recipe", "consistency", "--noises", "2", "--epochs", "1", "--workers", "1"]
    words += ["--from", str(trained), "--hold-out", "0.25"]
    assert main(words) == 0, capsys.readouterr().err
    card = json.loads((tmp_path / "next" / "card.json").read_text())
    assert card["architecture"] == "mnist-cnn"  # the folder's; the default is a larger one
    assert card["start"]["name"] == "first"
    assert card["held_out"] == {
        "share": 0.25,
        "images": 12,
        "indices": held_out(48, 0.25).tolist(),
    }
    assert card["training_data"]["images"] == 48
    assert main([*words, "--resume"]) == 0
    changed = [*words, "--resume", "--hold-out", "0.5"]
    assert main(changed) == 2
    assert "hold_out: 0.25 -> 0.5" in capsys.readouterr().err


def test_unusable_starts_are_refused_before_anything_is_written(
    data: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--data", str(data), "--output", str(tmp_path / "next"), "--sigma", "0.3"]
    for more, message in (
        (["--from", str(tmp_path)], "expected card.json and model.safetensors"),
        (["--from", str(tmp_path / "absent.pth")], "there is no file of weights"),
        (["--from", str(data)], "weights must be a file ending in .safetensors"),
        (
            ["--from", str(trained), "--architecture", "resnet-20"],
            "do not fit: missing conv1.weight",
        ),
        (["--mean", "0.5"], "--mean and --std go with the weights of --from"),
        (["--hold-out", "1"], "--hold-out must be a share in [0, 1)"),
    ):
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "next").exists()
    (tmp_path / "card.json").write_text("{}")
    with pytest.raises(DataError, match=r"the card lacks architecture"):
        saved_model(tmp_path)

"""A trained denoiser: row by row, resumed, better than nothing, in every form a model has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import denoised, denoiser_from, from_callable
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreMismatch

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("onnxscript", reason="needs the extra `train`")

import torch

from dsrs.classifiers import from_torch
from dsrs.networks import ResidualDenoiser
from dsrs.training import DenoiserSettings, Machine, save_safetensors, train_denoiser

SHAPE = (1, 8, 8)
MACHINE = Machine("cpu", "float32", 1)
TINY = DenoiserSettings(
    smallest=0.1,
    largest=0.4,
    epochs=4,
    square_share=0.5,
    learning_rate=0.02,
    batch_size=16,
    channels=8,
)


def smooth_images(count: int) -> Dataset:
    """Images with one brightness on the left and another on the right."""
    rng = np.random.default_rng(0)
    pixels = np.empty((count, *SHAPE), np.float32)
    pixels[..., :4], pixels[..., 4:] = rng.random((2, count, 1, 1, 1)).astype(np.float32)
    labels = (pixels[:, 0, 0, 0] < pixels[:, 0, 0, 7]).astype(np.int64)
    return Dataset.from_arrays(pixels, labels)


def sides(sharpness: float = 1.0) -> Any:
    """Class 1 where the right half is brighter, from two pixels alone: noise hurts it."""
    layer = torch.nn.Linear(64, 2)
    with torch.no_grad():
        weight = layer.weight.zero_()
        layer.bias.zero_()
        weight[1, 3 * 8 + 7] = weight[0, 3 * 8] = sharpness
    return torch.nn.Sequential(torch.nn.Flatten(), layer).eval()


class StopAfter:
    """Stops a run when so many epochs are done."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def started(self, finished_epochs: int) -> None: ...

    def batch_done(self, images: int) -> None: ...

    def epoch_done(self, record: dict[str, Any]) -> None:
        if record["epoch"] == self.epochs:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("denoiser")
    return train_denoiser(
        smooth_images(512), range(512), TINY, folder, model=sides(8.0), machine=MACHINE
    )


def test_a_trained_denoiser_leaves_less_noise_and_more_right_answers(trained: Path) -> None:
    card = json.loads((trained.parent / "denoiser.json").read_text())
    assert [each["objective"] for each in card["history"]] == ["square error"] * 2 + [
        "stability"
    ] * 2
    rng, data = np.random.default_rng(1), smooth_images(300)
    images = np.stack([data.input(index) for index in range(300)])
    noisy = (images + 0.3 * rng.standard_normal(images.shape)).astype(np.float32)
    denoiser = denoiser_from(trained, SHAPE, (0.0, 1.0))
    cleaned = denoiser.rows(noisy)
    assert np.mean((cleaned - images) ** 2) < 0.9 * np.mean((np.clip(noisy, 0, 1) - images) ** 2)
    plain = from_torch(sides(), SHAPE)
    helped = denoised(plain, denoiser)
    right = [np.mean(each.classify(noisy) == data.labels) for each in (plain, helped)]
    assert right[1] > right[0] + 0.05


def test_a_row_is_answered_by_itself(trained: Path) -> None:
    denoiser = denoiser_from(trained, SHAPE, (0.0, 1.0))
    rng = np.random.default_rng(2)
    batch = rng.normal(0.5, 0.5, (9, *SHAPE)).astype(np.float32)
    whole = denoiser.rows(batch)
    for row in range(9):
        # Sums of another order for another batch size: float32 rounding alone.
        np.testing.assert_allclose(denoiser.rows(batch[row : row + 1])[0], whole[row], atol=1e-6)
    assert whole.min() >= 0
    assert whole.max() <= 1


def test_the_model_with_its_denoiser_is_one_onnx_file(trained: Path) -> None:
    model = from_torch(sides(), SHAPE)
    denoiser = denoiser_from(trained, SHAPE, (0.0, 1.0))
    whole = denoised(model, denoiser)
    batch = np.random.default_rng(3).normal(0.5, 0.4, (20, *SHAPE)).astype(np.float32)
    assert whole.graph is not None
    assert whole.classify(batch).tolist() == model.classify(denoiser.rows(batch)).tolist()
    black_box = from_callable(model.forward, SHAPE)
    assert denoised(black_box, denoiser).classify(batch).tolist() == whole.classify(batch).tolist()


def test_gradients_pass_through_a_trained_denoiser(trained: Path, tmp_path: Path) -> None:
    def behind(file: Path) -> Any:
        return denoised(from_torch(sides(), SHAPE), denoiser_from(file, SHAPE, (0.0, 1.0)))

    model = behind(trained)
    point = smooth_images(1).input(0)[None]
    scores = np.array([0.0, 1.0])
    assert model.score_gradient is not None
    slope = model.score_gradient(point, scores)
    step = 1e-2 * slope / np.linalg.norm(slope)

    def share(batch: Any) -> float:
        first, second = model.scores(batch)[0]
        return float(1 / (1 + np.exp(first - second)))

    rise = share(point + step) - share(point - step)
    assert rise == pytest.approx(2e-2 * np.linalg.norm(slope), rel=0.1)
    for name in ("denoiser.onnx", "denoiser.json"):
        (tmp_path / name).write_bytes((trained.parent / name).read_bytes())
    assert behind(tmp_path / "denoiser.onnx").score_gradient is None
    fresh = ResidualDenoiser(SHAPE, (0.0, 1.0), TINY.channels)
    save_safetensors(fresh, tmp_path / "denoiser.safetensors")
    assert behind(tmp_path / "denoiser.onnx").score_gradient is None  # other weights


def test_a_stopped_training_ends_with_the_same_weights(trained: Path, tmp_path: Path) -> None:
    def again(**changes: Any) -> Path:
        data = smooth_images(512)
        return train_denoiser(
            data, range(512), TINY, tmp_path, model=sides(8.0), machine=MACHINE, **changes
        )

    for epoch in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            again(watcher=StopAfter(epoch))
    assert again().read_bytes() == trained.read_bytes()
    with pytest.raises(StoreMismatch, match="another run"):
        train_denoiser(smooth_images(100), range(100), TINY, tmp_path, machine=MACHINE)


def test_before_a_black_box_the_square_error_is_all(tmp_path: Path) -> None:
    train_denoiser(smooth_images(32), range(32), TINY, tmp_path, machine=MACHINE)
    card = json.loads((tmp_path / "denoiser.json").read_text())
    assert {each["objective"] for each in card["history"]} == {"square error"}
    losses = [each["loss"] for each in card["history"]]
    assert losses[-1] < losses[0]


def test_an_untrained_one_only_clips_and_odd_sides_are_kept() -> None:
    network = ResidualDenoiser((3, 7, 9), (-1.0, 3.0)).eval()
    batch = 4 * torch.rand(2, 3, 7, 9) - 2
    assert torch.allclose(network(batch), batch.clamp(-1, 3), atol=1e-6)
    with pytest.raises(InvalidInput, match="is trained for images"):
        ResidualDenoiser((5,), (0.0, 1.0))


@pytest.mark.parametrize(
    "wrong",
    [{"smallest": 0.0}, {"largest": 0.01}, {"epochs": 0}, {"learning_rate": 0.0}],
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        DenoiserSettings(**({"smallest": 0.1, "largest": 0.4} | wrong))

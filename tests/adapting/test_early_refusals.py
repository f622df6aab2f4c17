"""What cannot be tried is refused before anything is voted, and before there is a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.adapting import Budget, Learning, adapt
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, DataError, DsrsError, InvalidInput

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("onnxscript", reason="needs the extra `train`")

from adapting.test_learning import LESSONS, QUICK, SHAPE, halves, two_pixels
from dsrs.classifiers import from_torch

OTHERS, BARE = halves(16, 1), replace(halves(16, 1), labels=None)
SMALL = Dataset.from_arrays(np.zeros((4, 1, 4, 4), np.float32), np.arange(4) % 2)
ONE_CLASS = replace(OTHERS, labels=np.zeros(16, np.int64))


@pytest.mark.parametrize(
    ("way", "changed", "complaint"),
    [
        ("statistics", {"unlabelled": None}, "statistics needs inputs that neither choose"),
        ("denoiser", {"unlabelled": None}, "denoiser needs inputs that neither choose"),
        ("fine-tune", {"unlabelled": None}, "fine-tune needs inputs that neither choose"),
        ("denoiser", {"learning": None}, "denoiser learns from other data"),
        ("statistics", {}, "neither batch normalisation nor convolutions"),
        ("fine-tune", {"unlabelled": (BARE, range(16))}, "no labels; training needs them"),
        ("fine-tune", {"unlabelled": (ONE_CLASS, range(16))}, "has 2 classes, the labels of"),
        ("fine-tune", {"unlabelled": (OTHERS, range(8))}, "a whole data set"),
        ("denoiser", {"unlabelled": (SMALL, range(4))}, r"needs inputs of the shape \(1, 8, 8\)"),
        ("fine-tune", {"learning": replace(LESSONS, hold_out=0.99)}, "leaves none of 16 inputs"),
        ("denoiser", {"learning": replace(LESSONS, hold_out=0.99)}, "leaves none of 16 inputs"),
    ],
)
def test_a_named_way_that_cannot_be_tried_costs_no_votes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    changed: dict[str, Any],
    complaint: str,
) -> None:
    def judged(*_: Any) -> None:
        pytest.fail("votes were taken")

    monkeypatch.setattr("dsrs.adapting.adapting.judged", judged)
    options: dict[str, Any] = {"unlabelled": (OTHERS, range(16)), "learning": LESSONS} | changed
    model, data = from_torch(two_pixels(), SHAPE), halves(8, 0)
    with pytest.raises(DsrsError, match=complaint):
        adapt(model, data, [0, 1], tmp_path / "out", ways=["clip", way], budget=QUICK, **options)
    assert not list(tmp_path.iterdir())


def test_a_denoiser_of_images_is_not_tried_on_rows_of_features(tmp_path: Path) -> None:
    rows = Dataset.from_arrays(np.zeros((4, 3), np.float32), [0, 1, 0, 1])
    others = Dataset.from_arrays(np.ones((4, 3), np.float32), [0, 1, 0, 1])
    model = from_callable(lambda batch: batch[:, :2], (3,))
    options: dict[str, Any] = {"unlabelled": (others, range(4)), "learning": LESSONS}
    for way in ("dct", "denoiser"):
        with pytest.raises(InvalidInput, match="images"):
            adapt(model, rows, [0, 1], tmp_path / "out", ways=[way], budget=QUICK, **options)
    for way in ("statistics", "fine-tune"):
        with pytest.raises(ClassifierError, match=r"ONNX|PyTorch"):
            adapt(model, rows, [0, 1], tmp_path / "out", ways=[way], budget=QUICK, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "changed",
    [
        *({"sigma": -1.0}, {"sigma": float("nan")}, {"epochs": 0}, {"learning_rate": 0.0}),
        *({"hold_out": 1.0}, {"recipe": "prayer"}, {"seed": -1}),
    ],
)
def test_settings_to_learn_with_are_checked_when_they_are_made(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changed))):
        Learning(**changed)


@pytest.mark.parametrize(
    "changed", [{"votes": 0}, {"n": 0}, {"alpha": 1.0}, {"reach": -1.0}, {"seed": -1}]
)
def test_a_budget_is_checked_when_it_is_made(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changed))):
        Budget(**changed)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--sigma", "-1"], "--sigma to learn with must be positive"),
        (["--n", "0"], "--n must be at least 1"),
        (["--by", "clip", "--by", "statistics"], "--train-data"),
        (["--by", "fine-tune"], "--train-data"),
    ],
)
def test_the_command_leaves_no_folder_behind(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    complaint: str,
) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
    from adapting.test_adapt import fragile_model, images

    monkeypatch.chdir(tmp_path)
    Path("net.onnx").write_bytes(fragile_model())
    np.savez("data.npz", images=np.asarray(images(4).images), labels=np.arange(4) % 2)
    command = ["adapt", "--model", "net.onnx", "--data", "data.npz", "--output", "out", "--quiet"]
    assert main([*command, "--votes", "64", "--workers", "1", *words]) == 2
    assert complaint in capsys.readouterr().err
    assert not Path("out").exists()


class Damaged:
    """Images of which one cannot be read."""

    shape, dtype = (64, *SHAPE), np.dtype(np.float32)

    def __getitem__(self, index: int) -> Any:
        raise DataError("7.png is no image")


def test_a_damaged_picture_is_named_before_any_votes_where_pictures_are_compared(
    tmp_path: Path,
) -> None:
    model, data = from_torch(two_pixels(), SHAPE), halves(8, 0)
    broken = Dataset(Damaged(), None, "pictures", "sha256:0")
    with pytest.raises(DataError, match=r"7\.png is no image"):
        adapt(model, data, [0, 1], tmp_path / "a", budget=QUICK, unlabelled=(broken, range(64)))
    assert not (tmp_path / "a").exists()


def test_where_they_are_not_it_leaves_out_the_ways_that_read_it_unless_they_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsrs.adapting.adapting.MOST_IMAGES_COMPARED", 0)
    model, data = from_torch(two_pixels(), SHAPE), halves(8, 0)
    broken = Dataset(Damaged(), None, "pictures", "sha256:0")
    options: dict[str, Any] = {"unlabelled": (broken, range(64)), "learning": LESSONS}
    found = adapt(model, data, [0, 1], tmp_path / "a", budget=QUICK, **options)
    assert "clip" in [each.name for each in found.candidates]
    assert found.failed["denoiser"] == "7.png is no image"
    with pytest.raises(DataError, match=r"7\.png is no image"):
        adapt(model, data, [0, 1], tmp_path / "b", ways=["denoiser"], budget=QUICK, **options)
    assert (tmp_path / "b" / "looks" / "as-it-is").is_dir()

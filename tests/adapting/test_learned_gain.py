"""A network trained clean, then adapted by what learns, certifies more on other inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.store import open_run

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("onnxscript", reason="needs the extra `train`")

SIDE, CLASSES = 16, 4
OTHERS = "24-63"  # inputs of the test data that do not choose


def write_gratings(path: Path, count: int, seed: int) -> None:
    """Faint waves; the class is their direction, by steps of 45 degrees."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    angle = np.pi * labels / CLASSES + rng.normal(0, 0.1, count)
    period, phase = rng.uniform(4, 8, count), rng.uniform(0, 2 * np.pi, count)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    along = np.cos(angle)[:, None, None] * columns + np.sin(angle)[:, None, None] * rows
    waves = np.sin(2 * np.pi * along / period[:, None, None] + phase[:, None, None])
    images = (0.5 + 0.2 * waves)[:, None].astype(np.float32)
    np.savez(path, images=images, labels=labels)


def mean_radius(model: list[str], law: Path, output: Path) -> float:
    """What is certified on the other inputs."""
    words = ["certify", *model, "--data", "test.npz", "--indices", OTHERS, "--law", str(law)]
    words += ["--n", "500", "--q", "none", "--workers", "1", "--quiet", "--output", str(output)]
    assert main(words) == 0
    with open_run(output) as run:
        radii = [result.certificates["np"].radius for result in run.results()]
    return float(np.mean(radii))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["clean", "clean/model.onnx"])
def test_what_learned_certifies_more_on_other_inputs(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_gratings(tmp_path / "train.npz", 2048, 1)
    write_gratings(tmp_path / "test.npz", 64, 2)
    words = ["train", "--data", "train.npz", "--output", "clean", "--architecture", "mnist-cnn"]
    words += ["--sigma", "0.001", "--k", "0", "--epochs", "4", "--schedule", "one-cycle"]
    words += ["--learning-rate", "0.05", "--batch-size", "64", "--workers", "1", "--quiet"]
    assert main(words) == 0
    words = ["adapt", "--model", model, "--data", "test.npz", "--train-data", "train.npz"]
    words += ["--by", "denoiser", "--by", "fine-tune", "--sigma", "0.25", "--epochs", "6"]
    words += ["--indices", "0-23", "--votes", "200", "--n", "500", "--workers", "1", "--quiet"]
    assert main([*words, "--output", "adapted"]) == 0
    laws, clean = tmp_path / "adapted" / "laws", ["--model", model]
    plain = mean_radius(clean, laws / "as-it-is.json", tmp_path / "plain")
    denoiser = [*clean, "--denoise", "adapted/denoiser/denoiser.onnx"]
    denoised = mean_radius(denoiser, laws / "denoiser.json", tmp_path / "denoised")
    tuned = ["--model", "adapted/fine-tuned"]
    fine_tuned = mean_radius(tuned, laws / "fine-tune.json", tmp_path / "fine-tuned")
    assert plain > 0
    assert denoised > 1.2 * plain
    assert fine_tuned > 1.2 * plain

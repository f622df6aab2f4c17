"""Every Python example of the documentation runs, and gives what its comments say."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from docs.run_examples import blocks, run_example
from docs.test_documentation import PAGES, README
from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.cli.main import parsed
from dsrs.datasets import Dataset, load_dataset
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan

RUNNER = Path(__file__).with_name("run_examples.py")
SLOW = "training.md"  # it trains for 15 epochs
WITH_EXAMPLES = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name == SLOW else [])
    for page in PAGES
    if blocks(page, "python")
]
NEEDS = {"training.md": "torch", "classifiers.md": "safetensors"}


def prepare(page: str) -> None:
    """What the examples of a page find in their folder."""
    if page == "report.md":
        images = np.random.default_rng(0).random((3, 2, 2), dtype=np.float32)
        data = Dataset.from_arrays(images, [0, 1, 1])
        model = from_callable(
            lambda batch: (batch.mean(axis=(1, 2, 3)) > 0.5).astype(int), (1, 2, 2), 2
        )
        for name, sigma in (("a", 0.25), ("b", 0.5)):
            plan = Plan(GeneralizedGaussian(4, sigma), ("np",), n=128)
            certify_run(model, data, plan, [0, 1, 2], f"runs/{name}", workers=1)
    if page == "ci.md":
        images = np.full((100, 2, 2), 0.9, dtype=np.float32)
        model = from_callable(
            lambda batch: (batch.mean(axis=(1, 2, 3)) > 0.5).astype(int), (1, 2, 2), 2
        )
        plan = Plan(GeneralizedGaussian(4, 1.0), ("np",), n=1024)
        data = Dataset.from_arrays(images, [1] * 100)
        certify_run(model, data, plan, range(100), "runs/new", workers=1)
    if page == "adapt.md":
        pytest.importorskip("onnx")
        Path("net.onnx").write_bytes((files("dsrs.demo") / "model.onnx").read_bytes())
    if page == "classifiers.md":
        torch = pytest.importorskip("torch")
        from safetensors.torch import save_file

        layers = "torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))"
        Path("mynets.py").write_text(f"import torch\ndef resnet18(): return {layers}.eval()\n")
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))
        save_file(net.state_dict(), "resnet18.safetensors")
    if page == "training.md":
        generator = np.random.default_rng(0)
        folder = Path("data/mnist")
        folder.mkdir(parents=True)
        for split, count in (("train", 8), ("t10k", 4)):
            pixels = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
            sizes = b"".join(side.to_bytes(4, "big") for side in pixels.shape)
            content = b"\0\0\x08\x03" + sizes + pixels.tobytes()
            (folder / f"{split}-images-idx3-ubyte").write_bytes(content)
            content = (
                b"\0\0\x08\x01" + count.to_bytes(4, "big") + bytes(i % 2 for i in range(count))
            )
            (folder / f"{split}-labels-idx1-ubyte").write_bytes(content)


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name])
    monkeypatch.chdir(tmp_path)
    prepare(page.name)
    done = subprocess.run(
        [sys.executable, "-W", "error", RUNNER, page.resolve()], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_wrong_comment_is_found() -> None:
    run_example("1 + 1  # 2", {}, "page")
    with pytest.raises(AssertionError, match="1 \\+ 1"):
        run_example("1 + 1  # 3", {}, "page")


def test_the_numbers_of_the_readme_are_those_of_the_demo() -> None:
    text = " ".join(README.read_text().split())
    _, demo = parsed(["demo"])
    others = len(load_dataset(Path(str(files("dsrs") / "demo" / "tuning.npz"))))
    assert f"under noise on {others} images" in text
    assert f"certifies {demo.images} other images" in text

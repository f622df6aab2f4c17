"""Plausible mistakes with models and data: each gets one sentence that says what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main

CSV = "age,income,kind\n20,1000,yes\n40,3000,no\n"
MODEL = "def model(batch): return (batch[:, 0] > 30).astype(int)\n"
NET = ["--model", "net.py:model", "--num-classes", "2"]
ROWS = [*NET, "--data", "rows.csv", "--label-column", "kind"]
UNITS = {"features": [{"lower": 0, "upper": 99, "unit": 0}, {"lower": 0, "upper": 9, "unit": 1}]}

MISTAKES: dict[str, tuple[list[str], str]] = {
    "no such file": (["--model", "nets/net.py:model", "--data", "x.npz"], "there is no file"),
    "no such name in it": (["--model", "net.py:Net", "--data", "x.npz"], "net has no 'Net'"),
    "a script without a name": (["--model", "net.py", "--data", "x.npz"], "path/to/file.py:name"),
    "a file that does not compile": (
        ["--model", "broken.py:model", "--data", "x.npz"],
        "cannot be imported: SyntaxError",
    ),
    "timm is not installed": (["--model", "timm:resnet18", "--data", "x.npz"], "'dsrs[timm]'"),
    "torchvision is not installed": (
        ["--model", "torchvision:resnet50", "--data", "x.npz"],
        "'dsrs[imagenet]'",
    ),
    "transformers is not installed": (["--model", "hub", "--data", "x.npz"], "'dsrs[huggingface]'"),
    "a hub folder of pickles": (["--model", "old", "--data", "x.npz"], "expected the weights as"),
    "a folder that is no model": (["--model", "empty", "--data", "x.npz"], "config.json"),
    "weights for a function": (
        [*ROWS, "--scale", "range", "--weights", "w.pth"],
        "--weights are for a PyTorch module",
    ),
    "values beyond [0, 1]": (ROWS, "--scale range"),
    "names among the features": (
        [*NET, "--data", "rows.csv", "--scale", "range"],
        "expected a number in the column 'kind', got 'yes'",
    ),
    "no such column": (
        [*NET, "--data", "rows.csv", "--label-column", "Kind"],
        "has no column 'Kind'; its columns are age, income, kind",
    ),
    "a column of labels for images": (
        [*NET, "--data", "x.npz", "--label-column", "y"],
        "--label-column is for a CSV file, got x.npz",
    ),
    "bounds and a scale": ([*ROWS, "--scale", "range", "--bounds", "0", "9"], "leave --bounds out"),
    "an unknown scale": ([*ROWS, "--scale", "minmax"], "--scale must be range, std, resolution"),
    "too few units": ([*ROWS, "--scale", "10"], "for each feature, got 2, 2 and 1"),
    "a unit of zero": ([*ROWS, "--scale", "units.json"], "must have a positive unit"),
    "a run without a scaling": ([*ROWS, "--scale", "empty"], "empty holds no run"),
    "a scale for images": ([*NET, "--data", "x.npz", "--scale", "std"], "--scale is for rows of"),
    "too many names": (
        [*ROWS, "--scale", "range", "--class-names", "no,yes,maybe"],
        "expected names for 2 classes",
    ),
    "one name": ([*ROWS, "--scale", "range", "--class-names", "yes"], "such as cat,dog"),
    "an unknown filter": (
        [*NET, "--data", "images", "--image-size", "4", "--image-resample", "cubic"],
        "--image-resample must be one of nearest, box, bilinear",
    ),
    "a filter without a size": (
        [*NET, "--data", "images", "--image-resample", "bicubic"],
        "give --image-size",
    ),
    "a table as Parquet of images": ([*NET, "--data", "t.parquet"], "expected a column image"),
    "no file at all": ([*NET, "--data", "rows.tsv"], "there is no file or folder 'rows.tsv'"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What people have lying about."""
    monkeypatch.chdir(tmp_path)
    for package in ("timm", "torchvision", "torchvision.models", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    Path("rows.csv").write_text(CSV)
    Path("net.py").write_text(MODEL)
    Path("broken.py").write_text("def model(:\n")
    Path("units.json").write_text(json.dumps(UNITS))
    np.savez("x.npz", x=np.zeros((2, 1, 4, 4), np.float32), y=[0, 1])
    for name in ("empty", "hub", "old", "images"):
        Path(name).mkdir()
    for name in ("hub", "old"):
        Path(name, "config.json").write_text("{}")
    Path("hub/model.safetensors").write_bytes(b"")
    Path("old/pytorch_model.bin").write_bytes(b"")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_sentence_and_no_traceback(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, message = MISTAKES[mistake]
    if mistake == "a table as Parquet of images":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"a": [1]}), "t.parquet")
    if mistake in ("an unknown filter", "a filter without a size"):
        pillow = pytest.importorskip("PIL.Image")
        pillow.new("RGB", (6, 6)).save("images/a.png")
    assert main(["certify", *words, "--sigma", "0.5", "--n", "100", "--output", "run"]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
    assert not Path("run").exists()

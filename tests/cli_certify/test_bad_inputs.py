"""Bad input of every kind: a clear message, exit code 2, and nothing written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_certify.small_run import Certify

IMAGES = np.full((3, 4, 4), 0.5, np.float32)


def npz(**arrays: Any) -> Callable[[], None]:
    return lambda: np.savez("data.npz", **arrays)


def cut(name: str, share: float) -> Callable[[], None]:
    def damage() -> None:
        content = Path(name).read_bytes()
        Path(name).write_bytes(content[: int(len(content) * share)])

    return damage


def replace(name: str, content: bytes) -> Callable[[], None]:
    def write() -> None:
        Path(name).write_bytes(content)

    return write


def nothing() -> None:
    pass


BAD: list[tuple[str, Callable[[], None], tuple[str, ...], str]] = [
    ("no votes", nothing, ("--n", "0"), "--n must be a whole number >= 1, got 0"),
    ("one vote", nothing, ("--n", "1"), "1 vote can never certify"),
    ("alpha one", nothing, ("--alpha", "1"), "--alpha must be in (0, 1), got 1"),
    ("alpha zero", nothing, ("--alpha", "0"), "--alpha must be in (0, 1), got 0"),
    ("alpha NaN", nothing, ("--alpha", "nan"), "--alpha must be in (0, 1), got nan"),
    ("no noise", nothing, ("--sigma", "0"), "--sigma must be a positive number"),
    ("k too large", nothing, ("--k", "8"), "--k must be in [0, d/2) = [0, 8)"),
    ("unknown law", nothing, ("--q", "triangular:3"), "KIND:VALUE"),
    ("truncated to nothing", nothing, ("--q", "truncated:0"), "must be in [1e-05, 1]"),
    ("none and some", nothing, ("--q", "none", "--q", "truncated:0.5"), "--q none"),
    (
        "a law twice",
        nothing,
        ("--q", "truncated:0.5", "--q", "truncated:0.5"),
        "--q names one twice",
    ),
    (
        "inputs without numbers",
        replace("tuned.json", b'{"landscape": {"inputs": ["a", null]}}'),
        ("--leave-out", "tuned.json"),
        "tuned.json must list inputs by their numbers",
    ),
    ("share", nothing, ("--share", "1"), "--share must be in (0, 1)"),
    ("start past the end", nothing, ("--start", "8"), "--start must be in [0, 8)"),
    ("stop before start", nothing, ("--start", "4", "--stop", "4"), "--stop must be greater"),
    ("batch size", nothing, ("--batch-size", "48"), "--batch-size must be a power of two"),
    ("image size", nothing, ("--image-size", "8"), "--image-size is for a folder of images"),
    ("no step", nothing, ("--skip", "0"), "--skip must be at least 1"),
    ("index past the end", nothing, ("--indices", "1,8"), "--indices must be in [0, 8), got 8"),
    ("index twice", nothing, ("--indices", "1,1"), "got 1 twice"),
    ("both selections", nothing, ("--indices", "1", "--skip", "2"), "not both"),
    ("no workers", nothing, ("--workers", "0"), "--workers must be from 1 to 1024, got 0"),
    ("labels and no labels", nothing, ("--no-labels", "--target", "predicted"), "--no-labels"),
    ("no data", nothing, ("--data", "none.npz"), "none.npz"),
    ("no model file", nothing, ("--model", "none.onnx"), "none.onnx"),
    ("no such module", nothing, ("--model", "no_such_module:f"), "no_such_module"),
    ("no such name", nothing, ("--model", "tiny_classifier:grey"), "has no 'grey'"),
    ("unknown model", nothing, ("--model", "net.xyz"), "not a known kind of model"),
    ("pickle", nothing, ("--model", "net.pkl"), "net.pkl"),
    ("one class", nothing, ("--num-classes", "1"), "--num-classes must be at least 2"),
    ("units", nothing, ("--bounds", "1", "0"), "--bounds must be finite"),
    ("cut data", cut("data.npz", 0.5), (), "data.npz"),
    ("empty data", cut("data.npz", 0), (), "data.npz"),
    ("no archive", replace("data.npz", b"a,b\n1,2\n"), (), "begins with b'a,b"),
    ("np twice", nothing, ("--q", "np"), "np always runs; give --q none for np alone"),
    ("NaN pixel", npz(images=IMAGES * np.nan, labels=[0, 1, 0]), (), "got nan"),
    ("pixel range", npz(images=IMAGES * 256, labels=[0, 1, 0]), (), "need --bounds 0 255"),
    ("normalised", npz(images=IMAGES - 1, labels=[0, 1, 0]), (), "give the model --mean and --std"),
    ("labels out of range", npz(images=IMAGES, labels=[0, 1, 2]), (), "from 0 to 1, got 2"),
    ("negative label", npz(images=IMAGES, labels=[0, 1, -1]), (), "-1"),
    ("too few labels", npz(images=IMAGES, labels=[0, 1]), (), "3"),
    ("flat numbers", npz(images=np.zeros(5, np.float32), labels=[0] * 5), (), "shape"),
    ("text", npz(images=np.array([["a", "b"]]), labels=[0]), (), "data.npz"),
    ("broken model", nothing, ("--model", "tiny_classifier:broken"), "finite logits, got nan"),
]


@pytest.mark.parametrize(
    ("prepare", "arguments", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_input_is_named_and_nothing_is_written(
    certify: Certify,
    capsys: pytest.CaptureFixture[str],
    prepare: Callable[[], None],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    prepare()
    before = sorted(os.listdir())
    assert certify(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("dsrs: ")  # one message, no traceback and no progress before it
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [("--n", "many"), ("--indices", "1;2"), ("--split", "all"), ("--quiet", "--verbose")],
)
def test_arguments_that_cannot_be_read(certify: Certify, arguments: tuple[str, ...]) -> None:
    assert certify(*arguments) == 2
    assert os.listdir() == ["data.npz"]


def test_a_model_of_another_shape(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    flat = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 1, 28, 28])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 784])
    node = onnx.helper.make_node("Flatten", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "flat", [flat], [out])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), "net.onnx")
    assert certify("--model", "net.onnx", "--num-classes", "784") == 2
    err = capsys.readouterr().err
    assert "takes inputs of shape (1, 28, 28), but the shape of the data is (1, 4, 4)" in err
    assert sorted(os.listdir()) == ["data.npz", "net.onnx"]


def test_a_missing_extra_is_named(
    certify: Certify, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("net.onnx").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # so that its import fails
    assert certify("--model", "net.onnx") == 2
    assert "pip install 'dsrs[onnx]'" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["data.npz", "net.onnx"]


def test_outputs_that_cannot_be_used(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("text")
    Path("full").mkdir()
    Path("full/notes.txt").write_text("text")
    for output, message in [
        ("file", "is a file"),
        ("file/run", "cannot be created"),
        ("full", "not empty"),
        ("/proc/dsrs-run", "cannot be created"),
    ]:
        assert certify(output=output) == 2
        assert message in capsys.readouterr().err
    assert sorted(os.listdir()) == ["data.npz", "file", "full"]
    assert os.listdir("full") == ["notes.txt"]

"""What goes wrong outside this package is told in a sentence; nobody is shown our own code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main

LONG = "x" * 300
MODELS = '''
import numpy as np

def at_once(batch):
    raise RuntimeError("out of memory\\nallocated 3 GB")

def later(batch):
    """Fails on what no clean input looks like."""
    if batch.max() > 1:
        raise KeyError("weights of layer 3")
    return np.zeros((len(batch), 2), np.float32)

def build():
    raise OSError("no weights here")
'''

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in a folder with data and models: its exit code and standard error."""
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).uniform(size=(4, 1, 4, 4)).astype(np.float32)
    np.savez("data.npz", images=images, labels=np.array([0, 1, 0, 1]))
    Path("file").write_text("text")
    Path("raising_models.py").write_text(MODELS)
    Path("unreadable_model.py").write_text("def (")
    Path("dividing_model.py").write_text("1 / 0")

    def execute(*words: str) -> tuple[int, str]:
        code = main(list(words))
        return code, capsys.readouterr().err

    return execute


def certify(model: str, *words: str) -> list[str]:
    plan = ["--data", "data.npz", "--sigma", "0.5", "--n", "64", "--q", "none"]
    return ["certify", "--model", model, *plan, "--output", "run", "--workers", "1", *words]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("raising_models:at_once", "RuntimeError: out of memory"),
        ("raising_models:later", "KeyError: 'weights of layer 3'"),
        ("raising_models:build", "made no model: OSError: no weights here"),
        ("unreadable_model:f", "cannot be imported: SyntaxError"),
        ("dividing_model:f", "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_a_model_that_raises_is_quoted_and_traced_on_request(
    run: Run, model: str, sentence: str
) -> None:
    code, err = run(*certify(model))
    assert code == 2
    last = err.splitlines()[-1]
    assert last.startswith(f"dsrs: {model}")
    assert sentence in last
    assert "Traceback" not in err
    assert not Path("run").exists()
    code, err = run(*certify(model, "--verbose"))
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (certify("file:f", "--sigma", "1e300"), "`sigma`|--sigma"),
        (certify("file:f", "--indices", "1" + "0" * 23), "indices"),
        (certify("raising_models:later", "--workers", "1" + "0" * 20), "workers.* from 1 to 1024"),
        (certify("raising_models:later", "--output", LONG), "File name too long"),
        (certify("raising_models:later", "--data", LONG), "File name too long"),
        (certify(LONG + ".onnx"), "File name too long"),
        (["show", LONG], "File name too long"),
        (["report", LONG], "File name too long"),
        (["import", LONG], "File name too long"),
        (["recertify", LONG, "--output", "radii.csv"], "File name too long"),
    ],
)
def test_what_cannot_be_is_named(run: Run, words: list[str], sentence: str) -> None:
    before = sorted(os.listdir())
    code, err = run(*words)
    assert code == 2
    assert re.search(sentence, err), err
    assert err.startswith("dsrs: ")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--output", "new", "--noises", "0"], "noises.* at least 1, got 0"),
        (["--output", "file"], "file cannot be a folder for models: File exists"),
        (["--output", "file/new"], "file/new"),
        (["--output", LONG], "File name too long"),
        (["--output", "new", "--decay-at=-1"], "decay"),
        (["--output", "new", "--resume"], "new holds no training run to resume"),
        (["--output", "new", "--workers", "1" + "0" * 20], "workers.* from 1 to 1024"),
        (["--output", "new", "--architecture", "raising_models:build"], "OSError: no weights here"),
    ],
)
def test_training_that_cannot_start_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(os.getcwd())
    before = sorted(os.listdir())
    code, err = run("train", "--data", "data.npz", "--sigma", "0.5", "--epochs", "1", *words)
    assert code == 2
    assert re.search(sentence, err), err
    assert "Traceback" not in err
    assert [name for name in sorted(os.listdir()) if name != "__pycache__"] == before


def test_ctrl_c_while_a_command_is_still_loading(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dsrs.cli.main.import_module", interrupted)
    code, err = run("show", "file")
    assert code == 130
    assert "interrupted" in err


def test_the_demo_names_its_own_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, err = run("demo", "--output", "demo")
    assert code == 2
    assert "pip install onnxruntime, or all that goes with it: pip install 'dsrs[demo]'" in err

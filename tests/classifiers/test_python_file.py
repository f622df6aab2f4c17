"""`path/to/file.py:name`: models in files that are in no package."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dsrs.classifiers import load_classifier
from dsrs.errors import ClassifierError

CODE = """
from beside_it import THRESHOLD

def bright(batch):
    return (batch.mean(axis=(1, 2, 3)) > THRESHOLD).astype(int)

class Maker:
    @staticmethod
    def make():
        return bright
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a model and a module beside it, in a folder that is not the working one."""
    folder = tmp_path / "my models"
    folder.mkdir()
    monkeypatch.delitem(sys.modules, "beside_it", raising=False)
    (folder / "beside_it.py").write_text("THRESHOLD = 0.5\n")
    (folder / "net.py").write_text(CODE)
    return folder / "net.py"


def test_it_is_loaded_with_what_is_beside_it(file: Path) -> None:
    path = list(sys.path)
    model = load_classifier(f"{file}:bright", input_shape=(1, 2, 2), num_classes=2)
    assert model.classify(np.full((1, 1, 2, 2), 0.7, np.float32)).tolist() == [1]
    assert sys.path == path
    # Neither the folder nor the way to it is part of what the model is.
    assert "my models" not in model.fingerprint + model.description
    assert model.description.startswith("net.py:bright; input")


def test_factories_are_called(file: Path) -> None:
    assert load_classifier(f"{file}:Maker.make", input_shape=(1, 2, 2), num_classes=2)


def test_a_file_named_like_a_module_leaves_that_alone(file: Path) -> None:
    named = file.with_name("json.py")
    file.rename(named)
    before = sys.modules["json"] if "json" in sys.modules else __import__("json")
    load_classifier(f"{named}:bright", input_shape=(1, 2, 2), num_classes=2)
    assert sys.modules["json"] is before


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "bright", "there is no file"),
        ("def f(:", "f", "cannot be imported: SyntaxError"),
        ("import sys; sys.exit(1)", "f", "cannot be imported: SystemExit"),
        ("f = 1", "g", "net has no 'g'"),
    ],
)
def test_what_is_wrong_with_a_file(
    file: Path, content: str | None, name: str, message: str
) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(ClassifierError, match=message):
        load_classifier(f"{file}:{name}", input_shape=(1, 2, 2))

"""PyTorch files: what may be read, and that no pickle ever is."""

from __future__ import annotations

import json
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import load_classifier
from dsrs.classifiers.torch_file import without_code
from dsrs.errors import ClassifierError

torch = pytest.importorskip("torch", reason="needs the extra `torch`")

SHAPE = (3, 4)


def network() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(12, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
    )


def save_exported(path: Path, module: Any, rows: int | None = None) -> Path:
    shapes = None if rows else ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = (torch.rand(rows or 2, *SHAPE),)
        torch.export.save(torch.export.export(module, example, dynamic_shapes=shapes), path)
    return path


def test_an_exported_program_is_made_again_where_it_is_unpickled(tmp_path: Path) -> None:
    model = load_classifier(save_exported(tmp_path / "net.pt2", network().eval()))
    again = pickle.loads(pickle.dumps(model))
    assert again.fingerprint == model.fingerprint
    batch = np.random.default_rng(0).random((5, *SHAPE), dtype=np.float32)
    np.testing.assert_array_equal(again.classify(batch), model.classify(batch))


class Bomb:
    """Leaves a file behind if it is ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def rewritten(path: Path, changes: dict[str, Any]) -> Path:
    """A copy of a .pt2 archive, its entries changed by functions of their bytes."""
    target = path.with_name("changed.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            change = changes.get(name.partition("/")[2], lambda content: content)
            new.writestr(name, change(old.read(name)))
    return target


@pytest.mark.parametrize("rows", [None, 4])
def test_an_exported_program_answers_as_its_module(tmp_path: Path, rows: int | None) -> None:
    module = network().eval()
    classifier = load_classifier(save_exported(tmp_path / "net.pt2", module, rows))
    batch = np.random.default_rng(0).random((11, *SHAPE), np.float32)
    assert classifier.input_shape == SHAPE
    assert classifier.num_classes == 3
    expected = module(torch.from_numpy(batch)).argmax(1).tolist()
    assert classifier.classify(batch).tolist() == expected


@pytest.mark.parametrize("name", ["net.ts", "net.pt", "net.jit"])
def test_torchscript_is_refused_with_the_ways_to_export(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(network().eval()).save(path)
    with pytest.raises(ClassifierError, match=r"TorchScript.*torch\.onnx\.export.*\.pt2"):
        load_classifier(path, input_shape=SHAPE)


def test_files_in_training_mode_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassifierError, match="training mode"):
        load_classifier(save_exported(tmp_path / "net.pt2", network().train()))


@pytest.mark.parametrize("name", ["net.pt", "net.pth", "net.ts", "net.pkl", "net.joblib"])
@pytest.mark.parametrize("by_torch", [True, False])
def test_pickles_are_refused_unopened(tmp_path: Path, name: str, by_torch: bool) -> None:
    trace = tmp_path / "opened"
    path = tmp_path / name
    if by_torch:
        torch.save(Bomb(trace), path)
    else:
        path.write_bytes(pickle.dumps(Bomb(trace)))
    with pytest.raises(ClassifierError, match=r"never opened.*ONNX.*package\.module:name"):
        load_classifier(path, input_shape=SHAPE)
    assert not trace.exists()


def test_pickled_example_inputs_of_an_archive_are_never_opened(tmp_path: Path) -> None:
    trace = tmp_path / "opened"
    path = save_exported(tmp_path / "net.pt2", network().eval())
    changed = rewritten(path, {"data/sample_inputs/model.pt": lambda _: pickle.dumps(Bomb(trace))})
    assert load_classifier(changed).num_classes == 3
    assert not trace.exists()


def test_a_file_of_joblib_says_how_code_names_it() -> None:
    with pytest.raises(ClassifierError, match=r"joblib\.load\('net\.joblib'\)\), and name file"):
        load_classifier("net.joblib")


def test_an_archive_with_pickled_weights_is_refused(tmp_path: Path) -> None:
    path = save_exported(tmp_path / "net.pt2", network().eval())
    config = "data/weights/model_weights_config.json"
    changed = rewritten(
        path,
        {config: lambda content: content.replace(b'"use_pickle": false', b'"use_pickle": true')},
    )
    with pytest.raises(ClassifierError, match="as a pickle"):
        load_classifier(changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"torch.ops.aten.linear.default", b"torch.os.system"),
        (b"torch.ops.aten.linear.default", b"_operator.call"),
        (b"Symbol(", b"__import__("),
    ],
)
def test_an_archive_that_names_python_code_is_refused(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    path = save_exported(tmp_path / "net.pt2", network().eval())
    changed = rewritten(path, {"models/model.json": lambda content: content.replace(old, new)})
    assert changed.read_bytes() != path.read_bytes()
    with pytest.raises(ClassifierError, match="export the model to ONNX"):
        load_classifier(changed)


def test_guards_of_an_archive_are_dropped(tmp_path: Path) -> None:
    path = save_exported(tmp_path / "net.pt2", network().eval())

    def guarded(content: bytes) -> bytes:
        return json.dumps({**json.loads(content), "guards_code": ["print('run')"]}).encode()

    with zipfile.ZipFile(without_code(rewritten(path, {"models/model.json": guarded}))) as archive:
        assert json.loads(archive.read("model/models/model.json"))["guards_code"] == []


def test_cut_files_are_refused(tmp_path: Path) -> None:
    path = save_exported(tmp_path / "net.pt2", network().eval())
    content = path.read_bytes()
    for share in (0.0, 0.3, 0.9, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ClassifierError):
            load_classifier(path)

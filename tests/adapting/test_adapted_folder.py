"""What `adapt` writes over, and where it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.adapting import Adapted, adapt
from dsrs.classifiers import load_classifier
from dsrs.cli.main import main
from dsrs.errors import StoreError, StoreMismatch
from dsrs.files import write_whole

pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from adapting.test_adapt import QUICK, fragile_model, images


def clipped(file: Path, folder: Path) -> Adapted:
    return adapt(load_classifier(file), images(8), [1, 4], folder, ways=["clip"], budget=QUICK)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.onnx").write_bytes(fragile_model())
    return tmp_path / "net.onnx"


@pytest.mark.parametrize(
    "name", ["model.onnx", "tuned.json", "candidates.html", "laws/own.json", "denoiser/own"]
)
def test_files_of_the_user_are_not_replaced(net: Path, name: str) -> None:
    own = net.parent / "m" / name
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    with pytest.raises(StoreMismatch, match=f"holds {name.partition('/')[0]} that .*another fol"):
        clipped(net, net.parent / "m")
    assert own.read_text() == "mine"
    assert not (net.parent / "m" / "looks").exists()


def test_the_folder_of_the_model_itself_is_refused_by_the_command(
    net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = net.parent / "m"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(net.read_bytes())
    file, data = str(net.parent / "data.npz"), images(8)
    np.savez(file, images=np.asarray(data.images), labels=np.arange(8) % 2)
    words = ["adapt", "--model", str(folder), "--data", file, "--output", str(folder)]
    assert main([*words, "--n", "1000", "--votes", "64", "--by", "clip", "--quiet"]) == 2
    assert "choose another folder" in capsys.readouterr().err
    assert (folder / "model.onnx").read_bytes() == net.read_bytes()


def test_a_file_or_a_run_is_no_folder_for_a_model(net: Path) -> None:
    for place in (net, net / "below"):
        with pytest.raises(StoreError, match=r"net\.onnx is no folder; choose a new folder"):
            clipped(net, place)
    found = clipped(net, net.parent / "out")
    look = found.folder / "looks" / "clip"
    for place in (look, look / "below"):
        with pytest.raises(StoreError, match=r"lies in the run folder .*clip; write beside it"):
            clipped(net, place)


@pytest.mark.parametrize("writes", range(7))
def test_stopped_while_it_writes_it_goes_on(
    net: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    done: list[Path] = []

    def stopping(path: Path, content: bytes) -> None:
        if len(done) == writes:
            raise KeyboardInterrupt
        done.append(path)
        write_whole(path, content)

    folder = net.parent / "out"
    with monkeypatch.context() as patch:
        patch.setattr("dsrs.adapting.adapting.write_whole", stopping)
        with pytest.raises(KeyboardInterrupt):
            clipped(net, folder)
    assert len(done) == writes
    assert not (folder / "adapted.json").exists()
    found = clipped(net, folder)
    assert (folder / "adapted.json").exists()
    assert found.model_file == folder / "model.onnx"


def test_a_model_that_was_put_into_an_unfinished_folder_stays(
    net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Adapted:
        raise KeyboardInterrupt

    folder = net.parent / "out"
    with monkeypatch.context() as patch:
        patch.setattr("dsrs.adapting.adapting._written", stopped)
        with pytest.raises(KeyboardInterrupt):
            clipped(net, folder)
    (folder / "model.onnx").write_text("mine")
    with pytest.raises(StoreMismatch, match=r"holds model\.onnx that is not of an unfinished run"):
        clipped(net, folder)
    assert (folder / "model.onnx").read_text() == "mine"

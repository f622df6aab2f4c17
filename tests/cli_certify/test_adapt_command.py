"""`dsrs adapt`: the inputs that choose, what is said of them, and the command that follows."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from adapting.test_adapt import fragile_model, images
from dsrs.cli.main import main

QUICK = ("--votes", "32", "--n", "300", "--reach", "0.3", "--workers", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with net.onnx and data.npz of 12 images, where the commands run."""
    (tmp_path / "net.onnx").write_bytes(fragile_model())
    save(tmp_path / "data.npz", 12)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(path: Path, count: int) -> None:
    data = images(count)
    np.savez(path, images=np.asarray(data.images), labels=np.arange(count) % 2)


def adapt(*words: str) -> int:
    return main(["adapt", "--model", "net.onnx", "--data", "data.npz", *QUICK, *words])


def next_words(out: str) -> list[str]:
    """The words of the printed command, which goes over two lines."""
    command = out.split("next: ")[1].replace("\\\n", " ").splitlines()[0]
    return shlex.split(command)[1:]


def test_the_next_command_runs_as_it_is_printed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "my dir").mkdir()
    words = ("--bounds", "0", "2", "--alpha", "0.01", "--inputs", "4", "--by", "clip,clip")
    assert adapt(*words, "--output", "my dir/out 1") == 0
    out = capsys.readouterr().out
    assert out.count("\nclip ") == 1  # named twice, tried once
    command = next_words(out)
    assert command[:3] == ["certify", "--model", "my dir/out 1"]
    assert "--bounds 0 2 --n 300 --alpha 0.01" in " ".join(command)
    assert main([*command, "--quiet"]) == 0
    assert "8 inputs" in capsys.readouterr().out


def test_at_most_half_of_the_inputs_choose(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("--by", "clip", "--output", "out") == 0
    out, err = capsys.readouterr()
    assert "note: 6 of 12 inputs choose, the others are for what is reported" in err
    assert "from 6 inputs" in out
    assert "without noise the model is right on 6 of the 6 inputs that choose" in err


def test_where_all_inputs_choose_others_are_to_be_certified(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adapt("--by", "clip", "--indices", "0-11", "--output", "out") == 0
    out = capsys.readouterr().out
    assert "all inputs of the data chose" in out
    assert "--data OTHER_DATA" in out


def test_inputs_that_chose_before_do_not_choose_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adapt("--by", "clip", "--indices", "0-5", "--output", "first") == 0
    words = ("--by", "clip", "--leave-out", "first/tuned.json", "--inputs", "3")
    assert adapt(*words, "--output", "second") == 0
    capsys.readouterr()
    law = ("--law", "second/tuned.json", "--indices", "7,9,11", "--q", "none", "--n", "200")
    common = ("certify", "--model", "second", "--data", "data.npz", *law)
    assert main([*common, "--leave-out", "second/tuned.json", "--output", "run"]) == 2
    assert "--leave-out leaves no input" in capsys.readouterr().err


def test_a_model_that_tells_nothing_apart_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(here / "data.npz", images=np.asarray(images(12).images), labels=[0, 1, 1] * 4)
    assert adapt("--by", "clip", "--indices", "0,2,4,5,7,9", "--output", "out") == 0
    assert "no more than one that always gives the same class" in capsys.readouterr().err


def test_inputs_of_one_class_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("--by", "clip", "--indices", "0,2,4", "--output", "out") == 0
    assert "which are all of one class" in capsys.readouterr().err


def test_one_input_has_no_interval(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("--by", "clip", "--indices", "1", "--output", "out") == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("clip"))
    assert " to " not in line


def test_pictures_to_learn_from_are_scaled_to_the_data(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="needs the extra `images`")
    (here / "pictures").mkdir()
    rng = np.random.default_rng(0)
    for number in range(3):
        pixels = rng.integers(0, 255, (24, 40), dtype=np.uint8)
        pillow.fromarray(pixels).save(here / "pictures" / f"{number}.png")
    words = ("--by", "statistics", "--train-data", "pictures", "--indices", "0-3")
    assert adapt(*words, "--output", "out") == 0
    assert "\nstatistics" in capsys.readouterr().out


def test_other_shapes_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(here / "other.npz", images=np.zeros((4, 1, 8, 8), np.float32))
    assert adapt("--train-data", "other.npz", "--output", "out") == 2
    assert "inputs of the shape (1, 8, 8), and --data of the shape (1, 16, 16)" in (
        capsys.readouterr().err
    )
    assert adapt("--train-data", "data.npz", "--output", "out") == 2
    assert "--train-data holds the inputs of --data" in capsys.readouterr().err


def test_labels_to_learn_from_may_be_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(here / "others.npy", np.asarray(images(8).images) * np.float32(0.9))
    np.save(here / "labels.npy", np.arange(3))
    words = ("--train-data", "others.npy", "--train-labels", "labels.npy", "--output", "out")
    assert adapt(*words) == 2
    assert "expected 8 labels" in capsys.readouterr().err


def test_a_way_that_is_none_is_named_by_its_option(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adapt("--by", "nonsense", "--output", "out") == 2
    assert "--by must be of clip, dct" in capsys.readouterr().err
    assert adapt("--votes", "0", "--output", "out") == 2
    assert "--votes must be at least 1" in capsys.readouterr().err

"""`adapt`: candidates judged alike, the best one written as a model that certifies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.adapting import Adapted, Budget, Candidate, adapt, borne_size
from dsrs.classifiers import from_callable, from_onnx, load_classifier
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, InvalidInput, StoreMismatch

pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from dsrs.classifiers import GraphBuilder, bytes_of

SHAPE = (1, 16, 16)
QUICK = Budget(votes=96, n=500, reach=0.5, workers=1)


def fragile_model() -> bytes:
    """Class 1 where the right half is the brighter one; fine noise turns every answer to 0.

    The score is the difference of the halves less the mean square of the differences between
    neighbours, which is nearly 0 on smooth images and large under noise.
    """
    builder = GraphBuilder(SHAPE)
    sides = np.ones((1, 1, 16, 16), np.float32)
    sides[..., :8] = -1
    halves = builder.add("Conv", "rows", builder.constant(sides / 128))
    slopes = builder.add("Conv", "rows", builder.constant(np.array([[[[-1, 1]]]], np.float32)))
    rough = builder.add("GlobalAveragePool", builder.add("Mul", slopes, slopes))
    score = builder.add("Sub", halves, builder.add("Mul", rough, builder.scalar(8.0)))
    flat = builder.reshape(score, 1)
    model = builder.model(builder.add("Concat", builder.add("Neg", flat), flat, axis=1))
    shape = model.graph.output[0].type.tensor_type.shape
    del shape.dim[1:]
    shape.dim.add().dim_value = 2
    return bytes_of(model)


def images(count: int, grey: float = 0.35) -> Dataset:
    """Two halves of different brightness, the brighter one on the left (0) or the right (1)."""
    labels = np.arange(count) % 2
    pixels = np.full((count, *SHAPE), grey, np.float32)
    for image, label in zip(pixels, labels, strict=True):
        image[..., 8 * label : 8 * label + 8] = 0.65
    return Dataset.from_arrays(pixels, labels)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Adapted:
    folder = tmp_path_factory.mktemp("adapt")
    (folder / "net.onnx").write_bytes(fragile_model())
    data = images(12)
    np.savez(folder / "data.npz", images=np.asarray(data.images), labels=np.arange(12) % 2)
    model = load_classifier(folder / "net.onnx")
    others = images(8, 0.36), range(8)
    return adapt(model, data, [1, 4, 7, 10], folder / "out", budget=QUICK, unlabelled=others)


def test_what_helps_is_found_and_written_as_a_model(adapted: Adapted) -> None:
    names = [each.name for each in adapted.candidates]
    assert names == ["as it is", "clip", "dct", "dct-mild", "statistics"]
    plain, _, dct, _, _ = adapted.candidates
    assert dct.value > 1.5 * plain.value
    assert adapted.best.value > 1.2 * plain.value
    gain, low, high = adapted.gain
    assert low <= gain <= high
    assert gain == pytest.approx(adapted.best.value - adapted.candidates[0].value)
    # The folder is a model that answers as the candidate did.
    whole = load_classifier(adapted.folder)
    rng = np.random.default_rng(0)
    batch = rng.normal(0.5, 0.3, (50, *SHAPE)).astype(np.float32)
    assert whole.classify(batch).tolist() == adapted.best.classifier.classify(batch).tolist()
    card = json.loads((adapted.folder / "adapted.json").read_text())
    assert card["best"] == adapted.best.name
    assert [each["name"] for each in card["candidates"]] == names


def test_the_folder_certifies_other_inputs(
    adapted: Adapted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(adapted.folder.parent)
    words = ["certify", "--model", "out", "--data", "data.npz", "--law", "out/tuned.json", "--n"]
    words += ["300", "--leave-out", "out/tuned.json", "--output", "run", "--quiet", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["methods"][0]["inputs"] == 8  # 12, less the four that chose
    assert main([*words, "--indices", "1,4", "--output", "other"]) == 2
    assert "leaves no input" in capsys.readouterr().err
    # All images of a class are alike, so that in other data none is one that did not choose.
    np.savez("other.npz", images=np.asarray(images(3).images, np.float64))
    words[words.index("data.npz")] = "other.npz"
    assert main([*words, "--output", "third"]) == 2
    assert "leaves no input" in capsys.readouterr().err


def test_nothing_is_overwritten(adapted: Adapted) -> None:
    with pytest.raises(StoreMismatch, match="holds an adapted model already"):
        adapt(adapted.candidates[0].classifier, images(4), [0, 1], adapted.folder)


def test_a_black_box_gets_a_denoiser_and_no_file(tmp_path: Path) -> None:
    inner = from_onnx(fragile_model())
    black_box = from_callable(inner.forward, SHAPE, name="black box")
    found = adapt(black_box, images(8), [0, 3, 4, 7], tmp_path / "out", ways=["dct"], budget=QUICK)
    assert found.best.denoiser == "dct"
    assert found.model_file is None
    with pytest.raises(ClassifierError, match="statistics can be estimated in ONNX models"):
        adapt(black_box, images(8), [0, 3, 4, 7], tmp_path / "b", ways=["statistics"], budget=QUICK)


def test_nothing_is_fitted_to_the_inputs_that_choose(tmp_path: Path) -> None:
    model, data = from_onnx(fragile_model()), images(8)
    with pytest.raises(InvalidInput, match="statistics needs inputs that neither choose nor are"):
        adapt(model, data, [0, 3], tmp_path / "a", ways=["statistics"], budget=QUICK)
    same = data, [3, 4]
    found = adapt(model, data, [0, 3], tmp_path / "b", budget=QUICK, unlabelled=same)
    assert list(found.failed) == ["statistics"]
    # The same images in another form are other data by their numbers, and not by their content.
    again = Dataset.from_arrays(np.asarray(data.images, np.float64)), [5, 6]
    options: dict[str, Any] = {"budget": QUICK, "unlabelled": again}
    with pytest.raises(InvalidInput, match="2 of 2 inputs to learn from"):
        adapt(model, data, [0, 3], tmp_path / "c", ways=["statistics"], **options)


def test_a_lucky_law_is_not_chosen(adapted: Adapted) -> None:
    first = adapted.candidates[0]

    def with_radii(name: str, radii: list[float], low: float) -> Candidate:
        forecast = replace(
            first.tuned.best, radii=np.array(radii), value=float(np.mean(radii)), low=low
        )
        return replace(first, name=name, tuned=replace(first.tuned, candidates=(forecast,)))

    small = with_radii("as it is", [0.1] * 4, 0.1)
    lucky = with_radii("clip", [2.0, 2.0, 0.0, 0.0], 0.0)
    steady = with_radii("dct", [0.9, 0.9, 1.0, 0.9], 0.9)
    assert replace(adapted, candidates=(small, lucky, steady)).best is steady
    # What a paired interval does tell apart is told apart: the larger mean is taken.
    larger = with_radii("statistics", [2.0, 2.0, 2.0, 0.95], 0.8)
    assert replace(adapted, candidates=(small, larger, steady)).best is larger
    # The model as it is stays where no mean is larger, and only there.
    assert replace(adapted, candidates=(steady, lucky)).best is lucky
    assert replace(adapted, candidates=(larger, lucky)).best is larger


def test_where_nothing_helps_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blind.py").write_text(
        "import numpy as np\n"
        "def mean(batch):\n"
        "    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)\n"
        "    return np.stack([-score, score], axis=1)\n"
    )
    pixels = np.full((6, *SHAPE), 0.4, np.float32)
    pixels[1::2] = 0.6
    np.savez("data.npz", images=pixels, labels=np.arange(6) % 2)
    words = ["adapt", "--model", "blind:mean", "--data", "data.npz", "--by", "clip", "--n", "300"]
    assert main([*words, "--votes", "64", "--inputs", "4", "--quiet", "--output", "out"]) == 0
    assert "nothing that was tried helps this model" in capsys.readouterr().out


def test_how_far_to_look_follows_the_model() -> None:
    model, data = from_onnx(fragile_model()), images(8)
    far = borne_size(from_callable(lambda batch: np.zeros((len(batch), 2)), SHAPE), data, [0], 0)
    assert borne_size(model, data, range(8), 0) < 0.5 < far
    wrong = from_callable(lambda batch: np.stack([batch.sum((1, 2, 3)) * 0] * 2, 1), SHAPE)
    with pytest.raises(InvalidInput, match="wrong on all of 1 inputs"):
        borne_size(wrong, data, [1], 0)
    with pytest.raises(InvalidInput, match=r"`ways` must be of clip, dct, .*, fine-tune"):
        adapt(model, data, [0], "nowhere", ways=["prayer"])


def test_a_folder_without_a_model_says_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "adapted.json").write_text("{}")
    with pytest.raises(ClassifierError, match="was adapted from a model that is no file"):
        load_classifier(tmp_path)

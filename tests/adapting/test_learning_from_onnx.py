"""`adapt` and `train --from` on ONNX models: their graph gives the gradients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapting.test_learning import LESSONS, QUICK, SHAPE, halves, two_pixels
from dsrs.adapting import Adapted, adapt
from dsrs.classifiers import exported_to_onnx, load_classifier
from dsrs.cli.main import main
from dsrs.errors import ClassifierError

onnx = pytest.importorskip("onnx", reason="needs the extra `train`")
torch = pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("onnxscript", reason="needs the extra `train`")


def net(folder: Path, last: str = "") -> Path:
    """The file of the model that compares two pixels, perhaps with another operator at its end."""
    model = onnx.load_model_from_string(exported_to_onnx(two_pixels(), SHAPE, (0.0, 1.0), "net"))
    if last:
        target = model.graph.output[0].name
        model.graph.node[-1].output[0] = "before"
        model.graph.node.append(onnx.helper.make_node(last, ["before"], [target]))
    path = folder / "net.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Adapted:
    folder = tmp_path_factory.mktemp("onnx")
    return adapt(
        load_classifier(net(folder)),
        halves(16, 0),
        range(12),
        folder / "out",
        ways=["denoiser", "fine-tune"],
        budget=QUICK,
        unlabelled=(halves(1024, 1), range(1024)),
        learning=LESSONS,
    )


def test_a_denoiser_learns_by_stability_and_fine_tuning_certifies_more(adapted: Adapted) -> None:
    plain, denoiser, tuned = adapted.candidates
    card = json.loads((adapted.folder / "denoiser" / "denoiser.json").read_text())
    assert [each["objective"] for each in card["history"]][-1] == "stability"
    assert card["no_gradients"] is None
    assert denoiser.value > 1.2 * plain.value
    assert tuned.value > 1.5 * plain.value
    card = json.loads((adapted.folder / "fine-tuned" / "card.json").read_text())
    assert card["architecture"] == "OnnxModule"


def test_what_fine_tuning_writes_is_a_model_with_gradients_that_goes_on(
    adapted: Adapted, tmp_path: Path
) -> None:
    folder, data = adapted.folder / "fine-tuned", halves(64, 3)
    model = load_classifier(folder)
    assert model.gradient() is not None
    batch = np.asarray(data.images, np.float32)
    tuned = adapted.candidates[2].classifier
    assert model.classify(batch).tolist() == tuned.classify(batch).tolist()
    np.savez(tmp_path / "data.npz", images=batch, labels=np.asarray(data.labels))
    file = adapted.folder.parent / "net.onnx"
    for number, start in enumerate((folder, file)):
        output = tmp_path / f"next{number}"
        words = ["train", "--data", str(tmp_path / "data.npz"), "--sigma", "0.2", "--epochs", "1"]
        words += ["--from", str(start), "--learning-rate", "1e-9", "--output", str(output)]
        assert main([*words, "--workers", "1", "--quiet"]) == 0
        # Steps of 1e-9 leave the weights where they were.
        before, after = (load_classifier(each).scores(batch) for each in (start, output))
        assert np.abs(before - after).max() < 1e-3


def test_an_unknown_operator_leaves_the_mean_square_error_and_the_card_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, data = load_classifier(net(tmp_path, "Sinh")), halves(4, 0)
    options: dict[str, Any] = {
        "budget": QUICK,
        "unlabelled": (halves(64, 1), range(64)),
        "learning": LESSONS,
    }
    adapt(model, data, [0, 1], tmp_path / "a", ways=["denoiser"], **options)
    card = json.loads((tmp_path / "a" / "denoiser" / "denoiser.json").read_text())
    assert {each["objective"] for each in card["history"]} == {"square error"}
    assert card["no_gradients"] == "the ONNX operator Sinh is not known in PyTorch"
    assert "by the mean square error alone: the ONNX operator Sinh" in caplog.text
    with pytest.raises(ClassifierError, match="cannot train the model: the ONNX operator Sinh"):
        adapt(model, data, [0, 1], tmp_path / "b", ways=["fine-tune"], **options)

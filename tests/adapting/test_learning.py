"""The ways of `adapt` that learn, and the page that shows candidates side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.adapting import LEARNING_WAYS, Adapted, Budget, Learning, adapt
from dsrs.classifiers import from_callable, load_classifier
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, DataError, InvalidInput
from dsrs.reports import write_candidates_page
from dsrs.training import Machine

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("onnxscript", reason="needs the extra `train`")

import torch

from dsrs.classifiers import from_torch

SHAPE = (1, 8, 8)
QUICK = Budget(votes=96, n=500, reach=1.0, workers=1)
LESSONS = Learning(epochs=4, sigma=0.4, learning_rate=0.02, machine=Machine("cpu", "float32", 1))


def halves(count: int, seed: int) -> Dataset:
    """Two halves of different brightness; the class is the side of the brighter one."""
    rng = np.random.default_rng(seed)
    pixels = np.empty((count, *SHAPE), np.float32)
    pixels[..., :4], pixels[..., 4:] = rng.uniform(0.2, 0.8, (2, count, 1, 1, 1))
    labels = (pixels[:, 0, 0, 0] < pixels[:, 0, 0, 7]).astype(np.int64)
    return Dataset.from_arrays(pixels, labels)


def two_pixels() -> Any:
    """Compares two pixels, although the means of the halves would bear eight times the noise."""
    layer = torch.nn.Linear(64, 2)
    with torch.no_grad():
        weight = layer.weight.zero_()
        layer.bias.zero_()
        weight[1, 3 * 8 + 7] = weight[0, 3 * 8] = 8.0
    return torch.nn.Sequential(torch.nn.Flatten(), layer).eval()


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Adapted:
    folder = tmp_path_factory.mktemp("learning") / "out"
    return adapt(
        from_torch(two_pixels(), SHAPE),
        halves(16, 0),
        range(12),
        folder,
        ways=["clip", "denoiser", "fine-tune"],
        budget=QUICK,
        unlabelled=(halves(2048, 1), range(2048)),
        learning=LESSONS,
    )


def test_what_learns_helps_and_is_written_as_one_model(adapted: Adapted) -> None:
    plain, _, denoiser, tuned = adapted.candidates
    assert denoiser.value > 1.2 * plain.value
    assert tuned.value > 1.5 * plain.value
    card = json.loads((adapted.folder / "fine-tuned" / "card.json").read_text())
    assert card["start"]["fingerprint"] == plain.classifier.fingerprint
    assert card["law"]["sigma"] == 0.4
    whole = load_classifier(adapted.folder)
    batch = np.random.default_rng(2).normal(0.5, 0.3, (50, *SHAPE)).astype(np.float32)
    assert whole.classify(batch).tolist() == adapted.best.classifier.classify(batch).tolist()


def test_what_learned_is_chosen_only_where_its_gain_is_sure(adapted: Adapted) -> None:
    learned = adapted.best
    assert learned.name in LEARNING_WAYS
    lucky = np.zeros(len(learned.landscape.indices))
    lucky[:2] = 100.0
    guess = replace(learned.tuned.best, radii=lucky, value=float(lucky.mean()))
    risky = replace(learned, tuned=replace(learned.tuned, candidates=(guess,)))
    assert risky.value > 10 * learned.value
    candidates = tuple(risky if each is learned else each for each in adapted.candidates)
    assert replace(adapted, candidates=candidates).best is not risky


def test_the_same_call_goes_on_where_it_stopped(adapted: Adapted) -> None:
    (adapted.folder / "adapted.json").unlink()
    weights = (adapted.folder / "fine-tuned" / "model.safetensors").read_bytes()
    again = adapt(
        from_torch(two_pixels(), SHAPE),
        halves(16, 0),
        range(12),
        adapted.folder,
        ways=["clip", "denoiser", "fine-tune"],
        budget=QUICK,
        unlabelled=(halves(2048, 1), range(2048)),
        learning=LESSONS,
    )
    assert [each.value for each in again.candidates] == [each.value for each in adapted.candidates]
    assert (adapted.folder / "fine-tuned" / "model.safetensors").read_bytes() == weights


class Rows(HTMLParser):
    """Collects the cells of each row of a page, and counts its figures and pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_the_page_shows_the_candidates_side_by_side(adapted: Adapted, tmp_path: Path) -> None:
    page = Rows()
    page.feed(write_candidates_page(adapted.folder).read_text())
    names = [row[0] for row in page.rows[1:]]
    assert names == ["as it is", "clip", "denoiser", "fine-tune"]
    for row, candidate in zip(page.rows[1:], adapted.candidates, strict=True):
        assert candidate.value - 1e-4 <= float(row[4]) <= candidate.value
    record = json.loads((adapted.folder / "adapted.json").read_text())
    learned = {"inputs": 2048, "sigma": 0.4, "epochs": 4}
    assert [each["learned"] for each in record["candidates"]] == [None, None, learned, learned]
    text = (adapted.folder / "candidates.html").read_text()
    assert "denoiser learned from arrays, 2,048 inputs, 4 epochs, under sigma = 0.4." in text
    assert page.seen.count("path") == 1 + 2 * 4  # the axes; each curve and its mark beside the name
    assert page.seen.count("img") == 4
    assert (adapted.folder / "pictures" / "0.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(DataError, match=r"expected adapted\.json"):
        write_candidates_page(tmp_path)


def test_nothing_is_learned_from_inputs_that_choose_or_without_weights(tmp_path: Path) -> None:
    model, data = from_torch(two_pixels(), SHAPE), halves(8, 0)
    with pytest.raises(InvalidInput, match="--train-data"):
        adapt(model, data, [0, 1], tmp_path, ways=["denoiser"], budget=QUICK, learning=LESSONS)
    black_box, other = from_callable(model.forward, SHAPE), (halves(16, 1), range(16))
    options: dict[str, Any] = {"budget": QUICK, "unlabelled": other, "learning": LESSONS}
    with pytest.raises(ClassifierError, match="goes on from weights in PyTorch"):
        adapt(black_box, data, [0, 1], tmp_path / "b", ways=["fine-tune"], **options)
    part = {**options, "unlabelled": (halves(16, 1), range(8))}
    with pytest.raises(InvalidInput, match="a whole data set"):
        adapt(model, data, [0, 1], tmp_path / "c", ways=["fine-tune"], **part)


def test_the_command_learns_before_a_folder_of_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 64, 1), ("test", 6, 0)):
        data = halves(count, seed)
        large = np.asarray(data.images).repeat(2, axis=2).repeat(2, axis=3)
        np.savez(f"{name}.npz", images=large, labels=np.asarray(data.labels))
    words = ["train", "--data", "train.npz", "--output", "net", "--architecture", "mnist-cnn"]
    words += ["--sigma", "0.01", "--epochs", "8", "--learning-rate", "0.02", "--batch-size", "16"]
    assert main([*words, "--quiet", "--workers", "1"]) == 0
    words = ["adapt", "--model", "net", "--data", "test.npz", "--train-data", "train.npz"]
    words += ["--by", "fine-tune", "--by", "denoiser", "--epochs", "2", "--votes", "64"]
    words += ["--n", "300", "--workers", "1", "--inputs", "4", "--output", "out"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "fine-tune" in said
    assert "candidates.html" in said
    history = json.loads(Path("out/denoiser/denoiser.json").read_text())["history"]
    assert history[-1]["objective"] == "stability"  # gradients come from model.safetensors
    card = json.loads(Path("out/fine-tuned/card.json").read_text())
    assert card["architecture"] == "mnist-cnn"

"""From a model as people have it to certificates of many inputs."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dsrs
from dsrs.certifying import Counter
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, ShapeNeeded, StoreMismatch
from dsrs.store import open_run

SHAPE = (1, 4, 4)
RNG = np.random.default_rng(0)
IMAGES = RNG.random((5, *SHAPE), dtype=np.float32)
IMAGES[:3] = 0.9
IMAGES[3:] = 0.1
LABELS = np.array([1, 1, 0, 0, 1])
QUICK: dict[str, Any] = {"n": 256, "method": "np", "workers": 1}


def bright(batch: NDArray[np.float32]) -> NDArray[np.int64]:
    """Class 1 for images that are bright on average."""
    classes: NDArray[np.int64] = (batch.reshape(len(batch), -1).mean(axis=1) > 0.5).astype(np.int64)
    return classes


def smoothed(**options: Any) -> dsrs.SmoothedClassifier:
    return dsrs.smooth(bright, 0.5, num_classes=2, **(QUICK | options))


def torch_model() -> Any:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2)).eval()
    with torch.no_grad():
        module[1].weight[:] = torch.tensor([[-1.0], [1.0]]).expand(2, 16)
        module[1].bias[:] = torch.tensor([8.0, -8.0])
    return module


def test_the_shape_is_that_of_the_first_input() -> None:
    model = smoothed()
    with pytest.raises(ShapeNeeded, match="taken from the first one"):
        _ = model.plan
    assert "first one" in repr(model)
    certificate = model.certify(IMAGES[0], 1)
    assert isinstance(certificate, dsrs.Certificate)
    assert certificate.radius > 0
    assert model.plan.law == dsrs.GeneralizedGaussian(16, 0.5)
    assert model.classifier.input_shape == SHAPE


@pytest.mark.parametrize("first", ["labelled", "images", "dataset"])
def test_many_inputs_tell_the_shape_too(first: str) -> None:
    model = smoothed()
    if first == "labelled":
        flat = IMAGES.reshape(5, 16)
        assert len(model.certify(flat, LABELS)) == 5
        assert model.classifier.input_shape == (16,)
    elif first == "images":
        assert len(model.certify(IMAGES)) == 5
    else:
        assert len(model.certify(Dataset.from_arrays(IMAGES, LABELS))) == 5


def test_an_array_that_may_be_one_or_many_is_asked_about() -> None:
    with pytest.raises(
        ShapeNeeded, match=r"\(5, 16\) may be one input or many; give `input_shape`"
    ):
        smoothed().certify(IMAGES.reshape(5, 16))
    assert len(smoothed(input_shape=(16,)).certify(IMAGES.reshape(5, 16))) == 5


def test_many_inputs_are_certified_as_each_alone() -> None:
    model = smoothed(seed=3)
    run = model.certify(IMAGES, LABELS)
    for place, found in enumerate(run):
        assert found == run[place] == model.certify(IMAGES[place], LABELS[place], index=place)
    assert [one.status for one in run] == ["certified"] * 2 + [
        "abstained",
        "certified",
        "abstained",
    ]
    assert run.radii.tolist() == [one.radius for one in run]
    assert run[-1] == run[4]


def test_one_seed_is_drawn_for_many_inputs_and_none_is_used_twice() -> None:
    model = smoothed()
    seeds = [{one.subject.seed for one in model.certify(IMAGES)} for _ in range(2)]
    assert len(seeds[0]) == len(seeds[1]) == 1
    assert seeds[0] != seeds[1]
    assert not any(one.subject.seed_public for one in model.certify(IMAGES))


def test_accuracy_counts_the_inputs_certified_for_their_label() -> None:
    run = smoothed(seed=0).certify(IMAGES, labels=LABELS)
    assert run.accuracy() == run.accuracy(0) == 3 / 5
    least = sorted(one.radius for one in run)[2]
    assert run.accuracy([0.0, least, 99.0]).tolist() == [3 / 5, 3 / 5, 0.0]
    right = [index for index in range(5) if run[index].radius >= least]
    assert right == [0, 1, 3]


def test_a_frame_has_a_row_for_each_input() -> None:
    pytest.importorskip("pandas", reason="needs the extra `frame`")
    run = smoothed(seed=0).certify(IMAGES, LABELS)
    frame = run.to_frame()
    assert frame.index.tolist() == [0, 1, 2, 3, 4]
    assert frame["label"].tolist() == LABELS.tolist()
    assert frame["radius"].tolist() == run.radii.tolist()
    assert "proof" not in frame


def test_the_plot_is_a_figure_of_matplotlib() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="needs the extra `report`")
    drawn = smoothed(seed=0).certify(IMAGES, LABELS).plot()
    assert isinstance(drawn, figure.Figure)
    assert "certified accuracy" in drawn.axes[0].get_ylabel()


def test_a_run_is_kept_until_it_is_saved_and_goes_with_its_result(tmp_path: Path) -> None:
    model = smoothed(seed=0)
    kept, dropped = model.certify(IMAGES, LABELS), model.certify(IMAGES, LABELS)
    before = kept.path
    assert "not saved" in repr(kept)
    assert kept.save(tmp_path / "run") == kept.path == tmp_path / "run"
    assert not before.exists()
    kept.save(tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        assert [result.certificates["np"] for result in run.results()] == list(dropped)
    gone = dropped.path
    del dropped
    assert not gone.exists()
    assert kept.path.exists()


def test_a_saved_run_is_continued_with_the_seed_that_it_drew(tmp_path: Path) -> None:
    model, folder = smoothed(), tmp_path / "run"
    first = model.certify(IMAGES, LABELS, index=[0, 1], save=folder)
    assert "run" in repr(first)
    whole = model.certify(IMAGES, LABELS, save=folder)
    assert list(whole)[:2] == list(first)
    assert len({one.subject.seed for one in whole}) == 1
    with pytest.raises(StoreMismatch, match=r"data\.fingerprint"):
        model.certify(IMAGES[1:], LABELS[1:], save=folder)


def test_ctrl_c_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from dsrs.certifying import Progress

    model, asked = smoothed(), []

    def stop_after_two(self: Counter, count: int = 1, votes: int = 0) -> None:
        asked.append(count)
        if len(asked) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "advance", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        model.certify(IMAGES, LABELS)
    run = model.certify(IMAGES, LABELS)
    assert len(asked) == len(run) == 5  # two were there already
    assert len({one.subject.seed for one in run}) == 1
    other = model.certify(IMAGES, LABELS)
    assert other[0].subject.seed != run[0].subject.seed


def test_bytes_are_read_as_images() -> None:
    model = smoothed(seed=1, input_shape=SHAPE)
    pixels = np.full((3, 4, 4), 230, np.uint8)
    many, one = model.certify(pixels), model.certify(pixels[:1])
    assert one == many[0]
    assert one.status == "certified"
    assert [answer.label for answer in model.predict(pixels)] == [1, 1, 1]


def test_tensors_datasets_and_loaders_are_taken() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    model = smoothed(seed=0, input_shape=SHAPE)
    images, labels = torch.tensor(IMAGES), torch.tensor(LABELS)
    expected = list(model.certify(IMAGES, LABELS))
    assert list(model.certify(images.requires_grad_(), labels)) == expected
    data = torch.utils.data.TensorDataset(images.detach(), labels)
    assert list(model.certify(data)) == expected
    assert list(model.certify(torch.utils.data.DataLoader(data, batch_size=2))) == expected
    named = [{"image": x, "label": y} for x, y in zip(IMAGES, LABELS, strict=True)]
    assert list(model.certify(iter(named))) == expected
    assert model.certify(images[0].detach(), labels[0]) == expected[0]
    assert [one.label for one in model.predict(data)] == [1, 1, 1, 0, 0]


def test_modules_and_their_logits_are_smoothed() -> None:
    torch, module = pytest.importorskip("torch"), torch_model()

    class Wrapped(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Answers as Hugging Face's models do."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, pixels: Any) -> Any:
            return SimpleNamespace(logits=self.inner(pixels))

    expected = smoothed(seed=0).certify(IMAGES, LABELS).radii
    for model in (module, Wrapped().eval()):
        run = dsrs.smooth(model, 0.5, seed=0, engine="eager", **QUICK).certify(IMAGES, LABELS)
        assert run.radii.tolist() == expected.tolist()
    with pytest.raises(ClassifierError, match=r"call \.eval"):
        dsrs.smooth(module.train(), 0.5)


def test_a_module_behind_a_normalisation_is_smoothed() -> None:
    module = torch_model()
    plain = dsrs.smooth(module, 0.5, seed=0, engine="eager", **QUICK).certify(IMAGES, LABELS)
    module[1].weight.data *= 0.5  # (x - 0) / 0.5 has twice the size
    half = dsrs.smooth(module, 0.5, seed=0, engine="eager", mean=0.0, std=0.5, **QUICK)
    assert half.certify(IMAGES, LABELS).radii.tolist() == plain.radii.tolist()


def test_estimators_and_files_know_their_shape(tmp_path: Path) -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="needs the extra `sklearn`")
    flat = IMAGES.reshape(5, 16)
    estimator = linear.LogisticRegression().fit(flat, [1, 1, 1, 0, 0])
    model = dsrs.smooth(estimator, 0.25, **QUICK)
    assert model.plan.law.d == 16
    assert model.certify(flat).accuracy() == 1.0
    assert isinstance(model.certify(flat[0]), dsrs.Certificate)


def test_a_smoothed_classifier_can_be_pickled() -> None:
    model = smoothed(seed=5)
    before = pickle.loads(pickle.dumps(model))  # its shape is open
    expected = model.certify(IMAGES[0], 1)
    model.predict(IMAGES[0])
    for again in (before, pickle.loads(pickle.dumps(model))):
        assert again.certify(IMAGES[0], 1) == expected
    secret = smoothed(input_shape=SHAPE)
    again = pickle.loads(pickle.dumps(secret))
    assert again.predict(IMAGES[0]).seed != secret.predict(IMAGES[0]).seed
    hidden = dsrs.smooth(lambda batch: bright(batch), 0.5, num_classes=2, input_shape=SHAPE)
    with pytest.raises(ClassifierError, match="cannot be pickled"):
        pickle.dumps(hidden)


def test_a_module_can_be_pickled_and_a_changed_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
    demo = dsrs.load_demo()
    file = tmp_path / "net.onnx"
    source = Path(dsrs.__file__).parent / "demo" / "model.onnx"
    file.write_bytes(source.read_bytes())
    model = dsrs.smooth(str(file), 0.5, seed=0, n=64, method="np")
    kept = pickle.dumps(model)
    x = demo.images[0]
    assert pickle.loads(kept).certify(x) == model.certify(x)
    file.write_bytes(source.read_bytes() + b"\x92\x03\x00")
    with pytest.raises(ClassifierError):
        pickle.loads(kept)


def test_the_embedded_example_is_offered() -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `demo`")
    model, images, labels = dsrs.load_demo()
    assert images.shape == (100, 1, 28, 28)
    assert labels.shape == (100,)
    run = dsrs.smooth(model, sigma=0.5, n=64, method="np").certify(images[:4], labels[:4])
    assert run.accuracy() >= 0.5
    assert "pixel" not in repr(dsrs.load_demo())

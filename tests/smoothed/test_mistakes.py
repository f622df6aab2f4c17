"""Plausible mistakes in Python end in a sentence of ours: what was expected, what came."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dsrs
from dsrs.errors import DsrsError

SHAPE = (1, 4, 4)
IMAGES = np.full((3, *SHAPE), 0.9, np.float32)
LABELS = np.array([1, 1, 1])


def bright(batch: NDArray[np.float32]) -> NDArray[np.int64]:
    classes: NDArray[np.int64] = (batch.reshape(len(batch), -1).mean(axis=1) > 0.5).astype(np.int64)
    return classes


def model(**options: Any) -> dsrs.SmoothedClassifier:
    quick: dict[str, Any] = {
        "n": 64,
        "method": "np",
        "workers": 1,
        "input_shape": SHAPE,
        "num_classes": 2,
    }
    return dsrs.smooth(bright, 0.5, **(quick | options))


class Unfitted:
    """As an estimator before `fit`."""

    def predict(self, rows: Any) -> Any:
        raise AssertionError


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "no sigma": (lambda: dsrs.smooth(bright), "`sigma`, the size of the noise, must be given"),
    "a negative sigma": (lambda: dsrs.smooth(bright, -1), "`sigma` must be"),
    "sigma in words": (lambda: dsrs.smooth(bright, "big"), "`sigma` must be a positive number"),  # type: ignore[arg-type]
    "N for n": (lambda: model(N=1000), "smooth has no option `N`; did you mean `n`"),
    "n is no whole number": (lambda: model(n=1e5), "`n` must be a whole number"),
    "alpha in percent": (lambda: model(alpha=5), r"`alpha` must be in \(0, 1\), got 5"),
    "an unknown method": (lambda: model(method="cohen"), "cohen"),
    "a class for a model": (lambda: dsrs.smooth(Unfitted, 0.5), "got the class Unfitted; make one"),
    "weights for a model": (lambda: dsrs.smooth({"fc.weight": 1}, 0.5), "weights without the net"),
    "a number for a model": (lambda: dsrs.smooth(5, 0.5), r"expected a model \(a PyTorch module"),
    "an unfitted estimator": (lambda: dsrs.smooth(Unfitted(), 0.5), "it is of type Unfitted"),
    "a file that is not there": (lambda: dsrs.smooth("no.onnx", 0.5), "there is no model file"),
    "a kind of file": (lambda: dsrs.smooth("net.h5", 0.5), "not a known kind of model"),
    "class ids of unknown number": (
        lambda: dsrs.smooth(bright, 0.5, input_shape=SHAPE),
        "so `num_classes` must be given",
    ),
    "bounds in disorder": (lambda: model(bounds=(1, 0)), "`bounds` must be finite with lower < up"),
    "mean of other channels": (lambda: model(mean=(0.1, 0.2)), "one for each of 1 channels"),
    "no law": (lambda: dsrs.SmoothedClassifier(model().classifier), "`law`, the noise, must be"),
    "pixels to 255": (lambda: model().certify(IMAGES * 255), "need `bounds` 0 255, or uint8"),
    "normalised pixels": (lambda: model().certify(IMAGES - 2), "if it was normalised, undo that"),
    "bytes in other units": (
        lambda: model(bounds=(0, 255)).certify(np.zeros(SHAPE, np.uint8)),
        "store floats to use other units",
    ),
    "whole numbers": (lambda: model().certify(np.zeros(SHAPE, np.int64)), "must be floating point"),
    "too few labels": (lambda: model().certify(IMAGES, [1, 1]), "expected 3 labels"),
    "one label for many": (lambda: model().certify(IMAGES, 1), "expected 3 labels"),
    "labels from 1 on": (lambda: model().certify(IMAGES, [1, 2, 2]), "must be from 0 to 1, got 2"),
    "labels as words": (lambda: model().certify(IMAGES, ["a", "b", "c"]), "must be integers"),
    "labels for one": (lambda: model().certify(IMAGES[0], LABELS), "must be a class from 0 to 1"),
    "truth for a label": (lambda: model().certify(IMAGES[0], True), "a whole number, got True"),
    "another size": (lambda: model().certify(np.zeros((3, 1, 5, 5))), r"takes inputs of shape"),
    "another size of one": (lambda: model().certify(np.zeros((5, 5))), "the classifier's shape"),
    "no inputs": (lambda: model().certify([]), "the input must have the classifier's shape"),
    "nothing": (lambda: model().certify(None), "expected inputs, got NoneType"),
    "a path for inputs": (lambda: model().certify("x.npz"), r"dsrs\.datasets\.load_dataset"),
    "NaN": (lambda: model().certify(np.full(SHAPE, np.nan)), "finite numbers"),
    "arrays of several shapes": (
        lambda: model().certify([np.zeros(SHAPE), np.zeros((1, 5, 5))]),
        "cannot be read as an array",
    ),
    "items without an image": (
        lambda: model().certify(iter([{"text": "a"}])),
        "expected an item with one of pixel_values",
    ),
    "an empty collection": (lambda: model().certify(iter(())), "expected at least one input"),
    "labels twice": (
        lambda: model().certify(iter([(IMAGES[0], 1)]), [1]),
        "the data holds labels already",
    ),
    "an index out of the data": (
        lambda: model().certify(IMAGES, index=[7]),
        r"must be in \[0, 3\)",
    ),
    "one index for many": (lambda: model().certify(IMAGES, index=1), "a list of at least one int"),
    "a folder for one": (lambda: model().certify(IMAGES[0], save="x"), "the folder of many inputs"),
    "a negative radius": (lambda: model().certify(IMAGES).accuracy(-1), "numbers from 0 on"),
    "a radius in words": (lambda: model().certify(IMAGES).accuracy("1"), "numbers from 0 on"),
    "past the end": (lambda: model().certify(IMAGES)[3], "expected an input from 0 to 2, got 3"),
    "a radius below 0": (lambda: model(radius=-1.0), "`radius` must be a positive number"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_a_sentence(name: str) -> None:
    mistake, sentence = MISTAKES[name]
    with pytest.raises(DsrsError, match=sentence):
        mistake()


def test_a_folder_of_other_things_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    run = model().certify(IMAGES)
    with pytest.raises(DsrsError, match="is not empty and holds no run"):
        run.save(tmp_path)
    assert len(run.to_frame()) == 3


def test_mistakes_with_tensors_get_a_sentence() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    images = torch.tensor(IMAGES)
    for label in (torch.tensor(1.0), torch.tensor([1, 1, 1])):
        with pytest.raises(DsrsError, match="must be a class from 0 to 1"):
            model().certify(images[0], label)
    with pytest.raises(DsrsError, match="expected 3 labels"):
        model().certify(images, torch.tensor([1, 1]))
    with pytest.raises(DsrsError, match=r"call \.eval"):
        dsrs.smooth(torch.nn.Dropout(), 0.5)
    with pytest.raises(DsrsError, match="got the class Linear"):
        dsrs.smooth(torch.nn.Linear, 0.5)
    uneven = [(torch.zeros(1, 4, 4), 0), (torch.zeros(1, 5, 5), 1)]
    with pytest.raises(DsrsError, match="inputs must have one shape"):
        model().certify(iter(uneven))


def test_a_law_that_the_grid_cannot_carry_is_refused_before_the_first_input() -> None:
    ring = "weighted:1:0,2:3,inner=0,outer=0"
    with pytest.raises(DsrsError, match="falls with the norm"):
        model(input_shape=(2,), method=ring)
    assert model(input_shape=(2,), method=ring, grid=None).plan.grid is None

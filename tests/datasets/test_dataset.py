"""The record of a dataset: layout, units, labels, fingerprint, and the choice of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dsrs.datasets import Dataset, select
from dsrs.errors import DataError, InvalidInput


def bytes_of(*shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize(
    ("shape", "input_shape"),
    [
        ((5, 28, 28), (1, 28, 28)),
        ((5, 1, 28, 28), (1, 28, 28)),
        ((5, 3, 8, 9), (3, 8, 9)),
        ((5, 8, 9, 3), (3, 8, 9)),
        ((5, 8, 9, 1), (1, 8, 9)),
        ((5, 7), (7,)),
    ],
)
def test_images_have_their_channels_first(
    shape: tuple[int, ...], input_shape: tuple[int, ...]
) -> None:
    dataset = Dataset.from_arrays(bytes_of(*shape))
    assert dataset.input_shape == input_shape
    assert dataset.input(4).shape == input_shape
    assert dataset.input(4).flags.c_contiguous


def test_channels_last_keeps_each_pixel() -> None:
    images = bytes_of(2, 5, 6, 3)
    pixel = Dataset.from_arrays(images).input(1)[2, 3, 4]
    assert pixel == np.float32(images[1, 3, 4, 2]) / np.float32(255)


def test_bytes_become_the_unit_interval() -> None:
    found = Dataset.from_arrays(np.array([[0, 51, 255]], np.uint8)).input(0)
    assert found.dtype == np.float32
    assert found.tolist() == [0.0, pytest.approx(0.2), 1.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.5, -0.01, 255.0])
@pytest.mark.parametrize("row", [0, 6])
def test_floats_outside_the_bounds_are_refused(
    monkeypatch: pytest.MonkeyPatch, bad: float, row: int
) -> None:
    monkeypatch.setattr("dsrs.datasets.dataset.CHUNK_BYTES", 100)
    images = np.full((7, 3, 4), 0.5, np.float32)
    images[row, 2, 1] = bad
    with pytest.raises(DataError, match=rf"\[0, 1\], got .* in input {row};"):
        Dataset.from_arrays(images)


def test_other_units_must_be_declared() -> None:
    images = np.array([[-1.0, 1.0]])
    dataset = Dataset.from_arrays(images, bounds=(-1.0, 1.0))
    assert dataset.input(0).tolist() == [-1.0, 1.0]
    with pytest.raises(DataError, match=r"takes inputs in \[0, 1\], the data is in \[-1, 1\]"):
        dataset.check_fits((2,), 10)
    with pytest.raises(DataError, match="uint8"):
        Dataset.from_arrays(bytes_of(2, 3), bounds=(-1.0, 1.0))


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((0, 4), np.uint8),
        np.zeros((3, 0, 2), np.uint8),
        np.zeros(3, np.uint8),
        np.zeros((3, 4), np.int64),
        np.zeros((3, 4), bool),
        np.zeros((3, 4), complex),
    ],
)
def test_arrays_that_are_no_inputs_are_refused(images: NDArray[Any]) -> None:
    with pytest.raises(DataError, match="input"):
        Dataset.from_arrays(images)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "expected 3 labels"),
        ([[0, 1, 2]], "expected 3 labels"),
        ([0, -1, 2], "must not be negative, got -1 at index 1"),
        ([0.0, 1.5, 2.0], "must be whole numbers, got 1.5 at index 1"),
        ([0.0, np.nan, 2.0], "must be whole numbers, got nan"),
        (["a", "b", "c"], "must be integers"),
        (np.array([0, 1, 2**64 - 1], np.uint64), "fit int64"),
    ],
)
def test_bad_labels_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays(bytes_of(3, 4), labels)


def test_labels_may_be_a_column_and_may_be_absent() -> None:
    assert Dataset.from_arrays(bytes_of(3, 4), [[2], [0], [1]]).label(0) == 2
    assert Dataset.from_arrays(bytes_of(3, 4)).label(0) is None


def test_what_a_classifier_cannot_take_is_named() -> None:
    dataset = Dataset.from_arrays(bytes_of(3, 4), [0, 7, 1])
    dataset.check_fits((4,), 8)
    with pytest.raises(DataError, match="labels must be from 0 to 6, got 7 at index 1"):
        dataset.check_fits((4,), 7)
    with pytest.raises(DataError, match=r"shape \(5,\), the data has \(4,\)"):
        dataset.check_fits((5,), 8)


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_outside_is_refused(index: int) -> None:
    dataset = Dataset.from_arrays(bytes_of(3, 4), [0, 1, 2])
    for read in (dataset.input, dataset.label):
        with pytest.raises(InvalidInput, match=r"\[0, 3\)"):
            read(index)


def test_one_dataset_has_one_fingerprint() -> None:
    images = bytes_of(6, 5, 4, 3)
    one = Dataset.from_arrays(images, [0, 1, 2, 3, 4, 5]).fingerprint
    first = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    assert Dataset.from_arrays(first, np.arange(6, dtype=np.int32)).fingerprint == one
    floats = np.linspace(0, 1, 24).reshape(6, 4)
    swapped = floats.astype(">f8")
    assert Dataset.from_arrays(swapped).fingerprint == Dataset.from_arrays(floats).fingerprint


def test_any_change_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = bytes_of(6, 5), np.arange(6)
    changed = images.copy()
    changed[5, 4] ^= 1
    made = [
        Dataset.from_arrays(images, labels),
        Dataset.from_arrays(images),
        Dataset.from_arrays(changed, labels),
        Dataset.from_arrays(images, labels[::-1]),
        Dataset.from_arrays(images.reshape(5, 6), labels[:5]),
    ]
    fingerprints = [each.fingerprint for each in made]
    assert len(set(fingerprints)) == len(made)
    monkeypatch.setattr("dsrs.datasets.dataset.CHUNK_BYTES", 7)
    assert Dataset.from_arrays(images, labels).fingerprint == fingerprints[0]


TEN = Dataset.from_arrays(bytes_of(10, 2))


@given(st.integers(0, 9), st.none() | st.integers(1, 15), st.integers(1, 12))
def test_a_range_is_chosen_as_by_a_slice(start: int, stop: int | None, skip: int) -> None:
    if stop is not None and stop <= start:
        with pytest.raises(InvalidInput, match="`stop`"):
            select(TEN, start, stop, skip)
        return
    chosen = select(TEN, start, stop, skip)
    assert chosen.dtype == np.int64
    assert chosen.tolist() == list(range(10))[start:stop:skip]


def test_indices_are_kept_in_their_order() -> None:
    assert select(TEN, indices=[7, 0, 3]).tolist() == [7, 0, 3]


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": -1},
        {"start": 10},
        {"stop": 0},
        {"skip": 0},
        {"indices": []},
        {"indices": [10]},
        {"indices": [-1]},
        {"indices": [1, 2, 1]},
        {"indices": [0.5]},
        {"indices": [1], "skip": 2},
    ],
)
def test_impossible_choices_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        select(TEN, **arguments)


def test_tensors_become_arrays_and_other_objects_are_named() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    images, labels = torch.rand(5, 1, 4, 4), torch.arange(5)
    made = Dataset.from_arrays(images, labels)
    same = Dataset.from_arrays(images.numpy(), labels.numpy())
    assert made.fingerprint == same.fingerprint
    both = torch.utils.data.TensorDataset(images, labels)
    with pytest.raises(DataError, match=r"got TensorDataset; .*from_arrays\(\*data\.tensors\)"):
        Dataset.from_arrays(both)
    assert Dataset.from_arrays(images.requires_grad_(), labels).fingerprint == same.fingerprint
    with pytest.raises(DataError, match=r"inputs must be uint8.*or floats, got object"):
        Dataset.from_arrays(None)  # type: ignore[arg-type]

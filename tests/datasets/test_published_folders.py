"""Datasets as they are published: CIFAR-10 in Python's pickles, TinyImageNet in its folders."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.datasets import load_dataset, read_array_pickle
from dsrs.errors import DataError, InvalidInput

ROWS = np.random.default_rng(0).integers(0, 256, (6, 3072), dtype=np.uint8)
LABELS = [3, 8, 8, 0, 6, 9]


def batch(rows: np.ndarray = ROWS, labels: Any = LABELS) -> dict[bytes, Any]:
    return {
        b"batch_label": b"testing batch 1 of 1",
        b"labels": list(labels),
        b"data": rows,
        b"filenames": [b"a.png", b"b.png"],
    }


# What the archive of the authors holds, written by Python 2: strings are bytes there, and the
# pixels one of them. Protocol 0 of that time has another form for each operation.
PYTHON_2 = (
    b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\n"
    b"q\x04K\x00\x85U\x01b\x87Rq\x05(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01"
    b"\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00"
    + ROWS[0].tobytes()
    + b"tbU\x06labelsq\x08]q\x09K\x07au."
)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_the_python_version_of_cifar_is_the_binary_one(tmp_path: Path, protocol: int) -> None:
    python, binary = tmp_path / "cifar-10-batches-py", tmp_path / "binary"
    python.mkdir()
    binary.mkdir()
    for name, part in (("data_batch_1", slice(0, 4)), ("data_batch_2", slice(4, 6))):
        content = batch(ROWS[part], LABELS[part])
        (python / name).write_bytes(pickle.dumps(content, protocol=protocol))
        records = np.column_stack([np.array(LABELS[part], np.uint8), ROWS[part]])
        (binary / f"{name}.bin").write_bytes(records.tobytes())
    (python / "test_batch").write_bytes(pickle.dumps(batch(), protocol=protocol))
    (python / "batches.meta").write_bytes(b"not looked at")
    expected = load_dataset(binary, "train")
    # The folder itself, and the one above it that torchvision is given.
    for folder in (python, tmp_path):
        dataset = load_dataset(folder, "train")
        assert dataset.fingerprint == expected.fingerprint
        assert dataset.class_names[8] == "ship"
        assert load_dataset(folder).input_shape == (3, 32, 32)


def test_a_batch_that_python_2_wrote_is_read(tmp_path: Path) -> None:
    # The same program, run by Python itself.
    assert pickle.loads(PYTHON_2, encoding="bytes")[b"labels"] == [7]
    (tmp_path / "test_batch").write_bytes(PYTHON_2)
    dataset = load_dataset(tmp_path)
    assert dataset.label(0) == 7
    np.testing.assert_array_equal(np.asarray(dataset.images).ravel(), ROWS[0])


class Attack:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_batch_that_would_run_code_is_refused_and_does_not(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "was-here"
    hostile = {**batch(), b"extra": Attack(mark)}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(hostile, protocol=protocol))
    with pytest.raises(DataError, match=r"the name \w+\.system; only numbers, text"):
        load_dataset(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(len), "the name builtins.len|the name __builtin__.len"),
        (pickle.dumps({1, 2}, protocol=4), "the operation EMPTY_SET"),
        (b"\x80\x02I1\n\x85R.", "damaged"),
        (b"\x80\x02K\x01K\x02\x85R.", "a call of something that is no function"),
        (b"\x80\x02K\x01K\x02b.", "the state of an object that is no array"),
        (b"\x80\x02P0\n.", "the operation PERSID"),
        (b"\x80\x02c__builtin__\neval\n(V1\ntR.", "the name __builtin__.eval"),
        (b"(i__builtin__\neval\n.", "the operation INST"),
        (b"", "damaged"),
        (b"hello", "damaged"),
        (b"\x80\x02K\x01", "damaged"),
        (b"\x80\x02K\x01.", "expected a dictionary, got int"),
        (b"\x80\x02](K\x01t.", "expected a dictionary, got tuple"),
        (b"\x80\x02(((((.", "damaged"),
        (b"\x80\x02h\x05.", "damaged"),
    ],
)
def test_other_programs_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "pickle").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_array_pickle(tmp_path / "pickle")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3072), np.float32),
        np.zeros((2, 3072), np.uint8, order="F"),
        np.array([{}, []], object),
    ],
)
def test_arrays_of_something_else_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": array, b"labels": [1, 2]}))
    with pytest.raises(DataError, match="test_batch"):
        load_dataset(tmp_path)


def test_an_array_that_claims_to_be_larger_than_its_bytes_is_refused(tmp_path: Path) -> None:
    claimed = PYTHON_2.replace(b"K\x01M\x00\x0c\x86", b"J\xff\xff\xff\x7fM\x00\x0c\x86")
    (tmp_path / "test_batch").write_bytes(claimed)
    started = time.perf_counter()
    with pytest.raises(DataError, match="expected an array of bytes"):
        load_dataset(tmp_path)
    assert time.perf_counter() - started < 5  # nothing of 6 TB was made


@pytest.mark.parametrize(
    "labels", [[0, 1], [0, 1, 2, 3, 4, 10], [0, 1, 2, 3, 4, -1], [0, 1, 2, 3, 4, 1.5], "abcdef"]
)
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, labels: Any) -> None:
    (tmp_path / "test_batch").write_bytes(pickle.dumps(batch(labels=labels)))
    with pytest.raises(DataError, match="`labels` of 6 numbers from 0 to 9"):
        load_dataset(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """TinyImageNet of three classes, listed out of order."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "tiny-imagenet-200"
    names = ["n02", "n01", "n03"]
    for number, name in enumerate(names):
        home = folder / "train" / name / "images"
        home.mkdir(parents=True)
        for index in range(2):
            image.new("RGB", (64, 64), (number, index, 0)).save(home / f"{name}_{index}.png")
    (folder / "val" / "images").mkdir(parents=True)
    lines = []
    for index, name in enumerate(["n03", "n01"]):
        pixels = np.zeros((64, 64, 3), np.uint8)
        pixels[4:60, 4:60] = 50 + index
        image.fromarray(pixels).save(folder / "val" / "images" / f"val_{index}.png")
        lines.append(f"val_{index}.png\t{name}\t0\t32\t44\t62\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(lines))
    (folder / "wnids.txt").write_text("\n".join(names) + "\n")
    return folder


def test_tiny_imagenet_is_known_by_its_layout(tiny: Path) -> None:
    train = load_dataset(tiny, "train")
    assert train.class_names == ("n01", "n02", "n03")
    assert train.labels is not None
    assert train.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert (np.asarray(train.images[0])[:2, 0, 0] == [1, 0]).all()  # n01 was made second
    test = load_dataset(tiny)
    assert test.labels is not None
    assert test.labels.tolist() == [2, 0]
    assert test.input_shape == (3, 64, 64)


def test_the_middle_is_kept_without_scaling(tiny: Path) -> None:
    cropped = load_dataset(tiny, crop=56)
    assert cropped.input_shape == (3, 56, 56)
    assert (np.asarray(cropped.images[1]) == 51).all()
    assert cropped.fingerprint != load_dataset(tiny).fingerprint
    # As for ImageNet: the shorter side is scaled, then the middle kept, which the frame is not in.
    assert (np.asarray(load_dataset(tiny, size=32, crop=24).images[0]) == 50).all()
    with pytest.raises(InvalidInput, match="`crop` must be at most `size` = 20, got 28"):
        load_dataset(tiny, size=20, crop=28)
    with pytest.raises(DataError, match="`crop` = 65 is larger than the image, 64 x 64"):
        load_dataset(tiny, crop=65).input(0)
    with pytest.raises(InvalidInput, match="`crop` must be at least 1 pixel, got 0"):
        load_dataset(tiny, crop=0)


def test_validation_images_in_folders_of_their_classes(tiny: Path) -> None:
    expected = load_dataset(tiny).input(0)
    for index, name in enumerate(["n03", "n01"]):
        (tiny / "val" / name).mkdir()
        (tiny / "val" / "images" / f"val_{index}.png").rename(tiny / "val" / name / "image.png")
    (tiny / "val" / "n02").mkdir()
    (tiny / "val" / "val_annotations.txt").unlink()
    moved = load_dataset(tiny)
    assert moved.labels is not None
    assert moved.labels.tolist() == [0, 2]
    np.testing.assert_array_equal(moved.input(1), expected)


def test_a_broken_tiny_imagenet_says_where(tiny: Path) -> None:
    listing = tiny / "val" / "val_annotations.txt"
    listing.write_text("val_0.png\tn99\t0\t0\t9\t9\n")
    with pytest.raises(DataError, match=r"line 1: expected an image and one of 3 classes"):
        load_dataset(tiny)
    listing.write_text("../../secret.png\tn01\n")
    with pytest.raises(DataError, match="line 1"):
        load_dataset(tiny)
    (tiny / "wnids.txt").write_text("n01 n77")
    with pytest.raises(DataError, match="folder of images for the class 'n77'"):
        load_dataset(tiny, "train")
